"""How the two sides meet: the handshake, and discovery without one."""

from __future__ import annotations

from mcp_actors.protocol.types.capabilities import ClientCapabilities, ServerCapabilities
from mcp_actors.protocol.types.implementation import Implementation
from mcp_actors.protocol.types.results import CacheableResult, Result
from mcp_actors.protocol.types.value import MetaValue

SERVER_INFO = "io.modelcontextprotocol/serverInfo"


class InitializeParams(MetaValue):
    """The client's opening words, up to 2025-11-25."""

    nested = ("capabilities", "client_info")

    protocol_version: str
    capabilities: ClientCapabilities
    client_info: Implementation


class InitializeResult(Result):
    """The server's answer to the opening, up to 2025-11-25."""

    nested = ("capabilities", "server_info")

    protocol_version: str
    capabilities: ServerCapabilities
    server_info: Implementation
    instructions: str | None = None


class DiscoverResult(CacheableResult):
    """What a server offers, since 2026-07-28."""

    nested = ("capabilities",)

    supported_versions: list[str]
    capabilities: ServerCapabilities
    instructions: str | None = None

    @property
    def server_info(self) -> Implementation | None:
        """The server's name, which this revision moved into ``_meta`` and made optional."""
        info = (self.meta or {}).get(SERVER_INFO)
        return None if info is None else Implementation.from_wire(info)
