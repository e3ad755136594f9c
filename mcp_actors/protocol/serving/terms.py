"""Terms: under which rules one request is served, and the job that it becomes."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from mcp_actors.protocol.codec import Json, JsonObject
from mcp_actors.protocol.jsonrpc import Id
from mcp_actors.protocol.revisions import Revision

#: From low to high; a client hears what is at its level or above.
LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


class Terms(Struct, frozen=True):
    """What the client said about itself, once for a session or with each request (2026-07-28)."""

    revision: Revision
    capabilities: JsonObject
    client_info: JsonObject | None = None
    meta: JsonObject = {}
    #: 2026-07-28 only: the request asked for log messages from this level on.
    log_level: str | None = None

    @property
    def progress_token(self) -> Id | None:
        """What to call the request's progress; None: nobody asked for it."""
        token = self.meta.get("progressToken")
        # A bool is an int for Python and no token for the protocol.
        return token if type(token) in (int, str) else None

    def declares(self, path: str) -> bool:
        """Whether the client declared a capability, named by a dotted path."""
        return has(self.capabilities, path)

    def extension(self, name: str) -> bool:
        """Whether the client declared an extension."""
        extensions = self.capabilities.get("extensions")
        return isinstance(extensions, dict) and isinstance(extensions.get(name), dict)


class Job(Struct, frozen=True):
    """A request that passed all checks of the protocol and is to be answered by the server's own code."""

    id: Id
    method: str
    params: JsonObject
    terms: Terms


class Refused(Struct, frozen=True):
    """A request that is answered with an error."""

    code: int
    message: str
    data: Json = None


def has(capabilities: Json, path: str) -> bool:
    """Whether a capability is there. ``false`` and ``null`` say no, everything else says yes."""
    found = capabilities
    for key in path.split("."):
        found = found.get(key) if isinstance(found, dict) else None
    return found is not None and found is not False
