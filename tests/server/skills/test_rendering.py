"""From YAML to JSON: what YAML 1.2 says, and what every reader of a skill accepts as the same."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_actors.server.skills.rendering import NoJson, rendered
from mcp_actors.skills.front_matter import difference
from mcp_actors.skills.yaml_tree import Scalar, Tree, YamlRefused, parse

pytestmark = pytest.mark.requirement("feature:skills")


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("null", None),
        ("~", None),
        ("", None),
        ("true", True),
        ("FALSE", False),
        ("0", 0),
        ("-12", -12),
        ("+3", 3),
        ("007", 7),
        ("0o17", 15),
        ("0x1F", 31),
        ("9007199254740991", 2**53 - 1),
        ("1.0", 1.0),
        ("-.5", -0.5),
        ("1.", 1.0),
        ("1e3", 1000.0),
        ("'1'", "1"),
        ('"null"', "null"),
        # Not in YAML 1.2, whatever 1.1 made of them.
        ("yes", "yes"),
        ("n", "n"),
        ("Off", "Off"),
        ("2026-07-28", "2026-07-28"),
        ("12:30", "12:30"),
        ("1_000", "1_000"),
        ("0b1", "0b1"),
        ("-0x1", "-0x1"),
        ("0X1", "0X1"),
        ("tRUE", "tRUE"),
        (".", "."),
        ("1.2.3", "1.2.3"),
        ("[a, {b: 2}]", ["a", {"b": 2}]),
    ],
)
def test_a_word_means_what_yaml_says(word: str, value: Any) -> None:
    found = rendered(parse(f"a: {word}"))
    assert found == {"a": value}
    assert isinstance(found, dict)
    assert type(found["a"]) is type(value)


@pytest.mark.parametrize(
    "word",
    [".inf", "-.INF", ".nan", "1e999", "9007199254740992", "-9007199254740992", "1" * 65, "0." + "1" * 63],
)
def test_a_number_that_readers_would_not_agree_on_is_refused(word: str) -> None:
    with pytest.raises(NoJson, match="in quotes it would be text"):
        rendered(parse(f"a: {word}"))
    assert rendered(parse(f"a: '{word}'")) == {"a": word}


NUMBERS = st.from_regex(r"[-+]?0{0,2}[0-9]{0,4}(\.[0-9]{0,5})?([eE][-+]?[0-9]{1,3})?", fullmatch=True)
PREFIXED = st.from_regex(r"0[ox][0-9a-f]{1,4}", fullmatch=True)
NAMED = st.sampled_from(["", "~", "null", "True", "false", "yes", "n", ".inf", ".NaN", " x ", "2026-07-28"])
WORDS = st.text(alphabet="01aefnoxT.+-_~: ", max_size=12)
SCALARS = st.builds(Scalar, NUMBERS | PREFIXED | NAMED | WORDS, plain=st.booleans())
TREES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=8,
)


@given(TREES)
@settings(max_examples=400)
def test_what_is_published_is_what_the_file_says(tree: Tree) -> None:
    try:
        value = rendered(tree)
    except NoJson:
        return
    assert difference(tree, value) is None
    assert json.loads(json.dumps(value, allow_nan=False)) == value


@given(st.text(max_size=60) | st.text(alphabet="ab01.:-[]{}'\"\\#|>,?~ \n", max_size=60))
@settings(max_examples=400)
def test_any_yaml_is_published_truly_or_refused(text: str) -> None:
    try:
        tree = parse(text)
        value = rendered(tree)
    except (YamlRefused, NoJson):
        return
    assert difference(tree, value) is None
