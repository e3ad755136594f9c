"""The signature of a tool: what Python says about a function, made of what a server says about a tool."""

from __future__ import annotations

import keyword
import operator
import re
from functools import reduce
from inspect import Parameter, Signature
from types import GenericAlias, NoneType
from typing import Any, Final, Literal

from mcp_actors.client.export.names import Rule, legal_names
from mcp_actors.client.export.vocabulary import types_of, values_of
from mcp_actors.protocol import types
from mcp_actors.protocol.codec import JsonObject

_PLAIN: Final[dict[str, Any]] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "null": NoneType,
    "object": dict,
}


def python_name(name: str) -> str:
    """A name as Python can say it: ``get-time`` is ``get_time``, ``import`` is ``import_``."""
    own = name if name.isidentifier() else re.sub(r"\W", "_", name)
    own = own if own.isidentifier() else f"_{own}"
    return f"{own}_" if keyword.iskeyword(own) else own


class _Identifiers(Rule):
    """Python's own rule for names, which knows more letters than an API does."""

    def allows(self, name: str) -> bool:
        return python_name(name) == name

    def bend(self, name: str) -> str:
        return python_name(name)


_IDENTIFIERS: Final = _Identifiers(re.compile(""), re.compile(""), 1_000)


def parameter_names(properties: JsonObject) -> dict[str, str]:
    """The parameter that stands for each property, all different; a name that Python can say stays."""
    names = list(properties)
    return dict(zip(names, legal_names(names, _IDENTIFIERS), strict=True))


def signature_of(schema: JsonObject, *, open_ended: bool) -> Signature:
    """The signature for an object schema: what is required in the schema's order, then the rest by name."""
    required = schema.get("required", ())
    properties: JsonObject = schema["properties"]
    names = parameter_names(properties)
    parameters = [_required(names[key], properties[key]) for key in properties if key in required]
    parameters += [_optional(names[key], properties[key]) for key in properties if key not in required]
    if open_ended:
        rest = "arguments"
        while rest in names.values():
            rest += "_"
        parameters.append(Parameter(rest, Parameter.VAR_KEYWORD))
    return Signature(parameters, return_annotation=types.CallToolResult)


def takes_more(said: JsonObject) -> bool:
    """Whether a tool takes arguments that its schema does not name. A schema that describes properties, and
    says nothing about others, is taken to describe them all."""
    describes = bool(said.keys() & {"properties", "anyOf", "oneOf", "allOf", "$ref"})
    return said.get("additionalProperties", not describes) is not False or "patternProperties" in said


def annotation_of(schema: JsonObject) -> Any:
    """The Python type for a cleaned schema, as exact as the common types allow."""
    values = values_of(schema)
    if values and all(value is None or isinstance(value, str | int) for value in values):
        return Literal[tuple(values)]
    choices = schema.get("anyOf") or schema.get("oneOf")
    if choices and "type" not in schema:
        return _either([annotation_of(choice) for choice in choices])
    return _either([_annotation(kind, schema) for kind in types_of(schema)])


def _annotation(kind: str, schema: JsonObject) -> Any:
    if kind != "array":
        return _PLAIN[kind]
    item = annotation_of(schema.get("items", {}))
    return list if item is Any else GenericAlias(list, (item,))


def _either(kinds: list[Any]) -> Any:
    return Any if not kinds or Any in kinds else reduce(operator.or_, kinds)


def _required(name: str, schema: JsonObject) -> Parameter:
    return Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, annotation=annotation_of(schema))


def _optional(name: str, schema: JsonObject) -> Parameter:
    kind, default = annotation_of(schema), schema.get("default")
    annotation = _either([kind, NoneType]) if default is None else kind
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
