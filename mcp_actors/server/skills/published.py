"""Published: whatever a listing of this extension shows, one line each, with a URI."""

from __future__ import annotations

from mcp_actors.protocol.codec import JsonObject
from mcp_actors.server.registry.listing import Listed


class Published(Listed, frozen=True, kw_only=True, dict=True, eq=False):
    """A skill, a file or a directory. ``function`` gives its line."""

    uri: str

    @property
    def key(self) -> str:
        """What it is found by: the URI."""
        return self.uri

    @property
    def wire(self) -> JsonObject:
        """Its line in a listing. For reading."""
        line: JsonObject = self.function()
        return line
