"""What the three APIs accept, written down independently of the exports. Not a test."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import jsonschema_rs

from mcp_actors.protocol import types

COMBINING: Final = {"anyOf", "oneOf", "allOf", "not", "enum", "const", "if", "then", "else", "$ref", "$defs"}
OPENAI_STRICT: Final = {
    *("type", "title", "description", "properties", "required", "additionalProperties", "items", "anyOf"),
    *("enum", "const", "format", "pattern", "multipleOf", "minimum", "maximum", "exclusiveMinimum"),
    *("exclusiveMaximum", "minItems", "maxItems"),
}
GEMINI: Final = {
    *("type", "format", "description", "nullable", "enum", "maxItems", "minItems", "properties", "required"),
    *("minLength", "maxLength", "pattern", "anyOf", "items", "minimum", "maximum"),
}
GEMINI_FORMATS: Final = {
    "STRING": {"date-time"},
    "NUMBER": {"float", "double"},
    "INTEGER": {"int32", "int64"},
}


def tool(schema: Any = None, name: str = "tool", description: str | None = "Does things") -> types.Tool:
    """A tool, as a server describes it."""
    return types.Tool(name=name, input_schema={} if schema is None else schema, description=description)


def nodes(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every schema within a schema."""
    yield schema
    inner = [
        schema[key] for key in ("items", "additionalProperties", "contains", "propertyNames") if key in schema
    ]
    for key in ("anyOf", "oneOf", "prefixItems"):
        inner += schema.get(key, [])
    for key in ("properties", "patternProperties"):
        inner += schema.get(key, {}).values()
    for one in inner:
        if isinstance(one, dict):
            yield from nodes(one)


def accepted_by_openai(definition: dict[str, Any]) -> bool:
    """Whether the chat completions take a tool; raises what is wrong."""
    assert definition.keys() == {"type", "function"}
    return accepted_by_responses({"type": definition["type"], **definition["function"]})


def accepted_by_responses(definition: dict[str, Any]) -> bool:
    """Whether the responses take a tool; raises what is wrong."""
    assert definition["type"] == "function"
    assert definition.keys() <= {"type", "name", "description", "parameters", "strict"}
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", definition["name"])
    _arguments(definition["parameters"])
    for node in nodes(definition["parameters"]):
        assert "array" not in node.get("type", "") or node.keys() & {"items", "prefixItems"}
        assert isinstance(node.get("items", {}), dict)
        if definition["strict"]:
            _strict(node)
    return True


def _strict(node: dict[str, Any]) -> None:
    assert node.keys() <= OPENAI_STRICT
    assert "type" in node or "anyOf" in node
    if node.get("type") == "object":
        assert node["additionalProperties"] is False
        assert sorted(node["required"]) == sorted(node["properties"])
    assert node.get("format", "date") in {
        *("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"),
    }


def accepted_by_anthropic(definition: dict[str, Any]) -> bool:
    """Whether the messages take a tool; raises what is wrong."""
    assert definition.keys() <= {"name", "description", "input_schema"}
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", definition["name"])
    _arguments(definition["input_schema"])
    assert all(re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", key) for key in definition["input_schema"]["properties"])
    return True


def _arguments(schema: dict[str, Any]) -> None:
    assert schema["type"] == "object"
    assert isinstance(schema["properties"], dict)
    assert not schema.keys() & COMBINING
    jsonschema_rs.meta.validate({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema})
    assert all("$ref" not in node for node in nodes(schema))
    json.dumps(schema, allow_nan=False)


def accepted_by_gemini(declaration: dict[str, Any]) -> bool:
    """Whether a function declaration is one; raises what is wrong."""
    assert declaration.keys() == {"name", "description", "parameters"}
    assert re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}", declaration["name"])
    assert declaration["description"]
    assert declaration["parameters"]["type"] == "OBJECT"
    for key in declaration["parameters"]["properties"]:
        assert re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_]{0,63}", key)
    for node in nodes(declaration["parameters"]):
        _openapi(node)
    json.dumps(declaration, allow_nan=False)
    return True


def _openapi(node: dict[str, Any]) -> None:
    assert node.keys() <= GEMINI
    if "anyOf" in node:
        assert node.keys() == {"anyOf"}
        assert len(node["anyOf"]) > 1
        return
    kind = node["type"]
    assert kind in {"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT"}
    assert ("items" in node) == (kind == "ARRAY")
    assert ("properties" in node) == (kind == "OBJECT")
    assert set(node.get("required", ())) <= set(node.get("properties", ()))
    assert "format" not in node or node["format"] in GEMINI_FORMATS[kind]
    if "enum" in node:
        assert kind == "STRING"
        assert node["enum"]
        assert all(isinstance(value, str) and value for value in node["enum"])
