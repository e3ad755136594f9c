"""Icons of servers, tools, resources and prompts."""

from __future__ import annotations

from mcp_actors.protocol.types.value import Value


class Icon(Value):
    """An image to show. Untrusted: only https and data URIs should be fetched."""

    src: str
    mime_type: str | None = None
    sizes: list[str] | None = None
    theme: str | None = None
