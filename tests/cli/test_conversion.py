"""Text becomes the JSON that a tool's schema wants, for any schema that a server may send."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_actors.cli.conversion import Unfit, converted, read_json, type_names

SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "integer": st.integers(),
    "number": st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    "boolean": st.booleans(),
    "object": st.dictionaries(st.text(), st.integers()),
    "array": st.lists(st.integers()),
    "string": st.text(),
}
TYPED = st.sampled_from(sorted(SCALARS)).flatmap(lambda name: st.tuples(st.just(name), SCALARS[name]))
WORDS = ["type", "anyOf", "oneOf", "allOf", "$ref", "items", "enum", "const", "$defs", "x"]
NONSENSE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["#", "#/", "#/$defs/x", "string", "array"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(WORDS),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


def one(text: str, wanted: Any, **root: Any) -> Any:
    return converted([text], "key", {"properties": {"key": wanted}, **root})


@given(TYPED)
def test_what_json_writes_is_read_back_as_the_type_that_is_wanted(typed: tuple[str, Any]) -> None:
    name, value = typed
    text = value if isinstance(value, str) else json.dumps(value)
    read = one(text, {"type": name})
    assert read == value
    assert type(read) is type(value)


@given(st.text(), NONSENSE)
def test_no_schema_makes_it_fail_in_an_unforeseen_way(text: str, schema: Any) -> None:
    root = schema if isinstance(schema, dict) else {}
    for texts in ([text], [text, text]):
        complaint = "none"
        try:
            converted(texts, "key", {"properties": {"key": schema}, **root})
        except Unfit as unfit:
            complaint = str(unfit)
        assert complaint
    type_names("key", {"properties": schema, "additionalProperties": schema})


@pytest.mark.parametrize(
    ("text", "wanted", "value"),
    [
        ("5", {"type": "integer"}, 5),
        ("+5", {"type": "integer"}, 5),
        ("-0.5e3", {"type": "number"}, -500.0),
        (".5", {"type": "number"}, 0.5),
        ("5", {"type": "number"}, 5),
        ("TRUE", {"type": "boolean"}, True),
        ("false", {"type": "boolean"}, False),
        ("5", {"type": "string"}, "5"),
        ("5", {}, "5"),
        ("5", True, "5"),
        ("null", {"type": ["integer", "null"]}, None),
        ("", {"type": ["integer", "null"]}, None),
        ("null", {"type": ["string", "null"]}, "null"),
        ("5", {"anyOf": [{"type": "integer"}, {"type": "null"}]}, 5),
        ("5", {"type": ["string", "integer"]}, 5),
        ("five", {"type": ["string", "integer"]}, "five"),
        ("2", {"enum": [1, 2, 3]}, 2),
        ("1.5", {"const": 1.5}, 1.5),
        ("x", {"enum": ["x", None, [], {}]}, "x"),
        ("true", {"enum": [True]}, True),
        ("a", {"type": "array", "items": {"type": "string"}}, ["a"]),
        ("5", {"type": "array", "items": {"type": "integer"}}, [5]),
        ("[5, 6]", {"type": "array", "items": {"type": "integer"}}, [5, 6]),
        ("a", {"type": "array"}, ["a"]),
        ("a", {"type": ["array", "string"]}, "a"),
        ('["a"]', {"type": ["array", "string"]}, ["a"]),
        ('{"a": 1}', {"type": "object"}, {"a": 1}),
        ("5", {"$ref": "#/$defs/size"}, 5),
        ("5", {"allOf": [{"$ref": "#/$defs/size"}]}, 5),
        ("5", {"$ref": "#/$defs/nowhere"}, "5"),
        ("5", {"$ref": "https://example.org/schema"}, "5"),
        ("5", {"$ref": "#/$defs/circle"}, "5"),
    ],
)
def test_values_by_example(text: str, wanted: Any, value: Any) -> None:
    definitions = {"size": {"type": "integer"}, "circle": {"anyOf": [{"$ref": "#/$defs/circle"}] * 3}}
    read = one(text, wanted, **{"$defs": definitions})
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    ("text", "wanted", "said"),
    [
        ("1_000", {"type": "integer"}, "must be an integer, not '1_000'"),
        ("5.0", {"type": "integer"}, "must be an integer"),
        ("9" * 5000, {"type": "integer"}, "must be an integer"),
        ("nan", {"type": "number"}, "must be a number"),
        ("1e999", {"type": "number"}, "must be a number"),
        ("yes", {"type": "boolean"}, "must be true or false, not 'yes'"),
        ("{", {"type": "object"}, "must be a JSON object"),
        ("[1]", {"type": "object"}, "must be a JSON object"),
        ("x", {"type": "array", "items": {"type": "integer"}}, "must be a JSON array, or the key once for"),
        ("nothing", {"type": "null"}, "must be null"),
        ("x", {"type": ["integer", "boolean"]}, "must be an integer or true or false"),
    ],
)
def test_what_does_not_fit_says_what_would(text: str, wanted: Any, said: str) -> None:
    with pytest.raises(Unfit, match=said):
        one(text, wanted)


def test_repeated_keys_are_the_items_of_an_array() -> None:
    schema = {"properties": {"n": {"type": "array", "items": {"type": "integer"}}, "m": {"type": "integer"}}}
    assert converted(["1", "2"], "n", schema) == [1, 2]
    with pytest.raises(Unfit, match="must be an integer, not 'x'"):
        converted(["1", "x"], "n", schema)
    with pytest.raises(Unfit, match="was given 2 times"):
        converted(["1", "2"], "m", schema)


def test_items_that_are_arrays_are_written_as_json() -> None:
    schema = {"properties": {"rows": {"type": "array", "items": {"type": "array"}}}}
    assert converted(["[1]", "[2, 3]"], "rows", schema) == [[1], [2, 3]]
    with pytest.raises(Unfit, match="must be a JSON array in each place, not '1'"):
        converted(["[1]", "1"], "rows", schema)


def test_a_key_that_is_not_listed_follows_the_additional_properties() -> None:
    assert converted(["5"], "other", {"additionalProperties": {"type": "integer"}}) == 5
    assert converted(["5"], "other", {"additionalProperties": False}) == "5"


@given(st.text() | st.sampled_from(["NaN", "[Infinity]", "-Infinity", "1e999", "[-1e400]", "{}", "[" * 9999]))
def test_json_is_read_or_refused_with_a_value_error(text: str) -> None:
    try:
        value = read_json(text)
    except ValueError:
        return
    assert json.loads(json.dumps(value, allow_nan=False)) == value
