"""Completions: which functions can complete, and what they are given."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

from mcp_actors.protocol import types
from mcp_actors.server.registry import CompletionEntry

PROMPT = types.PromptReference(name="p")


class Context:
    pass


def alone(value: str) -> list[str]:
    return [value]


def with_arguments(value: str, context_arguments: dict[str, str]) -> list[str]:
    return [value, *context_arguments]


def with_none(value: str, arguments: dict[str, str] | None = None) -> list[str]:
    return [value, *(arguments or {})]


def with_limit(value: str, limit: int = 3, **rest: object) -> list[str]:
    return [value, str(limit), *rest]


def with_context(context: Context, value: str, arguments: dict[str, str]) -> list[object]:
    return [context, value, *arguments]


def with_context_or_none(value: str, *, context: Context | None = None) -> list[object]:
    return [value, context]


def unresolved(value: Missing, context: Context) -> list[object]:  # type: ignore[name-defined]  # noqa: F821
    return [value, context]


class Callable_:
    def __call__(self, value: str, context: Context) -> list[object]:
        return [value, context]


THE_CONTEXT = Context()


@pytest.mark.parametrize(
    ("function", "suggested"),
    [
        (alone, ["v"]),
        (lambda value: [value], ["v"]),
        (with_arguments, ["v", "k"]),
        (with_none, ["v", "k"]),
        (with_limit, ["v", "3"]),
        (with_context, [THE_CONTEXT, "v", "k"]),
        (with_context_or_none, ["v", THE_CONTEXT]),
        (unresolved, ["v", THE_CONTEXT]),
        (Callable_(), ["v", THE_CONTEXT]),
        (functools.partial(with_limit, limit=7), ["v", "7"]),
        (functools.partial(alone), ["v"]),
    ],
)
def test_a_function_gets_what_it_asks_for(function: Callable[..., Any], suggested: list[object]) -> None:
    entry = CompletionEntry.of(PROMPT, "a", function, Context)
    assert entry.suggest("v", {"k": "w"}, THE_CONTEXT) == suggested


def test_a_context_of_a_local_class_is_found() -> None:
    class Local:
        pass

    def function(value: str, place: Local) -> list[object]:
        return [value, place, Local]

    entry = CompletionEntry.of(PROMPT, "a", function, Local)
    assert entry.context_parameter == "place"


def no_parameter() -> list[str]:
    return []


def three(value: str, arguments: dict[str, str], more: str) -> list[str]:
    return [value, *arguments, more]


def keyword(value: str, *, more: str) -> list[str]:
    return [value, more]


def unnamed(value: str, /) -> list[str]:
    return [value]


@pytest.mark.parametrize("function", [no_parameter, three, keyword, unnamed, sorted])
def test_a_function_that_cannot_be_called_is_refused_by_name(function: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match=rf"{function.__name__} cannot complete: it must take the value"):
        CompletionEntry.of(PROMPT, "a", function, Context)


def test_without_a_context_the_class_is_an_ordinary_one() -> None:
    entry = CompletionEntry.of(PROMPT, "a", with_arguments)
    assert (entry.arguments_parameter, entry.context_parameter) == ("context_arguments", None)
