"""Elicitation forms as lists of fields, and the address of a page."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_actors.protocol.codec import DecodeFailed
from mcp_actors.protocol.types import ElicitFormParams, ElicitUrlParams
from mcp_actors.protocol.types.form_fields import FormField


def form(properties: Any, **more: Any) -> ElicitFormParams:
    schema = {"type": "object", "properties": properties, **more}
    return ElicitFormParams.from_wire({"message": "m", "requestedSchema": schema})


def field(schema: dict[str, Any]) -> FormField:
    (only,) = form({"f": schema}).fields
    return only


def test_a_field_says_all_that_its_schema_says() -> None:
    schema = {
        "type": "string",
        "title": "E-mail",
        "description": "Where to write to",
        "format": "email",
        "minLength": 3,
        "maxLength": 50,
        "default": "a@b.c",
    }
    (only,) = form({"mail": schema}, required=["mail"]).fields
    assert only == FormField(
        name="mail",
        kind="string",
        schema=schema,
        required=True,
        title="E-mail",
        description="Where to write to",
        default="a@b.c",
        format="email",
        min_length=3,
        max_length=50,
    )
    assert only.label == "E-mail"


@pytest.mark.parametrize("kind", ["string", "number", "integer", "boolean"])
def test_primitive_fields_are_of_their_own_kind(kind: str) -> None:
    only = field({"type": kind})
    assert (only.kind, only.choices, only.required, only.default, only.label) == (kind, (), False, None, "f")


def test_bounds_of_numbers_and_lists_are_kept() -> None:
    number = field({"type": "number", "minimum": 1, "maximum": 2.5})
    assert (number.minimum, number.maximum) == (1, 2.5)
    several = field({"type": "array", "items": {"enum": ["a"]}, "minItems": 1, "maxItems": 2})
    assert (several.min_items, several.max_items) == (1, 2)


@pytest.mark.parametrize(
    ("schema", "kind", "titles"),
    [
        ({"type": "string", "enum": ["r", "g"]}, "choice", ["r", "g"]),
        ({"enum": ["r", "g"]}, "choice", ["r", "g"]),
        ({"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"]}, "choice", ["Red", "Green"]),
        ({"type": "string", "enum": ["r", "g"], "enumNames": ["Red"]}, "choice", ["Red", "g"]),
        (
            {"type": "string", "oneOf": [{"const": "r", "title": "Red"}, {"const": "g"}]},
            "choice",
            ["Red", "g"],
        ),
        ({"type": "array", "items": {"type": "string", "enum": ["r", "g"]}}, "choices", ["r", "g"]),
        (
            {
                "type": "array",
                "items": {"anyOf": [{"const": "r", "title": "Red"}, {"const": "g", "title": "G"}]},
            },
            "choices",
            ["Red", "G"],
        ),
    ],
)
def test_every_spelling_of_a_choice_is_read(schema: dict[str, Any], kind: str, titles: list[str]) -> None:
    only = field(schema)
    assert only.kind == kind
    assert only.choices == tuple(zip(["r", "g"], titles, strict=True))


def test_defaults_are_those_of_the_fields_that_have_one() -> None:
    asked = form(
        {
            "a": {"type": "boolean", "default": False},
            "b": {"type": "string"},
            "c": {"type": "integer", "default": 0},
        }
    )
    assert asked.defaults() == {"a": False, "c": 0}
    assert [one.name for one in asked.fields] == ["a", "b", "c"]


def test_a_form_without_fields_has_none() -> None:
    asked = ElicitFormParams.from_wire({"message": "sure?", "requestedSchema": {"type": "object"}})
    assert asked.fields == []
    assert asked.defaults() == {}


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({"type": "string"}, r"\$.requestedSchema.type"),
        ({}, r"\$.requestedSchema.type"),
        ({"type": "object", "properties": []}, r"\$.requestedSchema.properties"),
        ({"type": "object", "required": "a"}, r"\$.requestedSchema.required"),
        ({"type": "object", "properties": {"a": True}}, r"properties\.a"),
        ({"type": "object", "properties": {"a": {}}}, r"properties\.a"),
        ({"type": "object", "properties": {"a": {"type": "object", "properties": {}}}}, r"properties\.a"),
        ({"type": "object", "properties": {"a": {"type": ["string", "null"]}}}, r"properties\.a"),
        ({"type": "object", "properties": {"a": {"type": "array"}}}, r"properties\.a\.items"),
        (
            {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer"}}}},
            r"a\.items",
        ),
        (
            {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}}}},
            r"a\.items",
        ),
        ({"type": "object", "properties": {"a": {"enum": [1]}}}, r"a\.enum"),
        ({"type": "object", "properties": {"a": {"enum": ["x"], "enumNames": "x"}}}, r"a\.enumNames"),
        ({"type": "object", "properties": {"a": {"oneOf": {}}}}, r"properties\.a"),
        ({"type": "object", "properties": {"a": {"oneOf": ["x"]}}}, r"properties\.a"),
        ({"type": "object", "properties": {"a": {"oneOf": [{"title": "x"}]}}}, r"a\.const"),
        ({"type": "object", "properties": {"a": {"type": "string", "title": 5}}}, r"properties\.a"),
    ],
)
def test_what_is_no_flat_form_is_refused_and_the_place_named(schema: dict[str, Any], place: str) -> None:
    asked = ElicitFormParams.from_wire({"message": "m", "requestedSchema": schema})
    with pytest.raises(DecodeFailed, match=place):
        _ = asked.fields


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://example.com", "example.com"),
        ("https://Example.COM:8443/a?b=c#d", "example.com"),
        ("http://localhost:1/x", "localhost"),
        ("HTTPS://[::1]/", "[::1]"),
        ("https://example.com/ü", "example.com"),
        ("https://example.com?to=a@b.c", "example.com"),
    ],
)
def test_the_host_of_a_page_can_be_shown(url: str, host: str) -> None:
    assert ElicitUrlParams(message="m", url=url).host == host


@pytest.mark.parametrize(
    ("url", "secure"),
    [
        ("https://example.com", True),
        ("HTTPS://example.com", True),
        ("http://localhost:1/x", True),
        ("http://127.0.0.1", True),
        ("http://[::1]/", True),
        ("http://example.com", False),
        ("http://localhost.example.com", False),
        ("ftp://localhost", False),
    ],
)
def test_a_page_is_secure_if_it_is_encrypted_or_of_this_machine(url: str, secure: bool) -> None:
    assert ElicitUrlParams(message="m", url=url).secure is secure


@pytest.mark.parametrize(
    "url",
    [
        "",
        "https://",
        "https:///path",
        "//example.com",
        "example.com",
        "ftp://example.com",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "data:text/html,x",
        "https://bank.example@evil.example/",
        "https://bank.example\\@evil.example/",
        "https://bank.example/\\evil",
        "https://exa mple.com",
        "https://example.com/\nhttps://evil.example",
        "https://example.com/\x1b[2J",
        "https://example.com/\u202egpj.exe",
        "https://bаnk.example/",
        "https://example.com:99999999/",
        " https://example.com",
    ],
)
def test_an_address_that_could_deceive_has_no_host(url: str) -> None:
    assert ElicitUrlParams(message="m", url=url).host is None
