"""Session ids: visible ASCII of a bounded length, never shown in full."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_actors.protocol.http.session_id import MAX_LENGTH, InvalidSessionId, redacted, validated

pytestmark = pytest.mark.requirement("security:limits")


@given(st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=MAX_LENGTH))
def test_visible_ascii_is_taken_as_it_is(session_id: str) -> None:
    assert validated(session_id) == session_id


@given(st.text(), st.characters(exclude_characters=[chr(code) for code in range(0x21, 0x7F)]), st.text())
def test_one_other_character_spoils_it(before: str, other: str, after: str) -> None:
    with pytest.raises(InvalidSessionId):
        validated(before + other + after)


@pytest.mark.parametrize("session_id", ["", "x" * (MAX_LENGTH + 1), "id\n"])
def test_nothing_too_much_and_a_line_end_are_refused_without_being_repeated(session_id: str) -> None:
    with pytest.raises(InvalidSessionId) as invalid:
        validated(session_id)
    assert not session_id or session_id not in str(invalid.value)


def test_a_log_shows_the_beginning_of_a_long_id() -> None:
    assert redacted("0123456789abcdef") == "0123… (16 characters)"


@pytest.mark.parametrize("session_id", ["short", "\x1b[31m" + "x" * 20, "ü" * 20])
def test_a_log_shows_nothing_of_a_short_or_odd_id(session_id: str) -> None:
    assert redacted(session_id) == f"… ({len(session_id)} characters)"
