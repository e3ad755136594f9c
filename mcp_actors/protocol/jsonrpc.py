"""JSON-RPC 2.0 messages: what a frame says, found in one scan that leaves payloads undecoded.

A payload (params, result, error) stays raw bytes until somebody needs it: the caller's own thread, the
handlers' lane, or nobody. One bad payload therefore fails one call, and routing costs the same for any size.
"""

from __future__ import annotations

import json
from typing import Any, Final, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from mcp_actors.protocol import codec

Id: TypeAlias = int | str

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603


class Answer(Struct, frozen=True, gc=False):
    """A successful response; ``result`` is not decoded yet."""

    id: Id
    result: Raw


class Failure(Struct, frozen=True, gc=False):
    """An error response. A peer that could not read our id sends none."""

    id: Id | None
    error: Raw


class Request(Struct, frozen=True, gc=False):
    """The peer asks us something."""

    id: Id
    method: str
    params: Raw | None


class Notification(Struct, frozen=True, gc=False):
    """The peer tells us something. ``size`` counts the bytes of its frame."""

    method: str
    params: Raw | None
    size: int


class Malformed(Struct, frozen=True, gc=False):
    """A frame that breaks JSON-RPC. ``id`` is set when it was meant as the answer to that request.

    ``code`` is what a server says about it.
    """

    reason: str
    id: Id | None = None
    code: int = INVALID_REQUEST
    #: Whether whoever sent it was told already.
    told: bool = False


class Batch(Struct, frozen=True, gc=False):
    """An array of messages, as 2025-03-26 allows."""

    messages: tuple[Answer | Failure | Request | Notification | Malformed, ...]


Single: TypeAlias = Answer | Failure | Request | Notification | Malformed
Message: TypeAlias = Single | Batch


class _Envelope(Struct, gc=False):
    jsonrpc: Literal["2.0"]
    id: int | str | None | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


_decode_envelope = msgspec.json.Decoder(_Envelope).decode


def scan(frame: bytes) -> Message:
    """What a frame says. Never raises: a frame that says nothing sensible is ``Malformed``."""
    try:
        envelope = _decode_envelope(frame)
    # Deep nesting raises RecursionError; everything else that msgspec refuses is a ValueError.
    except (ValueError, RecursionError):
        return _scan_slowly(frame)
    if envelope.method is UNSET:
        if envelope.result is not UNSET and envelope.error is UNSET and type(envelope.id) in (int, str):
            return Answer(envelope.id, envelope.result)  # type: ignore[arg-type]  # checked on the line above
        return _response(envelope.id, envelope.result, envelope.error)
    return _call(envelope, len(frame))


def _call(envelope: _Envelope, size: int) -> Single:
    method = envelope.method
    params = envelope.params
    assert method is not UNSET
    given = None if params is UNSET else params
    if envelope.id is UNSET:
        return Notification(method, given, size)
    if envelope.id is None:
        return Malformed("a request whose id is null")
    return Request(envelope.id, method, given)


def _response(id_: Any, result: Raw | UnsetType, error: Raw | UnsetType) -> Single:
    named: Id | None = id_ if type(id_) in (int, str) else None
    if result is not UNSET and error is not UNSET:
        return Malformed("a response with both a result and an error", named)
    if error is not UNSET:
        return Failure(named, error)
    if result is not UNSET:
        return Malformed("a result without an id") if named is None else Answer(named, result)
    return Malformed("neither a method, a result nor an error", named)


# The slow way: the frame is unusual (an array, a lone surrogate, a huge number) or wrong; find out which.


def _scan_slowly(frame: bytes) -> Message:
    try:
        value = codec.decode(frame)
    except codec.DecodeFailed as error:
        return Malformed(str(error), code=PARSE_ERROR)
    if isinstance(value, list):
        if not value:
            return Malformed("an empty batch")
        return Batch(tuple(_classify(item) for item in value))
    return _classify(value)


def _classify(value: codec.Json) -> Single:
    if not isinstance(value, dict):
        return Malformed("not a JSON object")
    id_ = value.get("id", UNSET)
    if id_ is not UNSET and id_ is not None and type(id_) not in (int, str):
        return Malformed("an id that is neither an integer nor a string")
    named = id_ if type(id_) in (int, str) and "method" not in value else None
    if value.get("jsonrpc") != "2.0":
        return Malformed("a message without jsonrpc 2.0", named)
    try:
        return _message(value, id_)
    except RecursionError:
        # Writing a payload again takes a little more of the stack than reading it took.
        return Malformed("nested too deep", named)


def _message(value: dict[str, Any], id_: Any) -> Single:
    if "method" not in value:
        return _response(id_, _raw(value, "result"), _raw(value, "error"))
    if not isinstance(value["method"], str):
        return Malformed("a method that is not a string")
    envelope = _Envelope("2.0", id_, value["method"], _raw(value, "params"))
    raw = envelope.params
    return _call(envelope, 0 if raw is UNSET else len(bytes(raw)))


def _raw(value: dict[str, Any], member: str) -> Raw | UnsetType:
    if member not in value:
        return UNSET
    # The standard encoder keeps what the fast one refuses: huge integers and lone surrogates.
    return Raw(json.dumps(value[member]).encode())


# Outgoing frames that do not depend on the negotiated revision.


def result_frame(id_: Id, result: bytes = b"{}") -> bytes:
    """The frame that answers a peer's request with an encoded result."""
    return b'{"jsonrpc":"2.0","id":%s,"result":%s}' % (codec.encode(id_), result)


def error_frame(id_: Id, code: int, message: str, data: codec.Json = None) -> bytes:
    """The frame that refuses a peer's request."""
    error = {"code": code, "message": message} | ({} if data is None else {"data": data})
    return b'{"jsonrpc":"2.0","id":%s,"error":%s}' % (codec.encode(id_), codec.encode(error))
