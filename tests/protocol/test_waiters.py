"""Callers who wait for a ready connection leave exactly once."""

from __future__ import annotations

import pytest

from mcp_actors.protocol.actions import Action, CancelTimer, Reply, SetTimer
from mcp_actors.protocol.events import Awaited, WaitExpired
from mcp_actors.protocol.outcomes import Ready, TimedOut, Withdrawn
from mcp_actors.protocol.waiters import Waiters

pytestmark = pytest.mark.requirement("request:one-outcome")
TIMER = WaitExpired("ann", 5.0)


@pytest.fixture
def out() -> list[Action]:
    return []


@pytest.fixture
def waiters(out: list[Action]) -> Waiters:
    waiters = Waiters(out)
    waiters.add(Awaited("ann", 5.0))
    return waiters


def test_a_waiter_has_a_deadline(waiters: Waiters, out: list[Action]) -> None:
    assert (len(waiters), list(waiters), out) == (1, ["ann"], [SetTimer(TIMER, 5.0)])


def test_a_waiter_whose_deadline_passes_is_told_once(waiters: Waiters, out: list[Action]) -> None:
    waiters.expire(TIMER, None)
    waiters.expire(TIMER, None)
    assert out[1:] == [Reply("ann", TimedOut(5.0))]
    assert not len(waiters)


def test_a_waiter_who_gives_up_is_told_once_and_its_timer_goes(waiters: Waiters, out: list[Action]) -> None:
    waiters.withdraw("ann", "enough")
    waiters.withdraw("ann", "enough")
    assert out[1:] == [CancelTimer(TIMER), Reply("ann", Withdrawn("caller", "enough"))]


def test_everybody_is_dismissed_with_the_same_words(waiters: Waiters, out: list[Action]) -> None:
    waiters.add(Awaited("bob", 6.0))
    waiters.dismiss(Ready())
    waiters.dismiss(Ready())
    assert out[2:] == [
        CancelTimer(TIMER),
        Reply("ann", Ready()),
        CancelTimer(WaitExpired("bob", 6.0)),
        Reply("bob", Ready()),
    ]
