"""What a function returns: schema and JSON."""

from __future__ import annotations

import datetime
import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple, NoReturn, TypedDict

import msgspec
import pytest
from msgspec import Meta

from mcp_actors.protocol import types
from mcp_actors.schemas import Schemas
from mcp_actors.server.signatures import Signature, SignatureError, UnusableResult, signature_of


class Image:
    """Stands for a helper class of the server."""


class Colour(enum.Enum):
    RED = "red"


@dataclass
class Tree:
    name: str
    children: list[Tree] = field(default_factory=list)


@dataclass
class Leaf:
    """A leaf."""

    colour: Colour


class Wrong(msgspec.Struct):
    n: int


class Options(TypedDict):
    verbose: bool


class Place(NamedTuple):
    x: int


class Odd:
    """Nothing that JSON knows."""


def returning(annotation: Any, **options: Any) -> Signature:
    def function() -> Any:
        raise NotImplementedError

    function.__annotations__ = {"return": annotation}
    return signature_of(function, content_types=(Image,), **options)


def refusal(annotation: Any, value: Any) -> str:
    with pytest.raises(UnusableResult) as caught:
        returning(annotation, structured_output=True).structured(value)
    return str(caught.value)


def test_an_object_is_described_in_place() -> None:
    signature = returning(Leaf)
    assert not signature.wrapped_output
    assert signature.output_schema == {
        "title": "Leaf",
        "description": "A leaf.",
        "type": "object",
        "properties": {"colour": {"$ref": "#/$defs/Colour"}},
        "required": ["colour"],
        "$defs": {"Colour": {"title": "Colour", "enum": ["red"]}},
    }
    assert signature.structured(Leaf(Colour.RED)) == {"colour": "red"}


def test_a_recursive_object_keeps_its_definition() -> None:
    schema = returning(Tree).output_schema
    assert schema is not None
    assert schema["type"] == "object"
    assert "Tree" in schema["$defs"]
    assert Schemas().check(schema, returning(Tree).structured(Tree("a", [Tree("b")]))) is None
    assert Schemas().check(schema, {"name": "a", "children": [{}]}) is not None


@pytest.mark.parametrize(
    ("annotation", "value", "written"),
    [
        (Wrong, Wrong(1), {"n": 1}),
        (Wrong, {"n": 1}, {"n": 1}),
        (Options, {"verbose": True}, {"verbose": True}),
        (dict[str, int], {"a": 1}, {"a": 1}),
        (dict[int, datetime.date], {1: datetime.date(2026, 1, 31)}, {"1": "2026-01-31"}),
        (Mapping[str, Any], {"a": [Leaf(Colour.RED)]}, {"a": [{"colour": "red"}]}),
        (dict, {"a": None}, {"a": None}),
        (Annotated[Wrong, Meta(description="this one")], Wrong(2), {"n": 2}),
    ],
)
def test_objects_are_written_as_they_are(annotation: Any, value: Any, written: Any) -> None:
    signature = returning(annotation)
    assert signature.output_schema is not None
    assert signature.output_schema["type"] == "object"
    assert not signature.wrapped_output
    assert signature.structured(value) == written


@pytest.mark.parametrize(
    ("annotation", "value", "written"),
    [
        (int, 1, 1),
        (bool, True, True),
        (list[Leaf], [Leaf(Colour.RED)], [{"colour": "red"}]),
        (Leaf | None, None, None),
        (Wrong | None, Wrong(1), {"n": 1}),
        (int | str, "a", "a"),
        (Place, Place(1), (1,)),
        (set[int], {1}, [1]),
        (datetime.datetime, datetime.datetime(2026, 1, 31), "2026-01-31T00:00:00"),
        (Colour, Colour.RED, "red"),
        (bytes, b"a", "YQ=="),
    ],
)
def test_everything_else_is_wrapped(annotation: Any, value: Any, written: Any) -> None:
    signature = returning(annotation)
    schema = signature.output_schema
    assert signature.wrapped_output
    assert schema is not None
    assert schema["type"] == "object"
    assert schema["required"] == ["result"]
    assert signature.structured(value) == {"result": written}
    assert Schemas().check(schema, signature.structured(value)) is None


def test_a_moment_in_a_result_promises_no_time_zone() -> None:
    schema = returning(datetime.datetime).output_schema
    assert schema == {"type": "object", "properties": {"result": {"type": "string"}}, "required": ["result"]}


@pytest.mark.parametrize(
    "annotation",
    [
        None,
        str,
        Any,
        object,
        NoReturn,
        Annotated[str, "a text"],
        Odd,
        Iterator[int],
        list[Leaf] | set[Leaf],
        types.TextContent,
        list[types.ContentBlock],
        types.CallToolResult,
        Image,
        list[str | Image],
        Image | None,
    ],
)
def test_texts_content_and_what_json_does_not_know_have_no_schema(annotation: Any) -> None:
    signature = returning(annotation)
    assert signature.output_schema is None
    assert not signature.wrapped_output


def test_without_an_annotation_there_is_no_schema_but_a_json_form() -> None:
    signature = signature_of(lambda: None)
    assert signature.output_schema is None
    assert signature.structured({"a": Leaf(Colour.RED)}) == {"a": {"colour": "red"}}


def test_a_schema_can_be_declined() -> None:
    signature = returning(Leaf, structured_output=False)
    assert signature.output_schema is None
    assert signature.structured(Leaf(Colour.RED)) == {"colour": "red"}


@pytest.mark.parametrize("annotation", [str, None, Any])
def test_a_schema_can_be_demanded_of_texts(annotation: Any) -> None:
    signature = returning(annotation, structured_output=True)
    assert signature.wrapped_output
    assert signature.output_schema is not None


@pytest.mark.parametrize(
    ("annotation", "reason"),
    [
        (Odd, "has no JSON form"),
        (types.TextContent, "content blocks are no data"),
        (list[Image], "content blocks are no data"),
        (list[Leaf] | set[Leaf], "array-like"),
    ],
)
def test_a_schema_demanded_in_vain_is_an_error(annotation: Any, reason: str) -> None:
    with pytest.raises(SignatureError, match=f"^`function`: no schema for what it returns: .*{reason}"):
        returning(annotation, structured_output=True)


def test_a_schema_demanded_without_annotation_is_an_error() -> None:
    with pytest.raises(SignatureError, match="there is no annotation to take it from"):
        signature_of(lambda: 1, structured_output=True)


@pytest.mark.parametrize(
    ("annotation", "value", "words"),
    [
        (int, "x", '`$`: expected an integer, got a string ("x")'),
        (Wrong, Wrong("x"), '`$.n`: expected an integer, got a string ("x")'),  # type: ignore[arg-type]
        (Wrong, None, "`$`: expected an object, got null"),
        (list[int], (1, "x"), '`$[1]`: expected an integer, got a string ("x")'),
        (float, float("nan"), "it has no JSON form: NaN and infinity have no JSON form"),
        (Any, [float("inf")], "it has no JSON form"),
        (Any, Odd(), "it has no JSON form: a value of type Odd in it has none"),
        (Any, {None: 1}, "it has no JSON form"),
        (int, (1,), "`$`: expected an integer, got an array"),
    ],
)
def test_what_was_not_promised_is_unusable(annotation: Any, value: Any, words: str) -> None:
    assert words in refusal(annotation, value)


def test_a_value_that_holds_itself_is_unusable() -> None:
    ring: list[Any] = []
    ring.append(ring)
    assert "it has no JSON form" in refusal(Any, ring)


@pytest.mark.parametrize("annotation", [list, list[Any]])
def test_a_list_of_anything_promises_nothing(annotation: Any) -> None:
    def mixed() -> Any: ...

    mixed.__annotations__["return"] = annotation
    assert signature_of(mixed).output_schema is None
    assert signature_of(mixed, structured_output=True).wrapped_output
