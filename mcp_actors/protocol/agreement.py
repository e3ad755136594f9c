"""What client and server agreed on: the result of a handshake of either era."""

from __future__ import annotations

from msgspec import Struct

from mcp_actors.protocol.codec import JsonObject
from mcp_actors.protocol.revisions import Revision


class Agreement(Struct, frozen=True):
    """The revision in force and how the server introduced itself."""

    revision: Revision
    server_info: JsonObject
    capabilities: JsonObject
    instructions: str | None = None
