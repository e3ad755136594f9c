"""Which parameters of a function its callers may fill, and which they never see."""

from __future__ import annotations

import sys
from inspect import Parameter
from typing import Any

from msgspec import Struct

from mcp_actors.server.signatures.annotations import alternatives
from mcp_actors.server.signatures.callables import Callee
from mcp_actors.server.signatures.problems import SignatureError


class Offered(Struct, frozen=True):
    """A parameter that callers may fill. ``default`` is `Parameter.empty` if they must."""

    name: str
    annotation: Any
    default: Any

    @property
    def required(self) -> bool:
        return self.default is Parameter.empty


class Parameters(Struct, frozen=True):
    """All parameters of a function.

    ``further`` is the annotation of ``**kwargs``, None if there are none; no name of ``withheld`` may come in
    through them.
    """

    offered: tuple[Offered, ...]
    context: str | None
    further: Any
    withheld: frozenset[str]


def parameters_of(callee: Callee, context_type: type | None) -> Parameters:
    """Sort the parameters of a function.

    A name that begins with ``_`` is the author's own business: not offered if it has a default, and an error
    if it has none. What `functools.partial` has filled in is not offered either; it may be a secret.

    Raises:
        SignatureError: a parameter that cannot be filled by name, or from outside.
    """
    offered: list[Offered] = []
    withheld = set(callee.bound)
    contexts: list[str] = []
    further = None
    for parameter in callee.parameters:
        annotation = callee.hints.get(parameter.name, Any)
        if parameter.name in callee.bound:
            continue
        if parameter.kind is Parameter.VAR_KEYWORD:
            further = annotation
        elif _is_context(annotation, context_type):
            contexts.append(parameter.name)
        elif _is_offered(callee.name, parameter):
            offered.append(Offered(parameter.name, annotation, parameter.default))
        else:
            withheld.add(parameter.name)
    if len(contexts) > 1:
        raise SignatureError(
            f"`{callee.name}`: more than one parameter for the context: {', '.join(contexts)}"
        )
    context = contexts[0] if contexts else None
    return Parameters(tuple(offered), context, further, frozenset(withheld.union(contexts)))


def _is_context(annotation: Any, context_type: type | None) -> bool:
    if context_type is None:
        return False
    return any(isinstance(one, type) and issubclass(one, context_type) for one in alternatives(annotation))


def _is_offered(function: str, parameter: Parameter) -> bool:
    """False: not to be seen from outside.

    Raises:
        SignatureError: it must be seen and cannot.
    """
    name = parameter.name
    if parameter.kind is Parameter.VAR_POSITIONAL:
        raise _refused(function, f"*{name}", "arguments come by name; take a list instead")
    if parameter.kind is Parameter.POSITIONAL_ONLY:
        raise _refused(function, name, "it cannot be given by name; remove the `/` after it")
    if _is_pydantic_field(parameter.default):
        raise _refused(function, name, "write `Field(…)` into the annotation: `Annotated[type, Field(…)]`")
    if not name.startswith("_"):
        return True
    if parameter.default is Parameter.empty:
        raise _refused(function, name, "a name with `_` in front is not offered, and needs a default")
    return False


def _refused(function: str, parameter: str, reason: str) -> SignatureError:
    return SignatureError(f"`{function}`: parameter `{parameter}`: {reason}")


def _is_pydantic_field(default: object) -> bool:
    fields = sys.modules.get("pydantic.fields")
    return fields is not None and isinstance(default, fields.FieldInfo)
