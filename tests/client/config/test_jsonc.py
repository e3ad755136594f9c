"""Comments and trailing commas: whatever JSON means with them, it means without them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_actors.client.config import jsonc

# Texts that look like what is stripped, so that they often stand where they must survive.
SPECIAL = st.sampled_from(["//", "/*", "*/", ",]", ",}", '"', "\\", "\\\\", '\\"', "\n", "http://x/*y*/,]"])
TEXTS = st.lists(SPECIAL | st.text(max_size=3), max_size=4).map("".join)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
LINE_COMMENTS = TEXTS.map(lambda text: "//" + text.replace("\n", "").replace("\r", "") + "\n")
# "* /" and not "": taking "*/" out of "**//" would leave one.
BLOCK_COMMENTS = TEXTS.map(lambda text: "/*" + text.replace("*/", "* /").rstrip("*") + "*/")
BETWEEN = st.lists(st.sampled_from([" ", "\t", "\n", "\r\n"]) | LINE_COMMENTS | BLOCK_COMMENTS, max_size=2)


@st.composite
def decorated(draw: st.DrawFn) -> tuple[Any, str]:
    """A value, and a text of it with comments between the tokens and commas before closing brackets."""
    value = draw(DOCUMENTS)
    return value, _between(draw) + _written(draw, value) + _between(draw)


def _between(draw: st.DrawFn) -> str:
    return "".join(draw(BETWEEN))


def _written(draw: st.DrawFn, value: Any) -> str:
    if isinstance(value, list):
        return _bracketed(draw, "[]", [_written(draw, item) for item in value])
    if isinstance(value, dict):
        colons = {name: _between(draw) + ":" + _between(draw) for name in value}
        members = [json.dumps(name) + colons[name] + _written(draw, item) for name, item in value.items()]
        return _bracketed(draw, "{}", members)
    return json.dumps(value, ensure_ascii=draw(st.booleans()))


def _bracketed(draw: st.DrawFn, brackets: str, items: list[str]) -> str:
    parts = [_between(draw) + item + _between(draw) for item in items]
    trailing = "," if draw(st.booleans()) and items else ""
    return brackets[0] + ",".join(parts) + trailing + _between(draw) + brackets[1]


@given(decorated())
def test_comments_and_trailing_commas_between_tokens_change_nothing(case: tuple[Any, str]) -> None:
    value, text = case
    assert jsonc.loads(text) == value
    assert json.loads(jsonc.strict(text)) == value


@given(decorated())
def test_what_is_stripped_becomes_blanks_so_that_every_line_and_column_stays(case: tuple[Any, str]) -> None:
    _, text = case
    stripped = jsonc.strict(text)
    assert len(stripped) == len(text)
    changed = {index for index, pair in enumerate(zip(text, stripped, strict=True)) if pair[0] != pair[1]}
    assert {stripped[index] for index in changed} <= {" "}
    assert [i for i, sign in enumerate(text) if sign in "\r\n"] == [
        i for i, sign in enumerate(stripped) if sign in "\r\n"
    ]


@given(DOCUMENTS, st.sampled_from([None, 2]))
def test_plain_json_is_left_alone(value: Any, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    assert jsonc.strict(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[,]",
        "{,}",
        "[1,,]",
        '{"a":,}',
        "[1 2]",
        "/* never closed",
        "[1] /* never closed",
        '"never closed // not a comment',
        "/",
        "[1]/",
        "[1],",
        "// nothing else",
        '{"a" /* b */ 1}',
        '["a\\"]',
        "[1/**/2]",
        '["a\nb",]',
    ],
)
def test_what_is_no_json_even_so_is_refused(text: str) -> None:
    with pytest.raises(json.JSONDecodeError):
        jsonc.loads(text)


def test_the_error_counts_lines_and_columns_of_the_original_text() -> None:
    last_line = ' three */ "a": [1,], oops'
    with pytest.raises(json.JSONDecodeError) as caught:
        jsonc.loads("{ // one\n  /* two\n" + last_line)
    assert (caught.value.lineno, caught.value.colno) == (3, last_line.index("oops") + 1)


def test_a_comment_does_not_join_what_stands_around_it() -> None:
    assert jsonc.loads("[1,/**/2]") == [1, 2]
    assert jsonc.loads('{"url": "http://a/*b*/", /* "c": 1, */ }') == {"url": "http://a/*b*/"}
