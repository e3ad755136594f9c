"""Tools for OpenAI: the two forms, and the strict mode with its limits."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_actors.client.export import restored, to_openai
from mcp_actors.client.export.openai import MAX_ENUM_VALUES, MAX_LEVELS, MAX_PROPERTIES, strict_schema
from tests.client.export.apis import accepted_by_openai, tool


def strict(**properties: Any) -> dict[str, Any] | None:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    made = strict_schema(schema)
    return None if made is None else made["properties"]


def test_the_chat_form_wraps_the_function_and_the_responses_form_does_not() -> None:
    function = {
        "name": "tool",
        "description": "Does things",
        "parameters": {"type": "object", "properties": {}},
        "strict": False,
    }
    assert to_openai(tool()) == [{"type": "function", "function": function}]
    assert to_openai(tool(), api="responses") == [{"type": "function", **function}]
    with pytest.raises(ValueError, match="api must be 'chat' or 'responses', not 'assistants'"):
        to_openai(tool(), api="assistants")  # type: ignore[arg-type]


def test_a_tool_without_a_description_has_none_or_its_title() -> None:
    (bare,) = to_openai(tool(description=None))
    assert "description" not in bare["function"]


@pytest.mark.parametrize(
    ("said", "made"),
    [
        ({"type": "string", "minLength": 1, "pattern": "^a"}, {"type": "string", "pattern": "^a"}),
        ({"type": "string", "pattern": "(?=a)b", "format": "uri"}, {"type": "string"}),
        ({"type": "string", "format": "date"}, {"type": "string", "format": "date"}),
        ({"type": "integer", "minimum": 1, "default": 3}, {"type": "integer", "minimum": 1}),
        ({"const": 1.5}, {"type": "number", "const": 1.5}),
        ({"enum": ["a", 1, True, None]}, None),
        (
            {"oneOf": [{"type": "string"}, {"type": "null"}]},
            {"anyOf": [{"type": "string"}, {"type": "null"}]},
        ),
        (
            {"type": "array", "items": {"type": "string"}, "minItems": 1, "uniqueItems": True},
            {"type": "array", "items": {"type": "string"}, "minItems": 1},
        ),
        (
            {"type": ["object", "null"], "properties": {"a": {"type": "string"}}, "required": ["a"]},
            None,
        ),
    ],
)
def test_what_the_strict_mode_knows_stays(said: dict[str, Any], made: dict[str, Any] | None) -> None:
    found = strict(value=said)
    assert found is not None
    if made is not None:
        assert found == {"value": made}
    definition = to_openai(tool({"properties": {"value": said}}), strict=True)[0]
    assert definition["function"]["strict"] is True
    assert accepted_by_openai(definition)


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"type": "object"},
        {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": True},
        {
            "type": "object",
            "properties": {"a": {"type": "string"}},
            "additionalProperties": {"type": "string"},
        },
        {"type": "object", "properties": {"a": {"type": "string"}}, "patternProperties": {"^x": {}}},
        {"type": "array", "items": {}},
        {"type": "array", "prefixItems": [{"type": "string"}]},
        {"type": "object", "properties": {"a": {"type": "string"}}, "anyOf": [{"required": ["a"]}]},
        {"enum": [{"a": 1}]},
        {"anyOf": [{"type": "string"}, {}]},
    ],
)
def test_what_cannot_be_said_strictly_makes_the_tool_loose(said: dict[str, Any]) -> None:
    assert strict(value=said) is None


@pytest.mark.parametrize(
    ("said", "made"),
    [
        ({"type": "string"}, {"type": ["string", "null"]}),
        ({"type": ["string", "integer"]}, {"type": ["string", "integer", "null"]}),
        ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
        ({"const": "a"}, {"type": ["string", "null"], "enum": ["a", None]}),
        ({"type": "null", "enum": [""]}, {"type": ["null"], "enum": ["", None]}),
        ({"enum": ["a", "b"]}, {"type": ["string", "null"], "enum": ["a", "b", None]}),
        ({"anyOf": [{"type": "string"}]}, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        (
            {"type": "array", "items": {"type": "string"}},
            {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]},
        ),
    ],
)
def test_an_optional_argument_becomes_one_that_may_be_null(said: Any, made: Any) -> None:
    schema = {"type": "object", "properties": {"value": said}}
    strictly = strict_schema(schema)
    assert strictly is not None
    assert strictly["required"] == ["value"]
    assert strictly["properties"] == {"value": made}


def test_a_schema_beyond_the_limits_of_the_strict_mode_is_loose() -> None:
    def wide(count: int) -> dict[str, Any]:
        return {"type": "object", "properties": {f"p{number}": {"type": "string"} for number in range(count)}}

    def deep(levels: int) -> dict[str, Any]:
        schema: dict[str, Any] = {"type": "string"}
        for _ in range(levels):
            schema = {"type": "object", "properties": {"deeper": schema}, "required": ["deeper"]}
        return schema

    def many(count: int) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": {"value": {"enum": [f"v{number}" for number in range(count)]}},
        }

    for make, limit in ((wide, MAX_PROPERTIES), (deep, MAX_LEVELS), (many, MAX_ENUM_VALUES)):
        assert strict_schema(make(limit)) is not None
        assert strict_schema(make(limit + 1)) is None


def test_nulls_within_a_choice_and_a_list_are_taken_out_again() -> None:
    place = {
        "type": "object",
        "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}},
        "required": ["x"],
    }
    schema = {
        "type": "object",
        "properties": {
            "either": {"anyOf": [{"type": "string"}, place]},
            "many": {"anyOf": [{"type": "null"}, {"type": "array", "items": place}]},
        },
    }
    said = {
        "either": {"x": 1, "y": None},
        "many": [{"x": 2, "y": None}, {"x": None, "y": 3}],
        "unknown": None,
    }
    assert restored(schema, said) == {
        "either": {"x": 1},
        "many": [{"x": 2}, {"x": None, "y": 3}],
        "unknown": None,
    }
