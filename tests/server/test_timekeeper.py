"""Timekeeper: wakes those who asked, tells of changes once in a while, and survives what it calls."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import pytest

from mcp_actors.protocol.serving.news import News
from mcp_actors.runtime.actor import start_actor
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.mailbox import TimerFired
from mcp_actors.runtime.ref import Ref
from mcp_actors.server.timekeeper import Announce, LetSleep, Timekeeper, Wake
from tests.client.features.ear import Ear
from tests.client.waiting import BOUND


class Untimed(Timekeeper):
    """Its timers fire when the test says so."""

    set: dict[Hashable, float]

    def set_timer(self, key: Hashable, seconds: float) -> None:
        self.set[key] = seconds

    def cancel_timer(self, key: Hashable) -> bool:
        return self.set.pop(key, None) is not None


@pytest.fixture
def spread() -> list[News]:
    return []


@pytest.fixture
def keeper(spread: list[News]) -> Untimed:
    """Not started: the test plays its mailbox."""
    one = Untimed(spread.append, name="keeper")
    one.set = {}
    return one


def fire(keeper: Untimed) -> None:
    """All timers that are set, in their order."""
    for key in list(keeper.set):
        del keeper.set[key]
        keeper.handle(TimerFired(key))


def test_what_is_due_is_called_once(keeper: Untimed) -> None:
    called: list[str] = []
    keeper.handle(Wake("a", 1.0, lambda: called.append("first")))
    keeper.handle(Wake("a", 2.0, lambda: called.append("second")))
    assert keeper.set == {"a": 2.0}
    fire(keeper)
    assert called == ["second"]
    keeper.handle(TimerFired("a"))
    assert called == ["second"]


def test_what_was_forgotten_is_not_called(keeper: Untimed) -> None:
    called: list[str] = []
    keeper.handle(Wake("a", 1.0, lambda: called.append("a")))
    keeper.handle(LetSleep("a"))
    keeper.handle(LetSleep("unknown"))
    keeper.handle(TimerFired("a"))
    assert called == []


@pytest.mark.requirement("feature:list-changed")
def test_of_many_changes_the_first_is_told_at_once_and_the_last_when_it_is_quiet(
    keeper: Untimed, spread: list[News]
) -> None:
    for _ in range(5):
        keeper.handle(Announce(News("tools")))
    assert spread == [News("tools")]
    fire(keeper)
    assert spread == [News("tools")] * 2, "the last change was lost"
    fire(keeper)
    assert spread == [News("tools")] * 2
    keeper.handle(Announce(News("tools")))
    assert spread == [News("tools")] * 3


@pytest.mark.requirement("feature:list-changed")
def test_the_kinds_do_not_hold_each_other_up(keeper: Untimed, spread: list[News]) -> None:
    news = [News("tools"), News("prompts"), News("updated", "a:/"), News("updated", "b:/"), News("resources")]
    for one in news:
        keeper.handle(Announce(one))
    assert spread == news


def test_all_that_happens_to_a_task_is_told(keeper: Untimed, spread: list[News]) -> None:
    news = [News("task", "7", {"status": status}) for status in ("working", "completed")]
    for one in news:
        keeper.handle(Announce(one))
    assert spread == news
    assert keeper.set == {}


@pytest.fixture
def started(spread: list[News]) -> Iterator[Ref]:
    ref = start_actor(Timekeeper, spread.append, deadline=Deadline.after(BOUND), name="keeper")
    yield ref
    ref.stop()
    assert ref.join(Deadline.after(BOUND))


def test_an_action_that_fails_is_logged_and_harms_nobody(
    started: Ref, caplog: pytest.LogCaptureFixture
) -> None:
    called = Ear()

    def fail() -> Any:
        raise LookupError("planted")

    started.tell(Wake("bad", 0.0, fail))
    started.tell(Wake("good", 0.001, lambda: called("good")))
    assert called.wait_for(1) == ["good"]
    assert "keeper: what was due failed" in caplog.text
