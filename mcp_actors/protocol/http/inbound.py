"""Incoming HTTP requests: judged by headers and body before anything is set up for them."""

from __future__ import annotations

from typing import Final

from msgspec import Raw, Struct

from mcp_actors.protocol import codec
from mcp_actors.protocol.codec import JsonObject
from mcp_actors.protocol.envelope import META_PREFIX
from mcp_actors.protocol.http.acceptance import accepts
from mcp_actors.protocol.http.media_types import EVENT_STREAM, JSON, media_type
from mcp_actors.protocol.http.mirrors import Headers, ToolHeaders, check_mirrors
from mcp_actors.protocol.http.rejections import Misread, Rejected, quoted
from mcp_actors.protocol.jsonrpc import (
    PARSE_ERROR,
    Answer,
    Batch,
    Failure,
    Id,
    Malformed,
    Message,
    Notification,
    Request,
    scan,
)
from mcp_actors.protocol.revisions import HANDSHAKE, Era, by_version

METHODS: Final = ("POST", "GET", "DELETE", "OPTIONS")
#: MCP: what a client speaks that names no version over HTTP, where nothing else tells.
ASSUMED_VERSION: Final = "2025-03-26"

_VERSION: Final = META_PREFIX + "protocolVersion"
_CAPABILITIES: Final = META_PREFIX + "clientCapabilities"
_VERSION_BYTES: Final = _VERSION.encode()
_HANDSHAKE: Final = frozenset(revision.version for revision in HANDSHAKE)


class Post(Struct, frozen=True):
    """What a POST brought, and by the rules of which era it is served."""

    message: Message
    era: Era
    #: What is to be answered, in order.
    requests: tuple[Request, ...]

    @property
    def id(self) -> Id | None:
        """Of its request, if it brought one that is named by nothing else."""
        return self.requests[0].id if len(self.requests) == 1 else None

    @property
    def opens(self) -> bool:
        """Whether it asks for a session."""
        return isinstance(self.message, Request) and self.message.method == "initialize"


def check_method(method: str) -> None:
    """Raises ``Rejected`` for an HTTP method that MCP does not have."""
    if method not in METHODS:
        raise not_allowed(*METHODS)


def not_allowed(*methods: str) -> Rejected:
    """The rejection that names what is allowed instead."""
    allowed = ", ".join(methods)
    return Rejected(405, f"only {allowed} can be served here", fields=(("Allow", allowed),))


def check_body(headers: Headers, *, max_bytes: int, terminated: bool) -> int | None:
    """How many bytes the body has, None if only its end will tell; judged before any is read.

    ``terminated``: whoever reads the body sees its end, also without a length.
    """
    if media_type(headers.get("content-type")) != JSON:
        raise Rejected(415, f"the body must be {JSON}, not {quoted(headers.get('content-type', ''))}")
    length = headers.get("content-length", "").strip()
    if not length:
        if not terminated:
            raise Rejected(411, "a body needs a Content-Length here")
        return None
    if not (length.isascii() and length.isdigit()):
        raise Rejected(400, "a Content-Length that is no number")
    # So many digits are beyond any limit, and int() refuses thousands of them.
    if len(length) > _MAX_DIGITS or int(length) > max_bytes:
        raise too_large(max_bytes)
    return int(length)


_MAX_DIGITS: Final = 18


def too_large(max_bytes: int) -> Rejected:
    """The rejection of a body above the limit."""
    return Rejected(413, f"the body is above the limit of {max_bytes} bytes")


def read_post(headers: Headers, body: bytes, tools: ToolHeaders) -> Post:
    """What a POST of this body means.

    An invalid ``_meta`` passes: it is judged where the request is, and before the headers that repeat it.

    Raises:
        Rejected: no JSON-RPC, nothing that its era has, or headers that differ from the body.
    """
    message = read_message(body)
    params = _self_description(message)
    stateless = params is not None or _is_stateless(headers.get("mcp-protocol-version"))
    post = Post(message, Era.STATELESS if stateless else Era.HANDSHAKE, _requests(message))
    _check_accept(headers, post)
    if stateless:
        _check_stateless(headers, message, params, tools)
    return post


def read_message(body: bytes) -> Message:
    """The message that a body holds. Raises ``Rejected`` if it holds none."""
    message = scan(body)
    if isinstance(message, Malformed):
        raise _unreadable(message)
    return message


def check_get(headers: Headers) -> None:
    """Raises ``Rejected`` for a GET that opens no stream."""
    check_session_headers(headers)
    if not accepts(headers.get("accept", "*/*"), EVENT_STREAM):
        raise Rejected(406, f"Accept must have {EVENT_STREAM}")


def check_session_headers(headers: Headers) -> None:
    """Raises ``Rejected`` for a GET or DELETE whose version has neither, or is none."""
    version = headers.get("mcp-protocol-version")
    if version is None or version.strip() in _HANDSHAKE:
        return
    if by_version(version.strip()) is not None:
        raise not_allowed("POST")
    raise Rejected(400, f"the version {quoted(version)} is not supported; these are: {_supported()}")


def version_of(headers: Headers) -> str:
    """The revision of the handshake era that a request without a session speaks."""
    version = headers.get("mcp-protocol-version", ASSUMED_VERSION).strip()
    return version if version in _HANDSHAKE else ASSUMED_VERSION


def _requests(message: Message) -> tuple[Request, ...]:
    singles = message.messages if isinstance(message, Batch) else (message,)
    return tuple(one for one in singles if isinstance(one, Request))


def _supported() -> str:
    return ", ".join(revision.version for revision in HANDSHAKE)


def _unreadable(message: Malformed) -> Rejected:
    if message.code == PARSE_ERROR:
        return _no_json()
    return Misread(f"the body is no message of JSON-RPC 2.0: {message.reason}", message)


def _no_json() -> Rejected:
    return Rejected(400, "the body is not valid JSON, or nested too deep", code=PARSE_ERROR)


def _is_stateless(version: str | None) -> bool:
    """A version that the handshake era does not have is left to the rules of the newer one."""
    return version is not None and version.strip() not in _HANDSHAKE


def _self_description(message: Message) -> JsonObject | None:
    """The params of a message that describes itself as 2026-07-28 wants it; None for any other."""
    raw = message.params if isinstance(message, Request | Notification) else None
    if raw is None or not _may_hold_version(raw):
        return None
    try:
        params = codec.decode(raw)
    except codec.DecodeFailed:
        # A scan passes over what it does not need; text that is no UTF-8 shows only here.
        raise _no_json() from None
    meta = params.get("_meta") if isinstance(params, dict) else None
    return params if isinstance(meta, dict) and _VERSION in meta else None


def _may_hold_version(raw: Raw) -> bool:
    # Most messages of the older era need not be decoded to be told apart. Keys may be written in escapes.
    text = bytes(raw)
    return _VERSION_BYTES in text or b"\\" in text


def _check_accept(headers: Headers, post: Post) -> None:
    accept = headers.get("accept")
    if accept is None and post.era is Era.HANDSHAKE:
        # Old clients and scripts leave it out, which by HTTP's own rules means that they take anything.
        return
    if not (accepts(accept or "", JSON) and accepts(accept or "", EVENT_STREAM)):
        raise Rejected(406, f"Accept must have both {JSON} and {EVENT_STREAM}", id=_id(post.message))


def _check_stateless(
    headers: Headers, message: Message, params: JsonObject | None, tools: ToolHeaders
) -> None:
    if isinstance(message, Batch | Answer | Failure):
        raise Rejected(400, "2026-07-28 has neither batches nor responses of clients")
    # Nothing says which headers a notification has.
    if not isinstance(message, Request) or params is None:
        return
    meta = params["_meta"]
    version = meta[_VERSION]
    if _CAPABILITIES in meta and isinstance(version, str):
        check_mirrors(headers, message, params, version, tools)


def _id(message: Message) -> Id | None:
    return message.id if isinstance(message, Request) else None
