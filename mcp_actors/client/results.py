"""From a raw result to a typed one, on the thread of whoever asked for it."""

from __future__ import annotations

import contextlib
from typing import TypeVar

from msgspec import Raw

from mcp_actors import errors
from mcp_actors.protocol import codec
from mcp_actors.protocol.codec import DecodeFailed
from mcp_actors.protocol.types.results import Result
from mcp_actors.protocol.types.value import Value

R = TypeVar("R", bound=Result)
V = TypeVar("V", bound=Value)


def parse(kind: type[R], result: Raw, what: str) -> R:
    """The typed result, or `InvalidResponse` for this one call."""
    try:
        value = kind.parse(result)
    except DecodeFailed as error:
        raise _misfit(result, what, error) from error
    if not value.complete:
        raise _unasked(value, what)
    return value


def _misfit(result: Raw, what: str, error: DecodeFailed) -> errors.InvalidResponse:
    with contextlib.suppress(DecodeFailed):
        value = Result.parse(result)
        if not value.complete:
            return _unasked(value, what)
    return errors.InvalidResponse(f"{what} got an answer that does not fit: {error}")


def _unasked(value: Result, what: str) -> errors.InvalidResponse:
    # MCP 2026-07-28: an unknown resultType makes the response invalid; we declared nothing that allows one.
    return errors.InvalidResponse(
        f"{what} got a result of type {value.result_type!r}, which this client did not offer to handle",
        details={"result_type": value.result_type},
    )


def decoded(result: Raw, what: str) -> codec.Json:
    """The plain JSON of a result, or `InvalidResponse` for this one call."""
    try:
        return codec.decode(result)
    except DecodeFailed as error:
        raise errors.InvalidResponse(f"{what} got an answer that is not JSON: {error}") from error


def told(name: str, kind: type[V], value: codec.JsonObject) -> V:
    """What the server told about itself, as a value of ``kind``."""
    try:
        return kind.from_wire(value)
    except DecodeFailed as error:
        raise errors.InvalidResponse(f"{name} of this server does not fit: {error}") from error
