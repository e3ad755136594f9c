"""The codec: any JSON there and back, and one error for everything else."""

from __future__ import annotations

import contextlib
import datetime
import json
import math
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_actors.protocol.codec import DecodeFailed, convert, decode, decode_as, encode

# Every code point, lone surrogates too, and integers far beyond 64 bits.
any_text = st.text(st.characters(exclude_categories=()))
any_number = (
    st.integers() | st.integers(-(10**400), 10**400) | st.floats(allow_nan=False, allow_infinity=False)
)
any_json = st.recursive(
    st.none() | st.booleans() | any_number | any_text,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(any_text, inner, max_size=5),
    max_leaves=20,
)


class Point(msgspec.Struct):
    x: int
    label: Any = None


class Named(msgspec.Struct):
    name: str

    def to_wire(self) -> dict[str, str]:
        return {"called": self.name}


@dataclass(frozen=True, slots=True)
class Pair:
    left: Any
    right: Any = None


class Even:
    """A type that msgspec does not know."""

    def __init__(self, number: int) -> None:
        self.number = number

    @classmethod
    def from_wire(cls, value: Any) -> Even:
        if value % 2:
            raise ValueError("odd")
        return cls(value)


class Evens(msgspec.Struct):
    numbers: list[Even]


@given(any_json)
def test_any_json_value_comes_back_equal_and_of_the_same_type(value: Any) -> None:
    back = decode(encode(value))
    assert back == value
    assert repr(back) == repr(value)


@given(any_json)
def test_what_we_write_is_one_line_of_json_for_everybody(value: Any) -> None:
    out = encode(value)
    assert b"\n" not in out
    assert json.loads(out) == value


@given(
    st.binary() | any_json.map(encode).flatmap(lambda text: st.sampled_from([text[:-1], text[1:], text * 2]))
)
def test_bytes_of_any_kind_are_decoded_or_refused_with_the_one_error(data: bytes) -> None:
    for read in (decode, lambda raw: decode_as(raw, Point)):
        with contextlib.suppress(DecodeFailed):
            read(data)


@given(any_json.filter(lambda value: value is not None))
def test_a_value_that_hides_a_nan_beside_anything_is_refused(value: Any) -> None:
    for hidden in (math.nan, math.inf, -math.inf):
        with pytest.raises(ValueError, match="NaN and infinity"):
            encode({"beside": [value, (hidden,)], "null": None})


def test_a_null_in_a_frame_is_no_nan() -> None:
    assert encode({"a": None, "b": [1.5, True, "null"]}) == b'{"a":null,"b":[1.5,true,"null"]}'


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Point(1), {"x": 1, "label": None}),
        (Point(2**70), {"x": 2**70, "label": None}),
        (Named("a"), {"called": "a"}),
        (Pair(1), {"left": 1, "right": None}),
        (Pair(2**70, [Named("b")]), {"left": 2**70, "right": [{"called": "b"}]}),
        ([msgspec.Raw(b'{"a":1}'), 2**70], [{"a": 1}, 2**70]),
        (msgspec.Raw(b'{"a":1}'), {"a": 1}),
        ([datetime.date(2026, 7, 28), "\ud800"], ["2026-07-28", "\ud800"]),
        ((1, (2,)), [1, [2]]),
    ],
)
def test_structs_dataclasses_and_raw_json_are_written(value: Any, expected: Any) -> None:
    assert decode(encode(value)) == expected


@pytest.mark.parametrize("value", [Point(1, math.nan), Pair(math.inf), [2**70, math.nan], {"a": [math.nan]}])
def test_non_finite_numbers_are_refused_wherever_they_are(value: Any) -> None:
    with pytest.raises(ValueError, match="NaN and infinity have no JSON form"):
        encode(value)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"a": object()}, "object"),
        ([{1, 2}], "set"),
        (b"bytes", "bytes"),
        (Pair, "type"),
        ({"a": {1: 2}}, "keys are strings, not int: 1"),
        ({None: 1, "big": 2**70}, "keys are strings, not NoneType"),
    ],
)
def test_what_has_no_json_form_is_a_type_error_that_names_it(value: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        encode(value)


def test_a_value_that_holds_itself_or_is_too_deep_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    deep: Any = None
    for _ in range(100_000):
        deep = [deep]
    for value in (loop, deep):
        with pytest.raises(ValueError, match="nested too deep, or holds itself"):
            encode(value)
    while deep:  # by hand: freeing it at once would itself recurse too deep
        deep = deep[0]


def test_legal_oddities_reach_their_reader() -> None:
    assert decode(b'"\\ud800"') == "\ud800"
    assert decode(b"1" * 400) == int("1" * 400)
    assert math.isnan(decode(b"NaN"))
    assert decode(b"1e999") == math.inf
    assert decode(memoryview(b"[1]")) == decode(msgspec.Raw(b"[1]")) == [1]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "Expecting value at character 0"),
        (b'{"a":1', "at character"),
        (b"1 2", "Extra data"),
        (b'"\xff"', "not UTF-8: invalid start byte at byte 1"),
        (b'"\xed\xa0\x80"', "not UTF-8"),
        (b"[" * 200_000, "nested too deep"),
        (b"1" * 10_000, "too many digits"),
    ],
)
def test_what_is_no_json_is_refused_with_a_short_reason(data: bytes, words: str) -> None:
    with pytest.raises(DecodeFailed, match=words) as caught:
        decode(data)
    assert len(str(caught.value)) < 100


def test_a_typed_value_is_read_from_text_and_from_oddities() -> None:
    assert decode_as(b'{"x":1,"unknown":2}', Point) == Point(1)
    assert decode_as(b'{"x":1,"label":"\\ud800"}', Point) == Point(1, "\ud800")
    assert [even.number for even in decode_as(b'{"numbers":[2,4]}', Evens).numbers] == [2, 4]


@pytest.mark.parametrize(
    ("data", "type_", "words"),
    [
        (b'{"x":"1"}', Point, r"Expected `int`, got `str` - at `\$.x`"),
        (b"{}", Point, "missing required field `x`"),
        (b'{"x":"\\ud800"}', Point, "lone surrogate"),
        (b'{"x":1.5,"label":"\\ud800"}', Point, r"Expected `int`, got `float` - at `\$.x`"),
        (b"{", Point, "not valid JSON"),
        (b'{"x":1,"label":' + b"[" * 200_000, Point, "nested too deep"),
        (b'{"numbers":[2,3]}', Evens, r"odd - at `\$.numbers\[...\]`|odd - at `\$.numbers\[1\]`"),
    ],
)
def test_json_that_does_not_fit_is_refused_with_its_place(data: bytes, type_: type[Any], words: str) -> None:
    with pytest.raises(DecodeFailed, match=words):
        decode_as(data, type_)


def test_a_decoded_value_is_converted_or_refused_with_its_place() -> None:
    assert convert({"x": 3}, Point) == Point(3)
    with pytest.raises(DecodeFailed, match=r"at `\$.x`"):
        convert({"x": None}, Point)
