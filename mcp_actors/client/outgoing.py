"""Requests on their way out, checked and encoded on the caller's thread: a mistake is the caller's own."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from msgspec import Struct, structs

from mcp_actors.protocol import codec
from mcp_actors.protocol.envelope import META_PREFIX

#: What the connection writes into each request's ``_meta`` itself; a second one would make two of them.
_OURS: Final = frozenset(
    {"progressToken"}
    | {META_PREFIX + name for name in ("protocolVersion", "clientInfo", "clientCapabilities")}
)


class Outgoing(Struct, frozen=True):
    """A request ready to go. ``params`` and ``meta`` are encoded objects; ``what`` names it in errors."""

    what: str
    method: str
    params: bytes = b"{}"
    meta: bytes = b"{}"
    #: Whether it names the session, which is known when it is sent.
    session: bool = False
    #: Whether it asks for a task, if it is sent to a server that offers those of 2025-11-25.
    task: bool = False


def outgoing(method: str, params: Mapping[str, Any] | None = None, *, what: str | None = None) -> Outgoing:
    """Encode a request. What cannot be said in JSON is the caller's TypeError or ValueError, here and now."""
    given = {} if params is None else check_mapping("params", params)
    meta = given.pop("_meta", None)
    encoded_meta = b"{}" if meta is None else _encoded_meta("_meta", meta)
    return Outgoing(what or method, method, codec.encode(given), encoded_meta)


def tool_call(name: str, arguments: Mapping[str, Any] | None) -> Outgoing:
    """The request that calls a tool."""
    return _named("tools/call", name, arguments)


def prompt_wanted(name: str, arguments: Mapping[str, str] | None) -> Outgoing:
    """The request for a prompt."""
    return _named("prompts/get", name, arguments)


def with_meta(request: Outgoing, meta: Mapping[str, Any] | None) -> Outgoing:
    """The request with more in its ``_meta``. What it says there already is replaced key by key."""
    if meta is None:
        return request
    encoded = _encoded_meta("meta", meta)
    if request.meta != b"{}":
        encoded = codec.encode(codec.decode(request.meta) | codec.decode(encoded))
    return structs.replace(request, meta=encoded)


def retried(request: Outgoing, answers: Mapping[str, bytes], state: str | None) -> Outgoing:
    """The request once more, with encoded answers to what the server asked, and the state it gave us."""
    members = []
    if answers:
        members.append(b'"inputResponses":' + joined(answers))
    if state is not None:
        members.append(b'"requestState":' + codec.encode(state))
    return _with_members(request, members)


def as_task(request: Outgoing, ttl: float | None) -> Outgoing:
    """The request as a task, to be kept for ``ttl`` seconds or as long as the server likes (2025-11-25)."""
    wish = {} if ttl is None else {"ttl": round(ttl * 1000)}
    return _with_members(request, [b'"task":' + codec.encode(wish)])


def joined(members: Mapping[str, bytes]) -> bytes:
    """An encoded object from its members, which are encoded already."""
    return b"{%s}" % b",".join(codec.encode(key) + b":" + value for key, value in members.items())


def check_text(parameter: str, value: object) -> str:
    """A string, or the error that says what is wrong."""
    if not isinstance(value, str):
        raise TypeError(f"{parameter} must be a string, not {type(value).__name__}")
    return value


def check_mapping(parameter: str, value: object) -> dict[str, Any]:
    """A mapping as a new dict, or the error that says what is wrong."""
    # Mostly a dict, which need not be looked up among the abstract types.
    if type(value) is not dict and not isinstance(value, Mapping):
        raise TypeError(f"{parameter} must be a mapping of names to values, not {type(value).__name__}")
    return dict(value)


def _named(method: str, name: str, arguments: Mapping[str, Any] | None) -> Outgoing:
    params: dict[str, Any] = {"name": check_text("name", name)}
    if arguments is not None:
        params["arguments"] = check_mapping("arguments", arguments)
    return Outgoing(_what(method, name), method, codec.encode(params))


@lru_cache(maxsize=512)
def _what(method: str, name: str) -> str:
    return f"{method} {name!r}"


def _encoded_meta(parameter: str, meta: object) -> bytes:
    given = check_mapping(parameter, meta)
    taken = sorted(_OURS & given.keys())
    if taken:
        raise ValueError(f"{parameter} must not hold {taken[0]!r}: the client writes it itself")
    return codec.encode(given)


def _with_members(request: Outgoing, members: list[bytes]) -> Outgoing:
    """Spliced in, not encoded again: the caller's arguments may be large."""
    held = request.params[1:-1]
    return structs.replace(request, params=b"{%s}" % b",".join([held, *members] if held else members))
