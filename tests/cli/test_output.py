"""What is shown is harmless, and JSON stays the JSON it was."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from mcp_actors.cli.output import json_text, one_line, safe

#: With all that a terminal might obey: C1 controls, changes of direction, tags, halves of characters.
ANYTHING = st.text(st.characters() | st.sampled_from("\x1b\x9b\x07\x08\r\u2028\u202e\U000e0001\ud800"))


@given(st.dictionaries(ANYTHING, ANYTHING | st.lists(ANYTHING)))
def test_json_is_printable_and_means_the_same(value: dict[str, object]) -> None:
    text = json_text(value)
    assert text.replace("\n", "").isprintable()
    assert json.loads(text) == value


@given(ANYTHING)
def test_text_keeps_its_lines_and_nothing_that_acts(text: str) -> None:
    shown = safe(text)
    assert shown.count("\n") == text.count("\n")
    assert shown.replace("\n", "").isprintable()
    assert one_line(text).isprintable()


@given(st.text(st.characters(categories=["L", "N"])))
def test_harmless_text_stays_as_it_is(text: str) -> None:
    assert safe(text) == one_line(text) == text
