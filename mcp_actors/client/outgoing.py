"""Requests on their way out, checked and encoded on the caller's thread: a mistake is the caller's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from mcp_actors.protocol import codec


class Outgoing(Struct, frozen=True):
    """A request ready to go. ``params`` and ``meta`` are encoded objects; ``what`` names it in errors."""

    what: str
    method: str
    params: bytes = b"{}"
    meta: bytes = b"{}"


def outgoing(method: str, params: Mapping[str, Any] | None = None, *, what: str | None = None) -> Outgoing:
    """Encode a request. What cannot be said in JSON is the caller's TypeError or ValueError, here and now."""
    given = {} if params is None else check_mapping("params", params)
    meta = given.pop("_meta", None)
    encoded_meta = b"{}" if meta is None else codec.encode(check_mapping("_meta", meta))
    return Outgoing(what or method, method, codec.encode(given), encoded_meta)


def tool_call(name: str, arguments: Mapping[str, Any] | None) -> Outgoing:
    """The request that calls a tool."""
    return _named("tools/call", name, arguments)


def prompt_wanted(name: str, arguments: Mapping[str, str] | None) -> Outgoing:
    """The request for a prompt."""
    return _named("prompts/get", name, arguments)


def check_text(parameter: str, value: object) -> str:
    """A string, or the error that says what is wrong."""
    if not isinstance(value, str):
        raise TypeError(f"{parameter} must be a string, not {type(value).__name__}")
    return value


def check_mapping(parameter: str, value: object) -> dict[str, Any]:
    """A mapping as a new dict, or the error that says what is wrong."""
    if not isinstance(value, Mapping):
        raise TypeError(f"{parameter} must be a mapping of names to values, not {type(value).__name__}")
    return dict(value)


def _named(method: str, name: str, arguments: Mapping[str, Any] | None) -> Outgoing:
    params: dict[str, Any] = {"name": check_text("name", name)}
    if arguments is not None:
        params["arguments"] = check_mapping("arguments", arguments)
    return Outgoing(f"{method} {name!r}", method, codec.encode(params))
