"""Arguments as people type them become what was meant, or a sentence that says what is wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_actors.cli.arguments import Word, parse_object, parse_words, plain, typed
from mcp_actors.cli.mistake import Mistake

KEYS = st.text(st.characters(exclude_characters="=:"), min_size=1)
TEXTS = st.text().filter(lambda text: not text.startswith("@"))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


def no_files(path: str) -> str:
    raise AssertionError(f"{path} was not to be read")


def in_files(path: str) -> str:
    return f"the text of {path}"


@given(KEYS, TEXTS)
def test_a_value_is_everything_behind_the_first_equals_sign(key: str, value: str) -> None:
    assert parse_words([f"{key}={value}"], no_files) == [Word(key, value, is_json=False)]


@given(KEYS, TEXTS)
def test_a_value_behind_a_colon_is_json(key: str, value: str) -> None:
    assert parse_words([f"{key}:={value}"], no_files) == [Word(key, value, is_json=True)]


@given(KEYS, JSON)
def test_json_values_arrive_as_they_are_whatever_the_schema_says(key: str, value: Any) -> None:
    words = parse_words([f"{key}:={json.dumps(value)}"], no_files)
    assert typed(words, {"properties": {key: {"type": "string"}}}) == {key: value}


@given(st.dictionaries(KEYS, TEXTS))
def test_without_a_schema_and_for_prompts_all_values_are_text(values: dict[str, str]) -> None:
    words = parse_words([f"{key}={value}" for key, value in values.items()], no_files)
    assert typed(words, {}) == values
    assert plain(words) == values


def test_an_at_sign_reads_a_file() -> None:
    words = parse_words(["body=@notes.txt", "data:=@data.json"], in_files)
    assert words == [
        Word("body", "the text of notes.txt", is_json=False),
        Word("data", "the text of data.json", is_json=True),
    ]


def test_values_may_hold_every_separator() -> None:
    words = parse_words(["q=a=b", "r=c:=d", "mail=you@example.org", "empty="], no_files)
    assert plain(words) == {"q": "a=b", "r": "c:=d", "mail": "you@example.org", "empty": ""}


@pytest.mark.parametrize("word", ["word", "=value", ""])
def test_what_is_no_argument_is_refused_with_the_forms_that_are(word: str) -> None:
    with pytest.raises(Mistake, match="write key=value, key:=json or key=@file"):
        parse_words([word], no_files)


def test_a_key_that_comes_twice_is_refused_unless_an_array_is_wanted() -> None:
    words = parse_words(["tag=a", "tag=b"], no_files)
    assert typed(words, {"properties": {"tag": {"type": "array"}}}) == {"tag": ["a", "b"]}
    with pytest.raises(Mistake, match="tag: was given 2 times"):
        typed(words, {"properties": {"tag": {"type": "string"}}})
    with pytest.raises(Mistake, match="tag was given 2 times"):
        plain(words)
    with pytest.raises(Mistake, match="tag was given 2 times"):
        typed(parse_words(["tag=a", "tag:=1"], no_files), {})


def test_prompts_take_no_json() -> None:
    with pytest.raises(Mistake, match="are text; write n=… instead of n:=…"):
        plain(parse_words(["n:=5"], no_files))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{a: 1}", "line 1, column 2; text needs double quotes"),
        ("[", "Expecting value at line 1, column 2$"),
        ("[1, 2]", "must be an object such as .*, not an array"),
        ("5", "not a number"),
        ("true", "not a truth value"),
        ('"x"', "not a string"),
        ("null", "not null"),
        ('{"a": NaN}', "NaN is no number of JSON"),
        ('{"a": 1e999}', "1e999 is too large"),
        ("[" * 100_000, "nested too deep"),
    ],
)
def test_a_json_option_that_is_no_object_says_why(text: str, said: str) -> None:
    with pytest.raises(Mistake, match=said):
        parse_object(text)


@given(st.dictionaries(st.text(), JSON))
def test_a_json_option_is_the_object_it_says(value: dict[str, Any]) -> None:
    assert parse_object(json.dumps(value)) == value
