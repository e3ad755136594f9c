"""Strategies: annotations, the JSON that fits them, the values they stand for, and JSON that may not fit."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import types
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Final, Literal, NamedTuple, NotRequired, TypedDict
from uuid import UUID

import msgspec
from hypothesis import strategies as st
from msgspec import Meta

NAMES: Final = ("a", "b", "c")


class Colour(enum.Enum):
    """Strings."""

    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    """Integers."""

    LOW = 1
    HIGH = 2


@dataclass(frozen=True)
class Case:
    """An annotation, and values of it."""

    annotation: Any
    values: st.SearchStrategy[Any]
    #: How deep it is nested; part of the names of its classes, of which no two must be the same.
    depth: int = 0


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
# Not beyond a float: JSON has one kind of number, and where a float is expected an integer will do.
integers = st.integers(-(2**70), 2**70)
floats = st.floats(allow_nan=False, allow_infinity=False)

leaves: st.SearchStrategy[Case] = st.sampled_from(
    [
        Case(int, integers),
        Case(float, floats),
        Case(bool, st.booleans()),
        Case(str, texts),
        Case(type(None), st.none()),
        Case(Colour, st.sampled_from(Colour)),
        Case(Level, st.sampled_from(Level)),
        Case(Literal["x", "y"], st.sampled_from(["x", "y"])),
        Case(Literal[1, 2, "z", None], st.sampled_from([1, 2, "z", None])),
        Case(Annotated[int, Meta(ge=-3, lt=4)], st.integers(-3, 3)),
        Case(Annotated[float, Meta(gt=0, le=1.5)], st.floats(0, 1.5, exclude_min=True)),
        Case(
            Annotated[str, "described", Meta(min_length=1, max_length=3)],
            st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=3),
        ),
        Case(Annotated[str, Meta(pattern="^[ab]+$")], st.text("ab", min_size=1)),
        Case(int | str, integers | texts),
        Case(int | str | None, integers | texts | st.none()),
        Case(bool | float, st.booleans() | floats),
    ]
)


#: Strings with a format: what schemas take for remarks are rules here.
formatted: st.SearchStrategy[Case] = st.sampled_from(
    [
        Case(datetime.datetime, st.datetimes(timezones=st.none() | st.just(datetime.UTC))),
        Case(datetime.date, st.dates()),
        Case(datetime.time, st.times()),
        Case(datetime.timedelta, st.timedeltas(-datetime.timedelta(99), datetime.timedelta(99))),
        Case(UUID, st.uuids()),
        Case(Decimal, st.decimals(allow_nan=False, allow_infinity=False)),
        Case(bytes, st.binary(max_size=8)),
        Case(set[int], st.sets(integers, max_size=3)),
        Case(dict[int, bool], st.dictionaries(st.integers(-99, 99), st.booleans(), max_size=3)),
    ]
)


def _list(case: Case) -> Case:
    return Case(list[case.annotation], st.lists(case.values, max_size=3))  # type: ignore[name-defined]


def _dict(case: Case) -> Case:
    return Case(dict[str, case.annotation], st.dictionaries(texts, case.values, max_size=3))  # type: ignore[name-defined]


def _pair(case: Case) -> Case:
    return Case(tuple[int, case.annotation], st.tuples(integers, case.values))  # type: ignore[name-defined]


def _optional_list(case: Case) -> Case:
    many = _list(case)
    return Case(many.annotation | None, st.none() | many.values)


def _struct(case: Case) -> Case:
    kind = msgspec.defstruct(f"Record{case.depth}", [("a", case.annotation), ("b", int, 0)], eq=True)
    return Case(kind, st.builds(kind, case.values, integers))


def _closed_struct(case: Case) -> Case:
    kind = msgspec.defstruct(f"Closed{case.depth}", [("a", case.annotation)], forbid_unknown_fields=True)
    return Case(kind, st.builds(kind, case.values))


def _dataclass(case: Case) -> Case:
    kind = dataclasses.make_dataclass(f"Data{case.depth}", [("a", case.annotation), ("b", str, "")])
    return Case(kind, st.builds(kind, case.values, texts))


def _typed_dict(case: Case) -> Case:
    kind: Any = types.new_class(f"Dict{case.depth}", (TypedDict,), {}, _with({"b": NotRequired[bool]}, case))
    return Case(kind, st.fixed_dictionaries({"a": case.values}, optional={"b": st.booleans()}))


def _named_tuple(case: Case) -> Case:
    kind: Any = types.new_class(f"Tuple{case.depth}", (NamedTuple,), {}, _with({"b": int}, case))
    return Case(kind, st.builds(kind, case.values, integers))


def _with(fields: dict[str, Any], case: Case) -> Callable[[dict[str, Any]], None]:
    """The body of a class: a field of that case, then the others."""

    def fill(namespace: dict[str, Any]) -> None:
        namespace["__annotations__"] = {"a": case.annotation, **fields}
        namespace["__module__"] = __name__

    return fill


_WRAPPERS: Final[tuple[Callable[[Case], Case], ...]] = (
    _list,
    _dict,
    _pair,
    _optional_list,
    _struct,
    _closed_struct,
    _dataclass,
    _typed_dict,
    _named_tuple,
)


def _wrapped(inner: st.SearchStrategy[Case]) -> st.SearchStrategy[Case]:
    return st.builds(_deeper, st.sampled_from(_WRAPPERS), inner)


def _deeper(wrap: Callable[[Case], Case], case: Case) -> Case:
    return dataclasses.replace(wrap(case), depth=case.depth + 1)


#: Those whose schema and conversion agree to the last value.
exact_cases = st.recursive(leaves, _wrapped, max_leaves=3)
all_cases = st.recursive(leaves | formatted, _wrapped, max_leaves=3)

_scalars = (
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.sampled_from([1.0, 2.0, 0.5, -0.0, 1e20, 2**64])
    | st.sampled_from(["", "x", "z", "red", "a", "abc", "7"])
)
#: Small, and made of the names and words that the cases use, so that much of it almost fits.
some_json = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
    max_leaves=6,
)
