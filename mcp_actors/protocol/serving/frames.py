"""Frames: what a server writes, encoded."""

from __future__ import annotations

from functools import lru_cache

from mcp_actors.protocol import codec
from mcp_actors.protocol.codec import Json, JsonObject
from mcp_actors.protocol.jsonrpc import Id
from mcp_actors.protocol.serving.terms import Refused


def answer(id_: Id, result: bytes) -> bytes:
    """A result, which is encoded already."""
    return b'{"jsonrpc":"2.0","id":%s,"result":%s}' % (_id(id_), result)


def failure(id_: Id | None, error: bytes) -> bytes:
    """An error, which is encoded already. Without an id where the request's own could not be read."""
    if id_ is None:
        return b'{"jsonrpc":"2.0","error":%s}' % error
    return b'{"jsonrpc":"2.0","id":%s,"error":%s}' % (_id(id_), error)


def unnamed(refused: Refused) -> bytes:
    """An error about a message that could not be read, or whose id cannot be used."""
    return failure(None, error_body(refused))


def error_body(refused: Refused) -> bytes:
    """The encoded error object."""
    error: dict[str, Json] = {"code": refused.code, "message": refused.message}
    if refused.data is not None:
        error["data"] = refused.data
    return codec.encode(error)


def request(number: int, method: str, params: JsonObject) -> bytes:
    """A request of the server's own."""
    return b'{"jsonrpc":"2.0","id":%d,"method":%s,"params":%s}' % (
        number,
        _name(method),
        codec.encode(params),
    )


def notification(method: str, params: JsonObject) -> bytes:
    """A notification."""
    if not params:
        return b'{"jsonrpc":"2.0","method":%s}' % _name(method)
    return b'{"jsonrpc":"2.0","method":%s,"params":%s}' % (_name(method), codec.encode(params))


def _id(id_: Id) -> bytes:
    return b"%d" % id_ if type(id_) is int else codec.encode(id_)


@lru_cache(maxsize=64)
def _name(method: str) -> bytes:
    return codec.encode(method)
