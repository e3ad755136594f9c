"""The schema that a function's parameters come to."""

from __future__ import annotations

import datetime
import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any, Generic, Literal, NewType, TypedDict, TypeVar
from uuid import UUID

import annotated_types
import msgspec
import pytest
from msgspec import Meta

from mcp_actors.protocol import codec
from mcp_actors.schemas import Schemas
from mcp_actors.server.signatures import SignatureError, signature_of
from tests.server.signatures import namesakes

T = TypeVar("T")
UserId = NewType("UserId", int)


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Tree:
    """A tree."""

    name: str
    children: list[Tree] = field(default_factory=list)


class Defaults(msgspec.Struct):
    n: int = 1


class Box(msgspec.Struct, Generic[T]):
    held: T


class Options(TypedDict, total=False):
    verbose: bool


class Circle(msgspec.Struct, tag="circle"):
    radius: float


class Square(msgspec.Struct, tag="square"):
    side: float


def schema_of(annotation: Any) -> dict[str, Any]:
    """The schema of one parameter, with the definitions it needs."""

    def function(value: Any) -> None:
        raise NotImplementedError

    function.__annotations__ = {"value": annotation}
    schema = signature_of(function).input_schema
    Schemas().prepare(schema)
    found: dict[str, Any] = schema["properties"]["value"]
    return found | ({"$defs": schema["$defs"]} if "$defs" in schema else {})


def whole(function: Callable[..., Any]) -> dict[str, Any]:
    return signature_of(function).input_schema


def refusal(annotation: Any) -> str:
    with pytest.raises(SignatureError) as caught:
        schema_of(annotation)
    assert str(caught.value).startswith("`function`: parameter `value`: ")
    return str(caught.value)


def test_a_function_without_parameters_takes_an_empty_object() -> None:
    assert whole(lambda: None) == {"type": "object", "properties": {}, "additionalProperties": False}


def test_required_ones_are_those_without_default() -> None:
    def function(a: int, b: str = "x", *, c: bool, d: float | None = None) -> None:
        raise NotImplementedError

    assert whole(function) == {
        "type": "object",
        "properties": {
            "a": {"type": "integer"},
            "b": {"type": "string", "default": "x"},
            "c": {"type": "boolean"},
            "d": {"anyOf": [{"type": "number"}, {"type": "null"}], "default": None},
        },
        "required": ["a", "c"],
        "additionalProperties": False,
    }
    assert list(whole(function)) == ["type", "properties", "required", "additionalProperties"]


def test_further_keywords_are_further_properties() -> None:
    def anything(**rest: Any) -> None:
        raise NotImplementedError

    def typed(**rest: Tree) -> None:
        raise NotImplementedError

    assert whole(lambda **rest: rest)["additionalProperties"] is True
    assert whole(anything)["additionalProperties"] is True
    assert whole(typed)["additionalProperties"] == {"$ref": "#/$defs/Tree"}
    assert "Tree" in whole(typed)["$defs"]


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (object, {}),
        (Any, {}),
        (UserId, {"type": "integer"}),
        (Literal["a", "b"], {"enum": ["a", "b"]}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (Sequence[str], {"type": "array", "items": {"type": "string"}}),
        (list[object], {"type": "array"}),
        (datetime.datetime, {"type": "string", "format": "date-time"}),
        (datetime.date, {"type": "string", "format": "date"}),
        (datetime.time, {"type": "string", "format": "time"}),
        (datetime.timedelta, {"type": "string", "format": "duration"}),
        (UUID, {"type": "string", "format": "uuid"}),
        (Decimal, {"type": "string", "format": "decimal"}),
        (bytes, {"type": "string", "contentEncoding": "base64"}),
        (list[datetime.time], {"type": "array", "items": {"type": "string", "format": "time"}}),
        (Annotated[int, "how many"], {"type": "integer", "description": "how many"}),
        (list[Annotated[int, "one"]], {"type": "array", "items": {"type": "integer", "description": "one"}}),
        (Annotated[int, "a", Meta(ge=1)], {"type": "integer", "description": "a", "minimum": 1}),
        (Annotated[int, annotated_types.Gt(1)], {"type": "integer", "exclusiveMinimum": 1}),
        (
            Annotated[int, annotated_types.Interval(ge=1, lt=9), annotated_types.MultipleOf(2)],
            {"type": "integer", "minimum": 1, "exclusiveMaximum": 9, "multipleOf": 2},
        ),
        (Annotated[str, annotated_types.Len(1, 3)], {"type": "string", "minLength": 1, "maxLength": 3}),
        (Annotated[int, annotated_types.Unit("m"), object()], {"type": "integer"}),
        (
            Annotated[datetime.datetime, annotated_types.Timezone(...)],
            {"type": "string", "format": "date-time"},
        ),
        (
            Annotated[int | None, "deep", annotated_types.Ge(1)],
            {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}], "description": "deep"},
        ),
        (
            Annotated[int | None, Meta(ge=1, title="N"), Meta(le=5)],
            {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 5}, {"type": "null"}], "title": "N"},
        ),
    ],
)
def test_types_and_their_schemas(annotation: Any, schema: dict[str, Any]) -> None:
    assert schema_of(annotation) == schema


def test_further_words_of_a_schema_survive() -> None:
    header = {"x-mcp-header": "Region"}
    assert schema_of(Annotated[str, Meta(extra_json_schema=header)]) == {"type": "string", **header}
    described = schema_of(Annotated[Tree, "root", Meta(extra_json_schema={"x-order": 1})])
    assert described["x-order"] == 1
    assert described["$ref"] == "#/$defs/Tree"
    assert described["description"] == "root"


def test_named_types_are_definitions_and_may_refer_to_themselves() -> None:
    assert schema_of(list[Tree]) == {
        "type": "array",
        "items": {"$ref": "#/$defs/Tree"},
        "$defs": {
            "Tree": {
                "title": "Tree",
                "description": "A tree.",
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}},
                },
                "required": ["name"],
            }
        },
    }


def test_a_type_without_required_fields_does_not_list_them() -> None:
    assert "required" not in schema_of(Defaults)["$defs"]["Defaults"]
    assert "required" not in schema_of(Options)["$defs"]["Options"]


def test_generic_and_tagged_structs_work() -> None:
    assert set(schema_of(list[Box[datetime.time]])["$defs"]) == {"Box_time_"}
    assert set(schema_of(Circle | Square)["$defs"]) == {"Circle", "Square"}


def test_types_of_the_same_name_are_told_apart_by_their_modules() -> None:
    def function(mine: Tree, other: namesakes.Tree) -> None:
        raise NotImplementedError

    assert len(whole(function)["$defs"]) == 2


def test_types_of_the_same_name_in_the_same_place_are_refused() -> None:
    def made() -> type:
        class Twin(msgspec.Struct):
            n: int

        return Twin

    first, second = made(), made()

    def function(a: first, b: second) -> None:  # type: ignore[valid-type]
        raise NotImplementedError

    with pytest.raises(SignatureError, match="two different classes are called .*Twin"):
        signature_of(function, names=locals())
    assert "two different classes" in refusal(tuple[first, second])  # type: ignore[valid-type]


# -- descriptions and defaults ----------------------------------------------------------------------------


def test_the_annotation_describes_and_otherwise_the_docstring() -> None:
    def function(a: Annotated[int, "from here"], b: Tree, c: int) -> None:
        """Do it.

        Args:
            a: not this
            b: from there
        """

    properties = whole(function)["properties"]
    assert properties["a"]["description"] == "from here"
    assert properties["b"] == {"description": "from there", "$ref": "#/$defs/Tree"}
    assert "description" not in properties["c"]
    assert signature_of(function).description == "Do it."


def default(annotation: Any, value: Any) -> dict[str, Any]:
    """The member ``default`` of the schema, if there is one."""

    def function(value: Any = value) -> None:
        raise NotImplementedError

    function.__annotations__ = {"value": annotation}
    schema = whole(function)
    assert "required" not in schema
    found = schema["properties"]["value"]
    return {"default": found["default"]} if "default" in found else {}


@pytest.mark.parametrize(
    ("annotation", "value", "shown"),
    [
        (Colour, Colour.RED, "red"),
        (datetime.date, datetime.date(2026, 1, 31), "2026-01-31"),
        (list[int], [1, 2], [1, 2]),
        (set[int], frozenset({1}), [1]),
        (Tree, Tree("a"), {"name": "a", "children": []}),
        (bytes, b"a", "YQ=="),
        (Any, None, None),
    ],
)
def test_a_default_is_shown_as_json(annotation: Any, value: Any, shown: Any) -> None:
    assert default(annotation, value) == {"default": shown}


@pytest.mark.parametrize(
    ("annotation", "value"),
    [(Any, object()), (int, None), (float, float("nan")), (int, "auto"), (Any, lambda: None)],
)
def test_a_default_that_is_no_json_or_does_not_fit_is_left_out(annotation: Any, value: Any) -> None:
    assert default(annotation, value) == {}


def test_the_default_of_a_secret_is_left_out() -> None:
    def function(api_key: str = "s3cret", user: str = "ada") -> None:
        raise NotImplementedError

    assert b"s3cret" not in codec.encode(whole(function))
    assert whole(function)["properties"]["user"]["default"] == "ada"


# -- refusals ---------------------------------------------------------------------------------------------


class Unresolvable:
    pass


class Dangling(msgspec.Struct):
    other: Missing  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize(
    ("annotation", "reason"),
    [
        (complex, "<class 'complex'> has no JSON form"),
        (Callable[[], int], "has no JSON form"),
        (list[Unresolvable], "Unresolvable'> has no JSON form"),
        (list[int] | set[int], "unions may not contain more than one array-like"),
        (Annotated[str, annotated_types.Ge(1)], "`ge`"),
        (Annotated[int, annotated_types.Predicate(bool)], "cannot be written as a JSON Schema"),
        (Dangling, "one of its fields names `Missing`, which cannot be found"),
    ],
)
def test_what_json_does_not_know_is_refused(annotation: Any, reason: str) -> None:
    assert reason in refusal(annotation)


def test_the_parameter_at_fault_is_named() -> None:
    def function(fine: int, wrong: complex, **rest: int) -> None:
        raise NotImplementedError

    def further(fine: int, **rest: complex) -> None:
        raise NotImplementedError

    with pytest.raises(SignatureError, match=r"^`function`: parameter `wrong`: "):
        signature_of(function)
    with pytest.raises(SignatureError, match=r"^`further`: parameter `\*\*kwargs`: "):
        signature_of(further)
