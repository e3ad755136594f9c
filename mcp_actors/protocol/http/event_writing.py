"""Event streams (text/event-stream) as they are written: messages, signs of life, places to resume from."""

from __future__ import annotations

from typing import Final

#: Nothing but a sign of life; readers pass over comments.
KEEP_ALIVE: Final = b": keep-alive\n\n"
#: The first bytes of a stream that has nothing to say yet: they take the headers along.
OPENED: Final = b": open\n\n"


def message(frame: bytes, event_id: str | None = None) -> bytes:
    """One JSON-RPC message as an event."""
    # Compact JSON has no line breaks; a frame that has some would end in the middle of itself.
    data = frame if b"\n" not in frame and b"\r" not in frame else _on_one_line(frame)
    if event_id is None:
        return b"event: message\ndata: %s\n\n" % data
    return b"event: message\nid: %s\ndata: %s\n\n" % (event_id.encode("ascii"), data)


def priming(event_id: str, retry_ms: int) -> bytes:
    """MCP 2025-11-25: the event before all messages, from which a stream can be resumed already."""
    return b"id: %s\nretry: %d\ndata: \n\n" % (event_id.encode("ascii"), retry_ms)


def retry(milliseconds: int) -> bytes:
    """How long to wait before the next connection."""
    return b"retry: %d\n\n" % milliseconds


def endpoint(uri: str) -> bytes:
    """HTTP+SSE (2024-11-05): where to post messages."""
    return b"event: endpoint\ndata: %s\n\n" % uri.encode("ascii")


def _on_one_line(frame: bytes) -> bytes:
    # Between the tokens of JSON a space is as good; inside strings line breaks are escaped.
    return frame.replace(b"\r", b" ").replace(b"\n", b" ")
