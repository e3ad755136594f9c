"""What a toy server says: frames, right and wrong, made the straightforward way."""

from __future__ import annotations

import json
from typing import Any

from mcp_actors.protocol.envelope import META_PREFIX

MODERN = "2026-07-28"
LEGACY = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
CAPABILITIES: dict[str, Any] = {
    "tools": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": False},
    "prompts": {},
    "logging": {},
}


def frame(**members: Any) -> bytes:
    """One JSON-RPC message."""
    return json.dumps({"jsonrpc": "2.0", **members}).encode()


def result(id_: Any, value: Any) -> bytes:
    """A successful response; the id may be of any type, as a bad server's would."""
    return frame(id=id_, result=value)


def error(id_: Any, code: int, data: Any = None, message: str = "no") -> bytes:
    """An error response."""
    return frame(id=id_, error={"code": code, "message": message, "data": data})


def news(method: str, **params: Any) -> bytes:
    """A notification."""
    return frame(method=method, params=params)


def acknowledged(id_: Any, *uris: str, **kinds: bool) -> bytes:
    """The first words of a stream of news: what the server grants."""
    granted: dict[str, Any] = {**kinds, "resourceSubscriptions": list(uris)}
    return news(
        "notifications/subscriptions/acknowledged",
        _meta={META_PREFIX + "subscriptionId": id_},
        notifications=granted,
    )


def discovered(id_: Any, *versions: str) -> bytes:
    """The answer to ``server/discover``."""
    meta = {META_PREFIX + "serverInfo": {"name": "toy"}}
    value = {"supportedVersions": list(versions), "capabilities": CAPABILITIES, "_meta": meta}
    return result(id_, value)


def initialized(id_: Any, version: Any) -> bytes:
    """The answer to ``initialize``."""
    value = {"protocolVersion": version, "capabilities": CAPABILITIES, "serverInfo": {"name": "toy"}}
    return result(id_, value)


def unsupported(id_: Any, *versions: str) -> bytes:
    """The error that names the versions a server knows."""
    return error(id_, -32022, {"supported": list(versions)})


def introductions(id_: int, method: str, version: str) -> list[bytes]:
    """Everything a server may answer to a question of the handshake or the relisting; the first is right."""
    if method == "server/discover":
        return [
            discovered(id_, MODERN) if version == MODERN else error(id_, -32601),
            unsupported(id_, *LEGACY),
            unsupported(id_, MODERN),
            unsupported(id_, "1999-01-01"),
            discovered(id_, "1999-01-01"),
            error(id_, -32021),
            result(id_, 17),
        ]
    if method == "initialize":
        return [
            initialized(id_, version if version != MODERN else LEGACY[0]),
            unsupported(id_, MODERN),
            initialized(id_, "1999-01-01"),
            error(id_, -32603),
            result(id_, [1]),
        ]
    return [result(id_, {}), result(id_, {"nextCursor": "more"}), error(id_, -32601), result(id_, None)]
