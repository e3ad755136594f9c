"""Combining schemas: two that must both hold, and an object with alternatives as a plain object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from mcp_actors.protocol.codec import Json, JsonObject


def merged(base: JsonObject, own: JsonObject) -> JsonObject:
    """One schema for what must fit both. Descriptions are those of ``own``.

    Where both cannot be said at once, ``own`` stands alone: a schema for a model may promise too much, since
    the server checks what it gets.
    """
    both = {key: _both(key, base[key], own[key]) for key in base.keys() & own.keys()}
    return base | own | both


def flattened(node: JsonObject) -> JsonObject:
    """An object schema whose ``anyOf`` and ``oneOf`` were folded into its properties."""
    plain = {key: value for key, value in node.items() if key not in ("anyOf", "oneOf")}
    for word in ("anyOf", "oneOf"):
        choices = [flattened(choice) for choice in node.get(word, ()) if _may_be_object(choice)]
        if choices:
            plain = _folded(plain, choices)
    return plain


def declared(node: JsonObject) -> JsonObject:
    """The properties of an object schema, with those that it requires without describing them."""
    properties: JsonObject = node.get("properties", {})
    return properties | {name: {} for name in node.get("required", ()) if name not in properties}


def accepts_null(node: JsonObject) -> bool:
    """Whether null fits a cleaned schema, as far as types, values and choices tell."""
    if "const" in node:
        return node["const"] is None
    if "enum" in node:
        return None in node["enum"]
    if "type" in node:
        return node["type"] == "null" or "null" in node["type"]
    choices = [*node.get("anyOf", ()), *node.get("oneOf", ())]
    return not choices or any(map(accepts_null, choices))


def _folded(plain: JsonObject, choices: list[JsonObject]) -> JsonObject:
    gathered: dict[str, list[JsonObject]] = {}
    for choice in choices:
        for name, schema in choice.get("properties", {}).items():
            variants = gathered.setdefault(name, [])
            if schema not in variants:
                variants.append(schema)
    offered = {
        name: variants[0] if len(variants) == 1 else {"anyOf": variants}
        for name, variants in gathered.items()
    }
    always = set.intersection(*(set(choice.get("required", ())) for choice in choices))
    first = [name for name in choices[0].get("required", ()) if name in always]
    required = dict.fromkeys([*plain.get("required", ()), *first])
    folded = plain | {"properties": offered | plain.get("properties", {})}
    return folded | ({"required": list(required)} if required else {})


def _may_be_object(choice: JsonObject) -> bool:
    kind = choice.get("type", "object")
    return kind == "object" or "object" in kind


def _both(key: str, base: Json, own: Json) -> Json:
    combine = _COMBINED.get(key)
    return own if combine is None or base == own else combine(base, own)


def _members(base: JsonObject, own: JsonObject) -> JsonObject:
    both = {name: merged(base[name], own[name]) for name in base.keys() & own.keys()}
    return base | own | both


def _union(base: list[Any], own: list[Any]) -> list[Any]:
    return base + [item for item in own if item not in base]


def _common_types(base: str | list[str], own: str | list[str]) -> str | list[str]:
    allowed = [base] if isinstance(base, str) else base
    common = [kind for kind in ([own] if isinstance(own, str) else own) if kind in allowed]
    if not common:
        return own
    return common[0] if len(common) == 1 else common


def _common_values(base: list[Any], own: list[Any]) -> list[Any]:
    return [value for value in own if value in base] or own


def _stricter(base: JsonObject | bool, own: JsonObject | bool) -> JsonObject | bool:
    """Of two statements about further properties, the one that forbids more."""
    if base is False or own is False:
        return False
    return base if own is True else own


#: How two values of a word become one. Words that are not here: the second stands.
_COMBINED: Final[dict[str, Callable[[Any, Any], Json]]] = {
    "properties": _members,
    "patternProperties": _members,
    "items": merged,
    "required": _union,
    "type": _common_types,
    "enum": _common_values,
    "additionalProperties": _stricter,
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), max),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), min),
}
