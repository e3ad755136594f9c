"""Cleaning schemas: what is valid stays, what is not goes, references are followed and nothing is fetched."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_actors.client.export.combining import accepts_null, flattened, merged
from mcp_actors.client.export.schema import cleaned, object_schema


def test_what_is_valid_stays_and_is_a_copy() -> None:
    schema: dict[str, Any] = {
        "title": "T",
        "type": "object",
        "properties": {
            "a": {"type": "array", "items": {"enum": [["x"]]}, "minItems": 1, "uniqueItems": True}
        },
        "patternProperties": {"^x": {"type": "number", "multipleOf": 0.5}},
        "additionalProperties": {"type": "string", "maxLength": 3},
        "required": ["a"],
    }
    copy = cleaned(schema)
    assert copy == schema
    copy["properties"]["a"]["items"]["enum"][0].append("y")
    copy["required"].append("b")
    assert schema["properties"]["a"]["items"]["enum"] == [["x"]]
    assert schema["required"] == ["a"]


@pytest.mark.parametrize(
    "broken",
    [
        {"exclusiveMinimum": True},
        {"minimum": "0"},
        {"minLength": -1},
        {"minItems": 1.5},
        {"multipleOf": 0},
        {"required": True},
        {"required": ["a", "a"]},
        {"required": [1]},
        {"enum": []},
        {"type": "any"},
        {"type": []},
        {"properties": []},
        {"anyOf": []},
        {"anyOf": {"type": "string"}},
        {"items": "string"},
        {"description": 3},
        {"not": {"type": "string"}},
        {"if": {}, "then": {}},
        {"$schema": "http://json-schema.org/draft-07/schema#"},
        {"x-vendor": 1},
    ],
)
def test_what_is_not_valid_or_not_known_goes(broken: dict[str, Any]) -> None:
    assert cleaned(broken) == {}


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ({"type": "STRING"}, {"type": "string"}),
        ({"type": "double"}, {"type": "number"}),
        ({"type": ["int", "none", "null"]}, {"type": ["integer", "null"]}),
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"type": "null", "nullable": True}, {"type": "null"}),
        ({"type": "array"}, {"type": "array", "items": {}}),
        ({"type": "array", "items": True}, {"type": "array", "items": {}}),
        ({"items": [{"type": "string"}, {}]}, {"prefixItems": [{"type": "string"}, {}]}),
        ({"properties": {"a": True, "b": "string"}}, {"properties": {"a": {}}}),
        ({"additionalProperties": False}, {"additionalProperties": False}),
        ({"anyOf": [{"not": {}}, {"type": "string"}]}, {"anyOf": [{"type": "string"}]}),
    ],
)
def test_earlier_drafts_and_other_dialects_are_understood(said: Any, meant: Any) -> None:
    assert cleaned(said) == meant


def test_references_are_replaced_by_what_they_refer_to() -> None:
    schema = {
        "properties": {
            "a": {"$ref": "#/$defs/A~1B", "description": "own"},
            "b": {"$ref": "#/definitions/C%20D"},
            "c": {"$ref": "#/properties/a"},
            "d": {"$ref": "#/anyList/1"},
        },
        "$defs": {"A/B": {"type": "string", "description": "theirs", "minLength": 2}},
        "definitions": {"C D": {"type": "integer"}},
        "anyList": [{}, {"type": "boolean"}],
    }
    text = {"type": "string", "description": "own", "minLength": 2}
    assert cleaned(schema)["properties"] == {
        "a": text,
        "b": {"type": "integer"},
        "c": text,
        "d": {"type": "boolean"},
    }


@pytest.mark.parametrize(
    "nowhere",
    ["#/$defs/B", "#/$defs/A/type/deeper", "#/list/7", "#anchor", "http://127.0.0.1:9/schema", "A", 3],
)
def test_a_reference_that_leads_nowhere_or_elsewhere_says_nothing(nowhere: Any) -> None:
    schema = {"$ref": nowhere, "type": "object", "$defs": {"A": {"type": "string"}}, "list": []}
    assert cleaned(schema) == {"type": "object"}


def test_a_schema_that_holds_itself_is_unrolled_twice() -> None:
    tree = {
        "type": "object",
        "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}},
    }
    made = cleaned({"$ref": "#/$defs/Tree", "$defs": {"Tree": tree}})
    children: Any = {"type": "array", "items": {"type": "object"}}
    for _ in range(2):
        children = {"type": "array", "items": {"type": "object", "properties": {"children": children}}}
    assert made == {"type": "object", "properties": {"children": children["items"]["properties"]["children"]}}
    assert cleaned({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}}) == {}


def test_all_of_becomes_one_schema() -> None:
    schema = {
        "description": "whole",
        "allOf": [
            {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}, "required": ["a"]},
            {"properties": {"a": {"maximum": 9, "minimum": 3}, "b": {}}, "required": ["b", "a"]},
        ],
    }
    made = cleaned(schema)
    assert made["properties"] == {"a": {"type": "integer", "minimum": 3, "maximum": 9}, "b": {}}
    assert sorted(made["required"]) == ["a", "b"]
    assert (made["type"], made["description"]) == ("object", "whole")


@pytest.mark.parametrize(
    ("base", "own", "both"),
    [
        ({"type": ["string", "null"]}, {"type": ["null", "integer"]}, {"type": "null"}),
        ({"type": ["string", "null"]}, {"type": ["null", "string"]}, {"type": ["null", "string"]}),
        ({"type": "string"}, {"type": "integer"}, {"type": "integer"}),
        ({"enum": [1, 2]}, {"enum": [2, 3]}, {"enum": [2]}),
        ({"enum": [1]}, {"enum": [3]}, {"enum": [3]}),
        ({"additionalProperties": False}, {"additionalProperties": True}, {"additionalProperties": False}),
        ({"additionalProperties": {}}, {"additionalProperties": True}, {"additionalProperties": {}}),
        ({"additionalProperties": True}, {"additionalProperties": {}}, {"additionalProperties": {}}),
        ({"items": {"minLength": 1}}, {"items": {"minLength": 2}}, {"items": {"minLength": 2}}),
        ({"pattern": "a"}, {"pattern": "b"}, {"pattern": "b"}),
    ],
)
def test_two_schemas_that_must_both_hold(base: Any, own: Any, both: Any) -> None:
    assert merged(base, own) == both


def test_alternatives_are_folded_into_the_object() -> None:
    schema = {
        "type": "object",
        "properties": {"project": {"type": "string"}},
        "required": ["project"],
        "anyOf": [
            {"properties": {"kind": {"const": "path"}, "path": {}}, "required": ["kind", "path"]},
            {"properties": {"kind": {"const": "scope"}, "scope": {}}, "required": ["kind", "scope"]},
            {"properties": {"kind": {"const": "scope"}}, "required": ["kind"]},
            {"type": "null"},
        ],
        "oneOf": [{"type": "string"}],
    }
    assert flattened(schema) == {
        "type": "object",
        "properties": {
            "kind": {"anyOf": [{"const": "path"}, {"const": "scope"}]},
            "path": {},
            "scope": {},
            "project": {"type": "string"},
        },
        "required": ["project", "kind"],
    }


def test_a_choice_of_required_names_alone_requires_nothing() -> None:
    schema = {
        "type": "object",
        "properties": {"route": {"type": "string"}, "file": {"type": "string"}},
        "anyOf": [{"required": ["route"]}, {"required": ["file"]}],
    }
    assert object_schema(schema) == {"type": "object", "properties": schema["properties"]}


def test_what_is_required_is_described() -> None:
    assert object_schema({"required": ["a"]}) == {
        "type": "object",
        "properties": {"a": {}},
        "required": ["a"],
    }
    assert object_schema({"type": "string", "enum": ["a"]}) == {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    ("schema", "accepts"),
    [
        ({}, True),
        ({"type": "null"}, True),
        ({"type": ["string", "null"]}, True),
        ({"type": "string"}, False),
        ({"enum": ["a", None]}, True),
        ({"enum": ["a"]}, False),
        ({"const": None}, True),
        ({"const": 0}, False),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, True),
        ({"oneOf": [{"type": "string"}]}, False),
    ],
)
def test_whether_null_fits(schema: dict[str, Any], accepts: bool) -> None:
    assert accepts_null(schema) is accepts
