"""Commands whose options are dataclasses: each field becomes an option of the command line."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, get_type_hints

import typer

from mcp_actors.cli.target import Target

_KEYWORD = inspect.Parameter.KEYWORD_ONLY


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """The function as typer wants it: a parameter that is a dataclass is replaced by the fields of it.

    All commands share the options of a `Target`, and typer knows parameters only.
    """
    declared = list(inspect.signature(command, eval_str=True).parameters.values())
    groups = {one.name: _group(one.annotation) for one in declared if is_dataclass(one.annotation)}
    kinds = {one.name: one.annotation for one in declared if one.name in groups}
    plain = [one for one in declared if one.name not in groups]

    def run(ctx: typer.Context, **given: Any) -> None:
        for name, group in groups.items():
            chosen = {option: given.pop(option) for option in group}
            if kinds[name] is Target:
                chosen["command"] = tuple(ctx.obj or ())
            given[name] = kinds[name](**chosen)
        command(**given)

    context = inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    # The options of a command itself come before those that it shares.
    options = [one for group in reversed(groups.values()) for one in group.values()]
    parameters = [context, *plain, *options]
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


def _group(kind: Any) -> dict[str, inspect.Parameter]:
    hints = get_type_hints(kind, include_extras=True)
    # A field without metadata of typer's is none of the user's business.
    options = [one for one in fields(kind) if hasattr(hints[one.name], "__metadata__")]
    return {
        one.name: inspect.Parameter(one.name, _KEYWORD, default=_default(one), annotation=hints[one.name])
        for one in options
    }


def _default(one: Field[Any]) -> Any:
    return one.default if one.default_factory is MISSING else one.default_factory()
