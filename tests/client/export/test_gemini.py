"""Tools for Gemini: one type per schema, and nothing but words that it knows."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_actors.client.export import restored, to_gemini
from mcp_actors.client.export.gemini import openapi
from tests.client.export.apis import tool

ANY = {"anyOf": [{"type": "STRING"}, {"type": "NUMBER"}, {"type": "BOOLEAN"}]}


@pytest.mark.parametrize(
    ("said", "made"),
    [
        ({}, ANY),
        ({"type": "null"}, {"type": "STRING", "nullable": True}),
        ({"anyOf": [{"type": "null"}]}, {"type": "STRING", "nullable": True}),
        ({"type": "string", "format": "uri", "minLength": 1}, {"type": "STRING", "minLength": 1}),
        ({"type": "string", "format": "date-time"}, {"type": "STRING", "format": "date-time"}),
        (
            {"type": "integer", "format": "int32", "exclusiveMinimum": 0},
            {"type": "INTEGER", "format": "int32"},
        ),
        ({"type": "integer", "minimum": 1, "maximum": 9}, {"type": "INTEGER", "minimum": 1, "maximum": 9}),
        ({"type": "string", "properties": {"a": {}}, "required": ["a"]}, {"type": "STRING"}),
        ({"type": "array", "items": {}}, {"type": "ARRAY", "items": ANY}),
        ({"prefixItems": [{"type": "string"}]}, {"type": "ARRAY", "items": {"type": "STRING"}}),
        ({"pattern": "^a"}, {"type": "STRING", "pattern": "^a"}),
        ({"minimum": 3}, {"type": "NUMBER", "minimum": 3}),
        ({"title": "Name", "type": "string"}, {"type": "STRING", "description": "Name"}),
        ({"additionalProperties": {"type": "string"}}, {"type": "OBJECT", "properties": {}}),
        ({"enum": ["a", None]}, {"type": "STRING", "nullable": True, "enum": ["a"]}),
        ({"enum": [True]}, {"type": "BOOLEAN", "description": "One of: true."}),
        (
            {"enum": ["a", 1]},
            {
                "anyOf": [
                    {"type": "STRING", "enum": ["a"], "description": 'One of: "a", 1.'},
                    {"type": "INTEGER", "description": 'One of: "a", 1.'},
                ]
            },
        ),
        (
            {"anyOf": [{"anyOf": [{"type": "string"}, {"type": "boolean"}]}, {"type": "string"}]},
            {"anyOf": [{"type": "STRING"}, {"type": "BOOLEAN"}]},
        ),
        (
            {
                "type": "object",
                "properties": {"a": {"type": "string"}},
                "anyOf": [{"required": ["a"]}, {"properties": {"b": {"type": "string"}}, "required": ["a"]}],
            },
            {
                "type": "OBJECT",
                "properties": {"b": {"type": "STRING"}, "a": {"type": "STRING"}},
                "required": ["a"],
            },
        ),
        ({"type": "string", "anyOf": [{"minLength": 1}]}, {"type": "STRING"}),
    ],
)
def test_a_schema_in_geminis_words(said: dict[str, Any], made: dict[str, Any]) -> None:
    assert openapi(said) == made


def test_a_declaration_always_has_a_description_and_an_object() -> None:
    assert to_gemini(tool(description=None, name="list.all")) == [
        {"name": "list_all", "description": "list.all", "parameters": {"type": "OBJECT", "properties": {}}}
    ]


def test_parameter_names_are_identifiers_and_are_restored() -> None:
    schema = {
        "type": "object",
        "properties": {"user-id": {"type": "string"}, "user_id": {}},
        "required": ["user-id"],
    }
    (declaration,) = to_gemini(tool(schema))
    (changed,) = declaration["parameters"]["required"]
    assert changed.startswith("user_id_")
    assert restored(schema, {changed: "a", "user_id": "b"}) == {"user-id": "a", "user_id": "b"}
