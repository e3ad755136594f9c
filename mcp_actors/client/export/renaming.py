"""Arguments under names that an API accepts, and a model's arguments as the server wants them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp_actors.client.export.combining import accepts_null, flattened
from mcp_actors.client.export.names import ANTHROPIC_KEYS, GEMINI_KEYS, Rule, legal_names
from mcp_actors.client.export.schema import object_schema
from mcp_actors.protocol.codec import Json, JsonObject


def with_legal_keys(schema: JsonObject, rule: Rule) -> JsonObject:
    """The schema of an object whose properties have legal names. Deeper names are nobody's business."""
    names = _legal(schema, rule)
    renamed = schema | {"properties": {names[key]: value for key, value in schema["properties"].items()}}
    if "required" in schema:
        renamed["required"] = [names.get(key, key) for key in schema["required"]]
    return renamed


def restored(schema: JsonObject, arguments: Mapping[str, Any]) -> JsonObject:
    """What a model answered to an exported schema, as arguments for the tool.

    Names that were changed get their own again. A null that stands for an argument left out, as the strict
    mode of OpenAI wants it, is left out, unless the server itself allows null there.
    """
    root = object_schema(schema)
    own = {
        legal: name for rule in (ANTHROPIC_KEYS, GEMINI_KEYS) for name, legal in _legal(root, rule).items()
    }
    known = root["properties"]
    named = {key if key in known else own.get(key, key): value for key, value in arguments.items()}
    given: JsonObject = _without_stand_ins(root, named)
    return given


def _legal(schema: JsonObject, rule: Rule) -> dict[str, str]:
    keys = list(schema["properties"])
    return dict(zip(keys, legal_names(keys, rule), strict=True))


def _without_stand_ins(schema: JsonObject, value: Json) -> Json:
    if isinstance(value, list):
        items: JsonObject = next((one["items"] for one in _variants(schema) if "items" in one), {})
        return [_without_stand_ins(items, item) for item in value]
    if not isinstance(value, dict):
        return value
    folded = flattened(schema)
    properties, required = folded.get("properties", {}), folded.get("required", ())
    return {
        key: _without_stand_ins(properties.get(key, {}), item)
        for key, item in value.items()
        if item is not None or key in required or accepts_null(properties.get(key, {}))
    }


def _variants(schema: JsonObject) -> list[JsonObject]:
    return [schema, *schema.get("anyOf", ()), *schema.get("oneOf", ())]
