"""From a raw result to a typed one, on the thread of whoever asked for it."""

from __future__ import annotations

from typing import Final, TypeVar

from msgspec import Raw

from mcp_actors import errors
from mcp_actors.protocol import codec
from mcp_actors.protocol.codec import DecodeFailed
from mcp_actors.protocol.types.input_required import InputRequiredResult
from mcp_actors.protocol.types.results import Result
from mcp_actors.protocol.types.tasks import ExtensionTask
from mcp_actors.protocol.types.value import Value

R = TypeVar("R", bound=Result)
V = TypeVar("V", bound=Value)

#: Results that are not the answer yet.
INTERIM: Final = (InputRequiredResult, ExtensionTask)


def parse(kind: type[R], result: Raw, what: str) -> R:
    """The typed result, or `InvalidResponse` for this one call."""
    value = interpret(kind, result, what)
    if isinstance(value, INTERIM):
        raise unasked(value, what)
    return value


def interpret(kind: type[R], result: Raw, what: str) -> R | InputRequiredResult | ExtensionTask:
    """The typed result, a question back, or a task that will have the result.

    Anything else is an `InvalidResponse`. A complete result is decoded once: to learn that it is one costs
    nothing.
    """
    try:
        value = kind.parse(result)
    except DecodeFailed as error:
        return _interim(result, what, error)
    return value if value.complete else _interim(result, what, None)


def _interim(result: Raw, what: str, misfit: DecodeFailed | None) -> InputRequiredResult | ExtensionTask:
    try:
        value = Result.parse(result)
    except DecodeFailed:
        assert misfit is not None
        raise _unfit(what, misfit) from misfit
    try:
        if value.result_type == "input_required":
            return InputRequiredResult.parse(result)
        if value.result_type == "task":
            return ExtensionTask.parse(result)
    except DecodeFailed as error:
        raise _unfit(what, error) from error
    if misfit is not None and value.complete:
        raise _unfit(what, misfit) from misfit
    raise unasked(value, what)


def _unfit(what: str, error: DecodeFailed) -> errors.InvalidResponse:
    return errors.InvalidResponse(f"{what} got an answer that does not fit: {error}")


def unasked(value: Result, what: str) -> errors.InvalidResponse:
    """The error for a result of a type that the server should not have used here."""
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
