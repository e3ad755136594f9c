"""Messages as a client of each era writes them, by hand."""

from __future__ import annotations

import json
from typing import Any, Final

from mcp_actors.protocol.serving.entry import CAPABILITIES, VERSION
from tests.server.talk import HANDSHAKE, STATELESS

#: What the answer to something that was not understood, or not wanted, may be.
LEGAL_CODES: Final = frozenset(
    {-32700, -32600, -32601, -32602, -32603, -32002, -32020, -32021, -32022, -32042}
)
INITIALIZE: Final = {
    "jsonrpc": "2.0",
    "id": "hello",
    "method": "initialize",
    "params": {
        "protocolVersion": HANDSHAKE,
        "capabilities": {},
        "clientInfo": {"name": "raw", "version": "1"},
    },
}
INITIALIZED: Final = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def encoded(message: Any) -> bytes:
    """A frame."""
    return message if isinstance(message, bytes) else json.dumps(message).encode()


def request(id_: Any, method: str, params: Any = None) -> dict[str, Any]:
    """A request with whatever parameters."""
    made = {"jsonrpc": "2.0", "id": id_, "method": method}
    return made if params is None else made | {"params": params}


def described(params: dict[str, Any], **capabilities: Any) -> dict[str, Any]:
    """Parameters that describe themselves, as 2026-07-28 wants it."""
    meta = {VERSION: STATELESS, CAPABILITIES: capabilities}
    given = params.get("_meta")
    return {**params, "_meta": {**given, **meta} if isinstance(given, dict) else meta}


def call(id_: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    """A call of the older era."""
    return request(id_, "tools/call", {"name": tool, "arguments": arguments})


def stateless_headers(method: str, name: str | None = None) -> dict[str, str]:
    """What a POST of 2026-07-28 repeats in its headers."""
    headers = {"MCP-Protocol-Version": STATELESS, "Mcp-Method": method}
    return headers if name is None else headers | {"Mcp-Name": name}


def judge(answer: Any, id_: Any) -> None:
    """One answer: a result, or an error with a code that means something, under the right id or none."""
    assert answer.get("jsonrpc") == "2.0", answer
    assert ("result" in answer) is not ("error" in answer), answer
    if "error" in answer:
        assert answer["error"]["code"] in LEGAL_CODES, answer
        assert isinstance(answer["error"]["message"], str), answer
    assert answer.get("id", id_) == id_, answer
