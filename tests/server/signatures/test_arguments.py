"""JSON to arguments: what fits, and what is said of what does not."""

from __future__ import annotations

import datetime
import enum
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, TypedDict
from uuid import UUID

import msgspec
import pytest
from msgspec import Meta

from mcp_actors.server.signatures import InvalidArguments, Signature, signature_of


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1


@dataclass
class Person:
    name: str
    age: int = 0
    friends: list[Person] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.age < 0:
            raise ValueError("nobody is younger than zero")


class Place(NamedTuple):
    x: float
    y: float = 0.0


class Options(TypedDict, total=False):
    verbose: bool


class Closed(msgspec.Struct, forbid_unknown_fields=True):
    n: int


class Circle(msgspec.Struct, tag="circle"):
    radius: float


class Square(msgspec.Struct, tag="square"):
    side: float


def taking(annotation: Any) -> Signature:
    def function(value: Any) -> None:
        raise NotImplementedError

    function.__annotations__ = {"value": annotation}
    return signature_of(function)


def converted(annotation: Any, value: Any) -> Any:
    return taking(annotation).arguments({"value": value})["value"]


def complaint(annotation: Any, value: Any) -> str:
    return refusal(taking(annotation), {"value": value})


def refusal(signature: Signature, given: dict[str, Any]) -> str:
    with pytest.raises(InvalidArguments) as caught:
        signature.arguments(given)
    assert isinstance(caught.value, ValueError)
    return str(caught.value)


@pytest.mark.parametrize(
    ("annotation", "given", "value"),
    [
        (int, 3, 3),
        (int, 3.0, 3),
        (int, 2**80, 2**80),
        (float, 3, 3.0),
        (Any, 3.0, 3.0),
        (int | str, "3", "3"),
        (list[int], [1.0, 2], [1, 2]),
        (dict[str, int | None], {"a": 1.0, "b": None}, {"a": 1, "b": None}),
        (tuple[int, str], [1.0, "a"], (1, "a")),
        (set[int], [1, 1, 2], {1, 2}),
        (dict[int, str], {"1": "a"}, {1: "a"}),
        (Literal[1, "a"], 1.0, 1),
        (Colour, "red", Colour.RED),
        (Level, 1.0, Level.LOW),
        (Person, {"name": "ada", "friends": [{"name": "bob"}]}, Person("ada", 0, [Person("bob")])),
        (Place, [1], Place(1.0)),
        (Options, {"verbose": True}, {"verbose": True}),
        (Circle | Square, {"type": "square", "side": 2}, Square(2.0)),
        (datetime.datetime, "2026-01-31T09:30:00", datetime.datetime(2026, 1, 31, 9, 30)),
        (datetime.timedelta, "PT1H", datetime.timedelta(hours=1)),
        (UUID, "12345678123456781234567812345678", UUID("12345678123456781234567812345678")),
        (Decimal, "1.50", Decimal("1.50")),
        (Decimal, 2, Decimal(2)),
        (bytes, "YQ==", b"a"),
        (None, None, None),
    ],
)
def test_json_becomes_what_the_annotation_says(annotation: Any, given: Any, value: Any) -> None:
    made = converted(annotation, given)
    assert made == value
    assert type(made) is type(value)


def test_defaults_are_left_to_the_function() -> None:
    def function(a: int, b: list[int] = [], *, c: str = "x") -> None:  # noqa: B006
        raise NotImplementedError

    signature = signature_of(function)
    assert signature.arguments({"a": 1}) == {"a": 1}
    assert signature.arguments({"c": "y", "a": 1.0}) == {"c": "y", "a": 1}


def test_what_was_given_is_not_changed() -> None:
    given = {"value": [1.0, {"x": 2.0}]}
    with pytest.raises(InvalidArguments):
        taking(list[int]).arguments(given)
    assert given == {"value": [1.0, {"x": 2.0}]}


@pytest.mark.parametrize(
    ("annotation", "given", "words"),
    [
        (int, "3", '`$.value`: expected an integer, got a string ("3")'),
        (int, True, "`$.value`: expected an integer, got true"),
        (int, 3.5, "`$.value`: expected an integer, got a number (3.5)"),
        (int, None, "`$.value`: expected an integer, got null"),
        (int, [1], "`$.value`: expected an integer, got an array"),
        (str, {"a": 1}, "`$.value`: expected a string, got an object"),
        (str, 5, "`$.value`: expected a string, got an integer (5)"),
        (bool, 1, "`$.value`: expected true or false, got an integer (1)"),
        (int | str | None, 0.5, "`$.value`: expected an integer, a string or null, got a number (0.5)"),
        (float, 10**400, "`$.value`: expected a smaller number, got 1000"),
        (list[int], [1, "x"], '`$.value[1]`: expected an integer, got a string ("x")'),
        (list[int], [3.0, "x"], '`$.value[1]`: expected an integer, got a string ("x")'),
        (dict[str, int], {"a": 1, "b": "x"}, '`$.value.b`: expected an integer, got a string ("x")'),
        (dict[int, int], {"x": 1}, "`$.value`: one of its keys: expected an integer, got a string"),
        (dict[str, datetime.date], {"a": "x"}, '`$.value[…]`: expected a date such as "2026-01-31"'),
        (tuple[int, int], [1], "`$.value`: expected an array of length 2, got one of length 1"),
        (Place, [], "`$.value`: expected an array of length 1 to 2, got one of length 0"),
        (set[Any], [[1]], "`$.value`: a set holds no arrays and no objects"),
        (Literal["a", "b"], "c", '`$.value`: expected "a" or "b", got "c"'),
        (Colour, "green", '`$.value`: expected "blue" or "red", got "green"'),
        (list[Level], [2], "`$.value[0]`: expected 1, got 2"),
        (tuple[int, Colour], [1, "x"], '`$.value[1]`: expected "blue" or "red", got "x"'),
        (dict[Literal["a"], int], {"b": 1}, "`$.value`: one of its keys: expected another value"),
        (Annotated[int, Meta(ge=1)], 0, "`$.value`: expected an integer >= 1, got 0"),
        (Annotated[str, Meta(max_length=2)], "abc", '`$.value`: expected a string of length <= 2, got "abc"'),
        (
            Annotated[str, Meta(pattern="^a")],
            "b",
            "`$.value`: expected a string matching regex '^a', got \"b\"",
        ),
        (
            Annotated[list[int], Meta(min_length=1)],
            [],
            "`$.value`: expected an array of length >= 1, got one of length 0",
        ),
        (
            Annotated[int, Meta(multiple_of=5)],
            3,
            "`$.value`: expected an integer that's a multiple of 5, got 3",
        ),
        (Person, {}, "`$.value`: `name` is missing"),
        (Person, {"name": "a", "age": -1}, "`$.value`: nobody is younger than zero"),
        (Person, {"name": "a", "friends": [{"name": 1}]}, "`$.value.friends[0].name`: expected a string"),
        (Closed, {"n": 1, "m": 2}, "`$.value`: `m` is unknown; known are `n`"),
        (Circle | Square, {"type": "line"}, '`$.value.type`: expected "circle" or "square", got "line"'),
        (Circle | Square, {}, "`$.value`: `type` is missing"),
        (datetime.datetime, "soon", '`$.value`: expected a date and time such as "2026-01-31T09:30:00Z"'),
        (datetime.datetime, 5, "`$.value`: expected a date and time as a string, got an integer (5)"),
        (Annotated[datetime.time, Meta(tz=True)], "09:30:00", "with a timezone component"),
        (UUID, "x", '`$.value`: expected a UUID, got "x"'),
        (bytes, "!", '`$.value`: expected a string in base64, got "!"'),
        (Decimal, "x", "`$.value`: expected a decimal number such as"),
        (str, float("nan"), "`$.value`: expected a string, got a number (nan)"),
        (Literal["a"], "\ud800", "`$.value`: it holds text that is not Unicode"),
    ],
)
def test_a_complaint_says_where_what_was_expected_and_what_came(
    annotation: Any, given: Any, words: str
) -> None:
    assert words in complaint(annotation, given)


def test_long_values_are_cut_and_secrets_are_not_repeated() -> None:
    assert len(complaint(int, "x" * 10_000)) < 200

    def login(password: int, settings: dict[str, dict[str, int]]) -> None:
        raise NotImplementedError

    said = refusal(signature_of(login), {"password": "hunter2", "settings": {"a": {"api_key": "hunter3"}}})
    assert said == (
        "`$.password`: expected an integer, got a string; "
        "`$.settings.a.api_key`: expected an integer, got a string"
    )


def test_many_choices_are_cut() -> None:
    many = enum.Enum("many", {f"N{n}": f"v{n:03}" for n in range(50)})  # type: ignore[misc]
    assert complaint(many, "x").startswith('`$.value`: expected "v000", "v001"')
    assert complaint(many, "x").endswith('"v019" or 30 more, got "x"')


def test_a_value_nested_too_deep_is_refused() -> None:
    tree: dict[str, Any] = {"name": "a"}
    for _ in range(100_000):
        tree = {"name": "a", "friends": [tree]}
    assert complaint(Person, tree) == "`$.value`: it is nested too deep"


# -- names ------------------------------------------------------------------------------------------------


def add(first: int, second: int, third: int = 0) -> int:
    raise NotImplementedError


@pytest.mark.parametrize(
    ("function", "given", "words"),
    [
        (add, {}, "missing arguments `first`, `second`"),
        (add, {"first": 1}, "missing argument `second`"),
        (
            add,
            {"first": 1, "second": 2, "fourth": 3},
            "unknown argument `fourth` (known are `first`, `second`, `third`)",
        ),
        (
            add,
            {"first": "1", "a": 0, "b": 0},
            "unknown arguments `a`, `b` (known are `first`, `second`, `third`); missing argument `second`; "
            '`$.first`: expected an integer, got a string ("1")',
        ),
        (lambda: None, {"a": 1}, "unknown argument `a` (it takes none)"),
        (lambda a=1: a, {"\ud800": 1}, r"unknown argument `\ud800` (known are `a`)"),
    ],
)
def test_all_that_is_missing_and_unknown_is_named_at_once(
    function: Callable[..., Any], given: dict[str, Any], words: str
) -> None:
    assert refusal(signature_of(function), given) == words


def test_a_flood_of_unknown_names_is_cut() -> None:
    said = refusal(signature_of(lambda: None), {f"n{n}": n for n in range(1000)})
    assert "`n19`, 980 more (it takes none)" in said


def test_a_flood_of_complaints_is_cut() -> None:
    def function(**rest: int) -> None:
        raise NotImplementedError

    said = refusal(signature_of(function), {f"n{n}": "x" for n in range(1000)})
    assert said.count("expected") == 10


def test_further_keywords_have_their_type_too() -> None:
    def function(a: int, **rest: float) -> None:
        raise NotImplementedError

    signature = signature_of(function)
    assert signature.arguments({"a": 1.0, "b": 2}) == {"a": 1, "b": 2.0}
    assert refusal(signature, {"a": 1, "b": "x"}) == '`$.b`: expected a number, got a string ("x")'
    assert refusal(signature, {"b": 1}) == "missing argument `a`"


def test_a_place_stays_vague_where_looking_closer_would_take_too_long() -> None:
    deep: Any = int
    for _ in range(70):
        deep = dict[str, deep]
    value: Any = "x"
    for _ in range(70):
        value = {"a": value}
    assert complaint(deep, value).startswith("`$.value[…][…]")
