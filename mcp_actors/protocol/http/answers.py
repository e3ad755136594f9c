"""Which request a received frame answers, and the frame that says so where the server forgot to."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw, Struct

from mcp_actors.protocol import codec
from mcp_actors.protocol.jsonrpc import Answer, Batch, Failure, Id, Malformed, Message, scan


def answers(frame: bytes, id_: Id) -> bool:
    """Whether the frame is the response to this request, or holds it (a batch)."""
    # The whole frame is scanned: one that only begins like the answer would be delivered, and answer nobody.
    return _responds(scan(frame), id_)


def answer_in(body: bytes, id_: Id) -> bytes | None:
    """The frame to deliver of a successful exchange's body, None if it answers something else or nothing.

    An error without an id can only be meant for the one request that was sent, and gets its id.
    """
    message = scan(body)
    if isinstance(message, Failure) and message.id is None:
        return _error_frame(id_, message.error)
    return body if _responds(message, id_) else None


def error_in(body: bytes, id_: Id) -> bytes | None:
    """The frame to deliver of a refused exchange's body, None if it is no JSON-RPC response.

    Some servers make up an id for what they refuse before they read it: whatever it is, the error is ours.
    """
    message = scan(body)
    if isinstance(message, Failure) and message.id != id_:
        return _error_frame(id_, message.error)
    return body if _responds(message, id_) else None


def error_code(frame: bytes) -> int | None:
    """The code of an error response, None for anything else."""
    code = _error(frame).get("code")
    return code if type(code) is int else None


def error_words(frame: bytes) -> str:
    """The message of an error response, empty for anything else."""
    message = _error(frame).get("message")
    return message if isinstance(message, str) else ""


def _error(frame: bytes) -> dict[str, Any]:
    message = scan(frame)
    try:
        error = codec.decode(message.error) if isinstance(message, Failure) else None
    except codec.DecodeFailed:
        error = None
    return error if isinstance(error, dict) else {}


class _Result(Struct, frozen=True):
    # Any: a server may write anything there.
    protocolVersion: Any = None


class _Initialized(Struct, frozen=True):
    result: _Result = _Result()


_decode = msgspec.json.Decoder(_Initialized).decode


def agreed_version(frame: bytes) -> str | None:
    """The version that the response to ``initialize`` names, None if it names none."""
    try:
        version = _decode(frame).result.protocolVersion
    except (ValueError, RecursionError):
        return None
    return version if isinstance(version, str) else None


def _responds(message: Message, id_: Id) -> bool:
    if isinstance(message, Batch):
        return any(_responds(single, id_) for single in message.messages)
    # A response that breaks the rules but names the request ends it all the same.
    return isinstance(message, Answer | Failure | Malformed) and message.id == id_


def _error_frame(id_: Id, error: Raw) -> bytes:
    return b'{"jsonrpc":"2.0","id":%s,"error":%s}' % (codec.encode(id_), bytes(error))
