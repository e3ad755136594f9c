"""Which parameter of a function takes an object of a certain class, as far as its annotations tell."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable
from types import UnionType
from typing import Any


def parameter_for(function: Callable[..., Any], wanted: type) -> str | None:
    """The name of the first parameter annotated with the class, alone or in a union."""
    return next((name for name, hint in _hints(function).items() if _is_about(hint, wanted)), None)


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    while isinstance(function, functools.partial):
        function = function.func
    written = inspect.unwrap(function)
    if not inspect.isroutine(written):
        written = type(written).__call__
    try:
        hints = typing.get_type_hints(written, localns=_closure(written))
    except (NameError, TypeError, AttributeError, SyntaxError, ValueError):
        # What cannot be resolved is taken as it stands; a class that is named plainly is there all the same.
        hints = {**getattr(written, "__annotations__", {})}
    hints.pop("return", None)
    return hints


def _closure(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return dict(inspect.getclosurevars(function).nonlocals)
    except (TypeError, ValueError):
        return {}


def _is_about(hint: Any, wanted: type) -> bool:
    if typing.get_origin(hint) in (typing.Union, UnionType):
        return wanted in typing.get_args(hint)
    return hint is wanted or hint == wanted.__name__
