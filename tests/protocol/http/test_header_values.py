"""Header values: plain where HTTP allows it, and every string comes back as it was."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_actors.protocol.http.header_values import (
    MAX_INTEGER,
    InvalidHeaderValue,
    NoHeaderForm,
    decode,
    encode,
)

pytestmark = pytest.mark.requirement("transport:http")

# Strings around the border between plain and wrapped.
strings = (
    st.text(st.characters(exclude_categories=["Cs"]))
    | st.lists(st.sampled_from(["=?base64?", "?=", "=", "?", "a", "QQ=="])).map("".join)
    | st.text(" \ta\r\n\0\x7fü", max_size=4)
    | st.text(" a", max_size=3)
)


@given(strings)
def test_every_string_comes_back_as_it_was(value: str) -> None:
    assert decode(encode(value)) == value


@given(strings)
def test_no_header_holds_more_than_printable_ascii_or_space_that_would_be_stripped(value: str) -> None:
    header = encode(value)
    assert re.fullmatch(r"[\x20-\x7e]*", header)
    assert header.strip() == header


@given(strings)
def test_what_is_plain_already_stays_as_it_is(value: str) -> None:
    wrapped = value.startswith("=?base64?") and value.endswith("?=")
    plain = re.fullmatch(r"([!-~]([ -~]*[!-~])?)?", value) is not None and not wrapped
    assert (encode(value) == value) == plain


@pytest.mark.parametrize(
    ("value", "header"),
    [
        ("us west 1", "us west 1"),
        ("", ""),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("behind ", "=?base64?YmVoaW5kIA==?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ("=?BASE64?literal?=", "=?BASE64?literal?="),
        ("=?base64?no end", "=?base64?no end"),
        ("=?base64?=", "=?base64?PT9iYXNlNjQ/PQ==?="),
        ("tab\there", "=?base64?dGFiCWhlcmU=?="),
        ("line\r\nbreak", "=?base64?bGluZQ0KYnJlYWs=?="),
        ("Zürich", "=?base64?WsO8cmljaA==?="),
        (42, "42"),
        (-MAX_INTEGER, "-9007199254740991"),
        (True, "true"),
        (False, "false"),
        (0, "0"),
    ],
)
def test_a_value_is_written_by_the_rules(value: str | int | bool, header: str) -> None:
    assert encode(value) == header


@pytest.mark.parametrize("value", [MAX_INTEGER + 1, -MAX_INTEGER - 1, "\ud800"])
def test_a_value_without_header_form_is_refused(value: str | int) -> None:
    with pytest.raises(NoHeaderForm):
        encode(value)


@pytest.mark.parametrize(
    ("header", "value"),
    [
        (" \tplain \t", "plain"),
        ("in\tside", "in\tside"),
        ("=?base64??=", ""),
        ("=?base64?=", "=?base64?="),
        ("x=?base64?QQ==?=", "x=?base64?QQ==?="),
        (" =?base64?QQ==?= ", "A"),
    ],
)
def test_a_header_is_read_by_the_rules(header: str, value: str) -> None:
    assert decode(header) == value


@pytest.mark.parametrize(
    "header",
    [
        "=?base64?QQ=?=",
        "=?base64?Q Q==?=",
        "=?base64?Q-_Q?=",
        "=?base64?/w==?=",
        "Zürich",
        "a\0b",
        "a\r\nb",
        "\x7f",
    ],
)
def test_a_header_that_stands_for_nothing_is_refused(header: str) -> None:
    with pytest.raises(InvalidHeaderValue):
        decode(header)
