"""Completions: who suggests values for the argument of a prompt or the variable of a template."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from inspect import Parameter
from typing import Any, Self, TypeAlias

from mcp_actors.protocol import types
from mcp_actors.server.registry.annotations import parameter_for
from mcp_actors.server.registry.listing import Listed
from mcp_actors.server.registry.naming import full_name_of

Key: TypeAlias = tuple[str, str, str]


class CompletionEntry(Listed, frozen=True, kw_only=True, dict=True, eq=False):
    """A function ``(value, arguments) -> suggestions``; ``arguments`` are those that are filled in already.

    The names of its parameters: ``value_parameter``, and, if it wants these, the other two.
    """

    reference: types.Reference
    argument: str
    value_parameter: str
    arguments_parameter: str | None = None
    context_parameter: str | None = None

    @property
    def key(self) -> Key:
        """What it is found by."""
        return key_of(self.reference, self.argument)

    @classmethod
    def of(
        cls,
        reference: types.Reference,
        argument: str,
        function: Callable[..., Any],
        context_type: type | None = None,
    ) -> Self:
        """A completion by a function. Raises ``TypeError`` if it takes neither one nor two arguments."""
        context = None if context_type is None else parameter_for(function, context_type)
        parameters = inspect.signature(function).parameters.values()
        first, second = _two([one for one in parameters if one.name != context])
        if first is None:
            raise TypeError(
                f"{full_name_of(function)} cannot complete: it must take the value and may take the other "
                "arguments, in that order"
            )
        return cls(
            reference=reference,
            argument=argument,
            function=function,
            value_parameter=first,
            arguments_parameter=second,
            context_parameter=context,
        )

    def suggest(self, value: str, arguments: Mapping[str, str], context: object = None) -> Any:
        """Whatever the function returns; `content.completion_result` makes the answer of it."""
        given: dict[str, object] = {self.value_parameter: value}
        if self.arguments_parameter is not None:
            given[self.arguments_parameter] = dict(arguments)
        if self.context_parameter is not None:
            given[self.context_parameter] = context
        return self.function(**given)


class Choices:
    """Suggests those of a few values that begin with what was typed, then those that hold it."""

    def __init__(self, values: tuple[str, ...]) -> None:
        self._values = values

    def __call__(self, value: str) -> list[str]:
        typed = value.casefold()
        begin = [one for one in self._values if one.casefold().startswith(typed)]
        return begin + [one for one in self._values if typed in one.casefold() and one not in begin]


def key_of(reference: types.Reference, argument: str) -> Key:
    """Under what a completion is kept."""
    if isinstance(reference, types.PromptReference):
        return ("prompt", reference.name, argument)
    return ("template", reference.uri, argument)


def _two(parameters: list[Parameter]) -> tuple[str | None, str | None]:
    """The parameters for the value and for the other arguments; None and None if they cannot be told."""
    plain = [one for one in parameters if one.kind is Parameter.POSITIONAL_OR_KEYWORD]
    taken = plain[:1] + [one for one in plain[1:2] if one.default in (Parameter.empty, None)]
    if not taken or any(_is_needed(one) for one in parameters if one not in taken):
        return None, None
    return taken[0].name, taken[1].name if len(taken) > 1 else None


def _is_needed(parameter: Parameter) -> bool:
    open_ended = parameter.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    return parameter.default is Parameter.empty and not open_ended
