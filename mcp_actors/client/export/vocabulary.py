"""The words of JSON Schema 2020-12 that are exported, and what their values must be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from mcp_actors.protocol.codec import Json, JsonObject

TYPES: Final = frozenset(("string", "number", "integer", "boolean", "object", "array", "null"))
# What servers write that map their own language's types by hand.
_MEANT: Final = {
    "bool": "boolean",
    "dict": "object",
    "double": "number",
    "float": "number",
    "int": "integer",
    "list": "array",
    "str": "string",
}


def known_types(said: Json) -> list[str]:
    """The types that a server names, in JSON Schema's words."""
    words = [word.lower() for word in (said if isinstance(said, list) else [said]) if isinstance(word, str)]
    return [word for word in dict.fromkeys(_MEANT.get(word, word) for word in words) if word in TYPES]


def types_of(node: JsonObject) -> list[str]:
    """The types of a cleaned schema, if need be those of the values that it allows. None: not said."""
    if "type" in node:
        return [node["type"]] if isinstance(node["type"], str) else list(node["type"])
    return list(dict.fromkeys(map(_type_of, values_of(node))))


def values_of(node: JsonObject) -> list[Json]:
    """The values that a cleaned schema allows, if it names them."""
    return [node["const"]] if "const" in node else list(node.get("enum", ()))


def _type_of(value: Json) -> str:
    if value is None:
        return "null"
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}
    return names.get(type(value), "object")


def is_number(value: Json) -> bool:
    """Whether a value is a number; to Python, true and false are numbers, too."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Json) -> bool:
    return isinstance(value, int) and is_number(value) and value >= 0


def _is_divisor(value: Json) -> bool:
    return is_number(value) and bool(value > 0)


def _is_text(value: Json) -> bool:
    return isinstance(value, str)


def _is_flag(value: Json) -> bool:
    return isinstance(value, bool)


def _is_filled_list(value: Json) -> bool:
    return isinstance(value, list) and bool(value)


def _is_names(value: Json) -> bool:
    return isinstance(value, list) and all(map(_is_text, value)) and len(set(value)) == len(value)


def _is_anything(_value: Json) -> bool:
    return True


#: Words whose value is copied, and what it must be.
CHECKS: Final[dict[str, Callable[[Any], bool]]] = {
    **dict.fromkeys(("title", "description", "format", "pattern"), _is_text),
    **dict.fromkeys(("default", "const"), _is_anything),
    **dict.fromkeys(("deprecated", "readOnly", "writeOnly", "uniqueItems", "additionalProperties"), _is_flag),
    **dict.fromkeys(("enum", "examples"), _is_filled_list),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), is_number),
    **{bound + what: _is_count for bound in ("min", "max") for what in ("Length", "Items", "Properties")},
    "multipleOf": _is_divisor,
    "required": _is_names,
}
#: Words whose value is a schema. None that denies: where something deeper is cut off, it would deny too much.
SCHEMAS: Final = frozenset(("items", "additionalProperties", "propertyNames", "contains"))
#: Words whose value is a list of schemas, or a mapping to schemas.
LISTS: Final = frozenset(("anyOf", "oneOf", "prefixItems"))
MAPS: Final = frozenset(("properties", "patternProperties"))
