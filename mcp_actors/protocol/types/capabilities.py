"""What each side declares that it can do. The sets are open: unknown keys stay in ``raw``."""

from __future__ import annotations

from mcp_actors.protocol.codec import JsonObject
from mcp_actors.protocol.types.value import Value


def declares(capabilities: JsonObject, path: str) -> bool:
    """Whether a capability such as ``resources.subscribe`` is declared; an empty object counts."""
    here: object = capabilities
    for key in path.split("."):
        if not isinstance(here, dict):
            return False
        if path == "elicitation.form" and key == "form" and not here:
            # MCP 2025-11-25, client/elicitation: an empty object means form mode only.
            return True
        here = here.get(key)
    return here is not None and here is not False


class Capabilities(Value):
    """What both sides may declare."""

    experimental: JsonObject | None = None
    tasks: JsonObject | None = None
    extensions: JsonObject | None = None

    def declares(self, path: str) -> bool:
        """Whether a capability such as ``resources.subscribe`` is declared."""
        return declares(self.raw, path)


class ClientCapabilities(Capabilities):
    """What a client can do for a server."""

    roots: JsonObject | None = None
    sampling: JsonObject | None = None
    elicitation: JsonObject | None = None


class ServerCapabilities(Capabilities):
    """What a server offers."""

    tools: JsonObject | None = None
    resources: JsonObject | None = None
    prompts: JsonObject | None = None
    completions: JsonObject | None = None
    logging: JsonObject | None = None
