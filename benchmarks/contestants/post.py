"""A tool call as it is posted, and the text in what comes back: what the limits over HTTP share."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, Final

import orjson

from benchmarks.contestants.raw import ENVELOPE, text_of

_HEADERS: Final = {
    "Accept": "application/json, text/event-stream",
    "Content-Type": "application/json",
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/call",
}
_DATA: Final = b"data: "

_ids = itertools.count(1)


def headers_of(tool: str) -> dict[str, str]:
    """Those that 2026-07-28 demands. No request comes before a call: the era knows no handshake."""
    return {**_HEADERS, "Mcp-Name": tool}


def body_of(tool: str, arguments: Mapping[str, Any]) -> bytes:
    """The request, under an id of its own. Any thread."""
    params = {"name": tool, "arguments": arguments, "_meta": ENVELOPE}
    return orjson.dumps({"jsonrpc": "2.0", "id": next(_ids), "method": "tools/call", "params": params})


def text_in(body: bytes) -> str:
    """The text that a tool answered with, as JSON or as the only event of a stream."""
    if not body.startswith(b"{"):
        body = body[body.index(_DATA) + len(_DATA) :]
    return text_of(orjson.loads(body))
