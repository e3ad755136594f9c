"""The two media types of MCP, that of pages, and how to recognize them in a `Content-Type`."""

from __future__ import annotations

from typing import Final

JSON: Final = "application/json"
EVENT_STREAM: Final = "text/event-stream"
HTML: Final = "text/html"


def media_type(content_type: str | None) -> str:
    """The type without its parameters, in lower case; empty if there is none."""
    return (content_type or "").partition(";")[0].strip().lower()
