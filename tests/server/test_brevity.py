"""Which tools are known to be short."""

from __future__ import annotations

import pytest

from mcp_actors.server.brevity import BRIEF_SECONDS, HABIT, SLOW_SECONDS, Brevity


@pytest.fixture
def brevity() -> Brevity:
    return Brevity()


def note(brevity: Brevity, *seconds: float) -> bool:
    for one in seconds:
        brevity.note(one)
    return brevity.proven


def test_a_tool_is_not_known_to_be_brief_before_it_was_so_for_a_while(brevity: Brevity) -> None:
    assert not brevity.proven
    assert not note(brevity, *[BRIEF_SECONDS] * (HABIT - 1))
    assert note(brevity, BRIEF_SECONDS)


def test_one_call_that_is_not_brief_has_it_prove_itself_anew(brevity: Brevity) -> None:
    assert note(brevity, *[0.0] * HABIT)
    assert not note(brevity, SLOW_SECONDS)
    assert not note(brevity, *[0.0] * (HABIT - 1))
    assert note(brevity, 0.0)


def test_a_tool_that_was_slow_once_is_never_relied_on_again(brevity: Brevity) -> None:
    assert not note(brevity, *[0.0] * HABIT, SLOW_SECONDS * 1.01)
    assert not note(brevity, *[0.0] * HABIT * 2)
