"""Any callable, looked at once: its name, parameters, resolved annotations and docstring."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Mapping
from inspect import Parameter
from typing import Any

from msgspec import Struct

from mcp_actors.server.signatures.problems import SignatureError


class Callee(Struct, frozen=True):
    """A callable as its author wrote it. ``bound``: keywords that `functools.partial` has already given."""

    name: str
    parameters: tuple[Parameter, ...]
    hints: dict[str, Any]
    docstring: str | None
    bound: frozenset[str] = frozenset()


def callee_of(function: Callable[..., Any], names: Mapping[str, Any], spare: Mapping[str, Any]) -> Callee:
    """What can be known of a function without calling it.

    Args:
        names: what annotations may name besides the function's own globals and closure.
        spare: what they mean if nothing else of that name is found.

    Raises:
        SignatureError: no function, an asynchronous one, or annotations that cannot be resolved.
    """
    inner, bound = _without_partial(function)
    name = _name(inner)
    _refuse_what_is_no_function(inner, name)
    author = _written(inner)
    try:
        parameters = tuple(inspect.signature(function).parameters.values())
        hints = _given(parameters) | _hints(author, names, spare)
    except NameError as error:
        raise SignatureError(
            f"`{name}`: its annotations name `{error.name}`, which cannot be found: define it in the module, "
            "and import it also when the program runs, not for the type checker alone"
        ) from None
    except (ValueError, TypeError, AttributeError, SyntaxError) as error:
        raise SignatureError(f"`{name}`: its signature cannot be read: {error}") from None
    _refuse_unbound(name, parameters)
    return Callee(name, parameters, hints, _docstring(inner, author), bound)


def _without_partial(function: Callable[..., Any]) -> tuple[Callable[..., Any], frozenset[str]]:
    bound: set[str] = set()
    while isinstance(function, functools.partial | staticmethod):
        if isinstance(function, functools.partial):
            bound.update(function.keywords)
            function = function.func
        else:
            function = function.__func__
    return function, frozenset(bound)


def _name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _refuse_what_is_no_function(function: Callable[..., Any], name: str) -> None:
    if isinstance(function, classmethod):
        raise SignatureError(
            f"`{function.__name__}` is a class method that is not bound yet: register it when its class is "
            "complete, as `Class.method`"
        )
    if isinstance(function, type):
        raise SignatureError(f"`{name}` is a class: register a function that makes one of it")
    if not callable(function):
        raise SignatureError(f"a value of type {name} is no function")
    if any(map(_is_asynchronous, (function, getattr(function, "__call__", None)))):  # noqa: B004
        raise SignatureError(
            f"`{name}` is async, and functions run on ordinary threads here: write it with `def` and "
            "blocking calls, or wrap it in one that returns `asyncio.run(…)` of it"
        )


def _is_asynchronous(function: object) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)


def _written(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function that bears the annotations: below decorators, and ``__call__`` of an object."""
    function = inspect.unwrap(function, stop=lambda one: hasattr(one, "__signature__"))
    if inspect.isroutine(function):
        return function
    call: Callable[..., Any] = getattr(function, "__call__")  # noqa: B004, B009
    return call


def _hints(
    function: Callable[..., Any], names: Mapping[str, Any], spare: Mapping[str, Any]
) -> dict[str, Any]:
    if not hasattr(function, "__globals__"):
        return {}
    module = {**spare, **function.__globals__}
    return typing.get_type_hints(function, module, {**names, **_closure(function)}, include_extras=True)


def _given(parameters: tuple[Parameter, ...]) -> dict[str, Any]:
    """Annotations of a signature that was made by hand."""
    written = {one.name: one.annotation for one in parameters}
    return {
        name: one for name, one in written.items() if not isinstance(one, str) and one is not Parameter.empty
    }


def _closure(function: Callable[..., Any]) -> dict[str, Any]:
    """What a function took along from the one that defined it."""
    code, cells = getattr(function, "__code__", None), getattr(function, "__closure__", None)
    if code is None or cells is None:
        return {}
    found = {}
    for name, cell in zip(code.co_freevars, cells, strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:
            # Not defined yet: a name that its function assigns later.
            continue
    return found


def _refuse_unbound(name: str, parameters: tuple[Parameter, ...]) -> None:
    first = parameters[0] if parameters else None
    if first is not None and first.name in ("self", "cls") and first.annotation is Parameter.empty:
        raise SignatureError(
            f"`{name}` is a method without its object (its first parameter is `{first.name}`): register the "
            "bound one, as `thing.method`"
        )


def _docstring(inner: Callable[..., Any], author: Callable[..., Any]) -> str | None:
    if inspect.isroutine(inner):
        return inspect.getdoc(inner)
    # Where `__call__` is silent, its class says what the object is; `getdoc` would ask Python's own classes.
    return inspect.cleandoc(author.__doc__ or type(inner).__doc__ or "")
