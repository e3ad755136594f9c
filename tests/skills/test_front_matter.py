"""The head of a document: found where it is, read as YAML, equal to JSON as any reader of YAML would say."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped, unused-ignore]  # its types are not installed everywhere
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mcp_actors.skills.front_matter import difference, split
from mcp_actors.skills.yaml_tree import Scalar, YamlRefused, parse

pytestmark = pytest.mark.requirement("feature:skills")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("---\na: 1\n---\nbody", ("a: 1\n", "body")),
        ("---\r\na: 1\r\n---\r\nbody", ("a: 1\r\n", "body")),
        ("\ufeff---\na: 1\n---\n", ("a: 1\n", "")),
        ("---  \na: 1\n---\t\n\nbody\n---\n", ("a: 1\n", "\nbody\n---\n")),
        ("---\na: 1\n---", ("a: 1\n", "")),
        ("---\n---\n", ("", "")),
        ("---\na: x ---\n----\n---\nb", ("a: x ---\n----\n", "b")),
        ("---\na: 1\n ---\n", None),
        ("a: 1\n---\n", None),
        ("----\na: 1\n---\n", None),
        ("", None),
    ],
)
def test_the_head_ends_at_the_next_line_of_dashes(text: str, parts: tuple[str, str] | None) -> None:
    assert split(text) == parts


@pytest.mark.parametrize(
    ("head", "value"),
    [
        ("a: b", {"a": "b"}),
        ("a: 'it''s'", {"a": "it's"}),
        (r'a: "tab\tüber\u00fc"', {"a": "tab\tüberü"}),
        ("a: b # why\n# all\nc: d", {"a": "b", "c": "d"}),
        ("a: >-\n  one\n  two\n\n  three\n", {"a": "one two\nthree"}),
        ("a: |\n  one\n    two\n", {"a": "one\n  two\n"}),
        ("a: one\n  two", {"a": "one two"}),
        ("a:\n- b\n- c: d\n  e: f", {"a": ["b", {"c": "d", "e": "f"}]}),
        ('a: {"b": [1, 2.5, true, null]}', {"a": {"b": [1, 2.5, True, None]}}),
        ("allowed-tools: Bash(git:*) Read", {"allowed-tools": "Bash(git:*) Read"}),
        ("a: &anchor b", {"a": "b"}),
        ("a:", {"a": None}),
        ("a: ~", {"a": None}),
        ("a: 0x1F", {"a": 31}),
        ("a: 0o17", {"a": 15}),
        ("a: -1.5e3", {"a": -1500}),
        ("a: 1.0", {"a": 1}),
        ("1: b", {"1": "b"}),
        # Where readers differ, each of them is right.
        ("a: yes", {"a": True}),
        ("a: yes", {"a": "yes"}),
        ("a: 1.10", {"a": 1.1}),
        ("a: 1.10", {"a": "1.10"}),
        ("a: 2026-07-28", {"a": "2026-07-28"}),
        ("a: 2026-07-28", {"a": "2026-07-28T00:00:00.000Z"}),
        ("a: 0123", {"a": "0123"}),
        ("[]", []),
        ("", None),
    ],
)
def test_yaml_equals_what_its_readers_make_of_it(head: str, value: Any) -> None:
    assert difference(parse(head), value) is None


@pytest.mark.parametrize(
    ("head", "value", "reason"),
    [
        ("a: b", {"a": "c"}, "a is 'b' in the file, but 'c' in the entry"),
        ("a: b", {}, "a is 'b' in the file, but not in the entry"),
        ("{}", {"a": None}, "a is not in the file, but None in the entry"),
        ("a: '1'", {"a": 1}, "a is '1' in the file, but 1 in the entry"),
        ("a: 'true'", {"a": True}, "a is 'true' in the file, but True in the entry"),
        ("a: b", {"a": "bT00:00:00.000Z"}, "a is 'b' in the file"),
        ("a: '2026-07-28'", {"a": "2026-07-28T00:00:00.000Z"}, "a is '2026-07-28' in the file"),
        ("a: ''", {"a": None}, "a is '' in the file, but None in the entry"),
        ("a: 1", {"a": True}, "a is '1' in the file, but True in the entry"),
        ("a: true", {"a": 1}, "a is 'true' in the file, but 1 in the entry"),
        ("a: no", {"a": True}, "a is 'no' in the file, but True in the entry"),
        ("a: .", {"a": 0}, "a is '.' in the file, but 0 in the entry"),
        ("a: " + "1" * 65, {"a": 1}, "a is '1"),
        ("a: [1, 2]", {"a": [1]}, "a is a list of 2 in the file, but a list of 1 in the entry"),
        ("a: [1, 2]", {"a": [1, 3]}, "a[1] is '2' in the file, but 3 in the entry"),
        ("a: {b: {c: d}}", {"a": {"b": {"c": 1}}}, "a.b.c is 'd' in the file, but 1 in the entry"),
        ("a: {b: c}", {"a": "c"}, "a is a mapping of 1 in the file, but 'c' in the entry"),
        ("a: b", {"a": {"b": 1}}, "a is 'b' in the file, but a mapping of 1 in the entry"),
        ("a", {"a": "b"}, "it is 'a' in the file, but a mapping of 1 in the entry"),
    ],
)
def test_a_difference_is_named_by_its_place(head: str, value: Any, reason: str) -> None:
    assert (difference(parse(head), value) or "").startswith(reason)


def test_a_difference_is_told_in_few_words() -> None:
    text = difference(parse(f"a: {'x' * 10_000}"), {"a": "y" * 10_000})
    assert text is not None
    assert len(text) < 250


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        ("a: [", "in line"),
        ("a: b: c", "mapping values are not allowed here in line 1"),
        ("a: b\n\tc: d", "in line"),
        ("a: \x07", "characters that YAML forbids"),
        ('a: "\\UFFFFFFFF"', "."),
        ("a: &x b\nc: *x", "an alias in line 2"),
        ("a: !!str 1", "a tag in line 1"),
        ("a: !!python/object:os.system x", "a tag in line 1"),
        ("a: 1\nb: 2\na: 3", "the key 'a' twice, again in line 3"),
        ("? [a]\n: b", "a key that is no text in line 1"),
        ("a: 1\n...\n--- b", "more than one document"),
        ("a: " + "[" * 40, "more than 32 levels in line 1"),
        ("a: " + "[" * 60_000, "more than 32 levels in line 1"),
    ],
)
def test_yaml_that_readers_may_understand_differently_is_refused(head: str, reason: str) -> None:
    with pytest.raises(YamlRefused, match=reason):
        parse(head)


def test_words_keep_whether_they_were_quoted() -> None:
    assert parse("[a, 'a']") == [Scalar("a", plain=True), Scalar("a", plain=False)]


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Zl", "Zp")), max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**15), 10**15) | st.floats(-1e9, 1e9) | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)
HEADS = st.dictionaries(WORDS, VALUES, max_size=6)


@given(HEADS, st.booleans())
@settings(max_examples=150, deadline=None)
@example({"a": "yes", "b": "1e3", "c": "~", "d": " x "}, True)
def test_what_a_writer_of_yaml_wrote_equals_what_it_was_given(head: dict[str, Any], flow: bool) -> None:
    text = yaml.safe_dump(head, allow_unicode=True, default_flow_style=flow)
    assert difference(parse(text), head) is None


@given(HEADS, VALUES)
@settings(max_examples=150, deadline=None)
def test_a_changed_field_never_goes_unnoticed(head: dict[str, Any], other: Any) -> None:
    text = json.dumps(head | {"description": "honest"})
    forged = head | {"description": other}
    assert (difference(parse(text), forged) is None) == (other == "honest")


@given(st.text(max_size=200) | st.text(alphabet="ab:-[]{}'\"\\#&*!|>%@`,?~0.\n\t ", max_size=60))
@settings(max_examples=400, deadline=None)
@example('"\\UFFFFFFFF"')
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        tree = parse(text)
    except YamlRefused:
        return
    assert difference(tree, object()) is not None
