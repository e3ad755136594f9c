"""Tools for Gemini: function declarations in its subset of OpenAPI 3.0."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

from mcp_actors.client.export.combining import declared, flattened
from mcp_actors.client.export.described import Described, description_of, with_names
from mcp_actors.client.export.names import GEMINI_KEYS
from mcp_actors.client.export.renaming import with_legal_keys
from mcp_actors.client.export.schema import object_schema
from mcp_actors.client.export.vocabulary import types_of, values_of
from mcp_actors.protocol.codec import JsonObject

_SCALARS: Final = ("string", "number", "boolean")
_FORMATS: Final = {
    "string": ("date-time",),
    "number": ("float", "double"),
    "integer": ("int32", "int64"),
}
#: What is said about a value beside its type, by that type.
_KEPT: Final = {
    "string": ("minLength", "maxLength", "pattern"),
    "number": ("minimum", "maximum"),
    "integer": ("minimum", "maximum"),
    "array": ("minItems", "maxItems"),
    "object": (),
    "boolean": (),
}
#: Words that tell the type of a schema that does not name it.
_TELLING: Final = {
    "object": ("properties", "patternProperties", "additionalProperties", "required"),
    "array": ("items", "prefixItems"),
    "string": ("pattern", "minLength", "maxLength", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}


def to_gemini(tools: Iterable[Described] | Described) -> list[JsonObject]:
    """The tools as Gemini's function declarations: ``{"function_declarations": to_gemini(tools)}``.

    They use ``parameters``, which every interface of Gemini takes, and nothing but the words it knows.
    """
    return [
        {
            "name": name,
            # The only one of the three APIs that demands a description.
            **({"description": tool.name} | description_of(tool)),
            "parameters": openapi(with_legal_keys(object_schema(tool.input_schema), GEMINI_KEYS)),
        }
        for name, tool in with_names(tools)
    ]


def openapi(node: JsonObject) -> JsonObject:
    """A cleaned schema in Gemini's words. Every part has one type, or is a choice and nothing else."""
    kinds = _types(node)
    choices = node.get("anyOf") or node.get("oneOf") or []
    if choices and "object" in kinds:
        node, choices = flattened(node), []
    types = [kind for kind in kinds if kind != "null"]
    if types or not choices:
        nullable = "null" in kinds
        made = [_typed(node, kind) for kind in types or (("string",) if nullable else _SCALARS)]
    else:
        nullable = any(_types(choice) == ["null"] for choice in choices)
        made = [openapi(choice) for choice in choices if _types(choice) != ["null"]]
    return _choice(made or [{"type": "STRING"}], _described(node), nullable)


def _choice(made: list[JsonObject], described: JsonObject, nullable: bool) -> JsonObject:
    """Several schemas of which one fits. Beside ``anyOf`` Gemini allows no other word."""
    distinct: list[JsonObject] = []
    for one in [one for choice in made for one in choice.get("anyOf", [choice])]:
        told = described | one | ({"nullable": True} if nullable else {})
        if told not in distinct:
            distinct.append(told)
    return distinct[0] if len(distinct) == 1 else {"anyOf": distinct}


def _typed(node: JsonObject, kind: str) -> JsonObject:
    made: JsonObject = {"type": kind.upper()}
    if node.get("format") in _FORMATS.get(kind, ()):
        made["format"] = node["format"]
    made |= {key: node[key] for key in _KEPT[kind] if key in node}
    if kind == "object":
        made |= _object(node)
    elif kind == "array":
        made["items"] = openapi(
            node["items"] if "items" in node else {"anyOf": node.get("prefixItems", [{}])}
        )
    elif kind == "string" and (
        values := [value for value in values_of(node) if value and isinstance(value, str)]
    ):
        made["enum"] = list(dict.fromkeys(values))
    return made


def _object(node: JsonObject) -> JsonObject:
    properties = {name: openapi(member) for name, member in declared(node).items()}
    required = list(node.get("required", ()))
    return {"properties": properties} | ({"required": required} if required else {})


def _described(node: JsonObject) -> JsonObject:
    """The description; values that are no texts have no other place."""
    said = node.get("description") or node.get("title") or ""
    values = [value for value in values_of(node) if value is not None]
    if not all(isinstance(value, str) for value in values):
        said = f"{said} One of: {', '.join(map(json.dumps, values))}.".strip()
    return {"description": said} if said else {}


def _types(node: JsonObject) -> list[str]:
    telling = ([kind] for kind, words in _TELLING.items() if node.keys() & set(words))
    return types_of(node) or next(telling, [])
