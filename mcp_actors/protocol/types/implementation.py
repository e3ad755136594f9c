"""Who speaks: the name and version of a client or server."""

from __future__ import annotations

from mcp_actors.protocol.types.icon import Icon
from mcp_actors.protocol.types.value import Value


class Implementation(Value):
    """A client or server. For display only: nobody checks it."""

    name: str
    version: str
    title: str | None = None
    description: str | None = None
    website_url: str | None = None
    icons: list[Icon] | None = None

    @property
    def display_name(self) -> str:
        """The name to show to people."""
        return self.title or self.name
