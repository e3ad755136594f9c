"""Forms: from types to the flat schemas that a user can fill in."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

import pytest
from msgspec import Meta, Struct

from mcp_actors.protocol.codec import DecodeFailed
from mcp_actors.schemas import UnusableSchema
from mcp_actors.server.forms import filled_in, form_of


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Size(Enum):
    SMALL = 1
    LARGE = 2


@dataclass
class Everything:
    """One field of each kind."""

    text: Annotated[str, Meta(min_length=1, title="Text")]
    whole: int
    ratio: float = 0.5
    sure: bool = False
    color: Color = Color.RED
    letter: Literal["a", "b"] = "a"
    nick: str | None = None
    several: list[Color] = field(default_factory=list)


def test_each_kind_of_field_has_its_schema() -> None:
    schema = form_of(Everything)
    assert schema["required"] == ["text", "whole"]
    fields = schema["properties"]
    assert fields["text"]["minLength"] == 1
    assert fields["text"]["title"] == "Text"
    assert fields["whole"]["type"] == "integer"
    assert fields["ratio"] == {"type": "number", "default": 0.5}
    assert fields["sure"] == {"type": "boolean", "default": False}
    assert fields["color"]["type"] == "string"
    assert fields["color"]["enum"] == ["blue", "red"]
    assert fields["letter"]["type"] == "string"
    assert fields["nick"] == {"type": "string"}
    assert fields["several"]["type"] == "array"
    assert sorted(fields["several"]["items"]["enum"]) == ["blue", "red"]
    assert "$ref" not in str(schema)


def test_a_schema_is_passed_on() -> None:
    given = {"type": "object", "properties": {"x": {"type": "integer"}}}
    assert form_of(given) is given
    assert filled_in(given, {"x": 1}) == {"x": 1}
    with pytest.raises(DecodeFailed, match='/x: "one" is not of type'):
        filled_in(given, {"x": "one"})


def test_a_schema_that_no_content_can_be_checked_against_is_refused() -> None:
    with pytest.raises(UnusableSchema):
        form_of({"type": "object", "properties": {"x": {"$ref": "#/y"}}})


class Nested(Struct):
    inner: Everything


class Listed(Struct):
    names: list[str]


class Either(Struct):
    value: int | str


class Place(NamedTuple):
    x: int


@pytest.mark.parametrize("form", [Nested, Listed, Either])
def test_what_is_not_flat_cannot_be_a_form(form: Any) -> None:
    with pytest.raises(TypeError, match=f"{form.__name__} cannot be a form: .* is no text"):
        form_of(form)


@pytest.mark.parametrize("form", [int, list[int], Place])
def test_what_has_no_fields_cannot_be_a_form(form: Any) -> None:
    with pytest.raises(TypeError, match="it has no named fields"):
        form_of(form)


def test_what_has_no_schema_cannot_be_a_form() -> None:
    with pytest.raises(TypeError, match="object cannot be a form"):
        form_of(object)


class Address(TypedDict):
    city: str


def test_answers_become_values_of_the_type() -> None:
    assert filled_in(Everything, {"text": "x", "whole": 1, "color": "blue"}) == Everything(
        "x", 1, color=Color.BLUE
    )
    assert filled_in(Address, {"city": "Wien"}) == {"city": "Wien"}
    with pytest.raises(DecodeFailed):
        filled_in(Everything, {"text": "", "whole": 1})


class Sized(Struct):
    size: Size


def test_choices_are_texts() -> None:
    with pytest.raises(TypeError, match="Sized cannot be a form: size is no text"):
        form_of(Sized)
