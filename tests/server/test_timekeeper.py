"""Timekeeper: wakes those who asked, tells of changes once in a while, and survives what it calls."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any

import pytest

from mcp_actors.protocol.serving.news import News
from mcp_actors.runtime.actor import start_actor
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.mailbox import TimerFired
from mcp_actors.runtime.ref import Crashed, Ref
from mcp_actors.server.agenda import Agenda, Announced, Dropped, Due, Entry, Look
from mcp_actors.server.timekeeper import Timekeeper
from tests.client.features.ear import Ear
from tests.client.waiting import BOUND, until


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
    one = Untimed(Agenda(), spread.append, name="keeper")
    one.set = {}
    return one


def do(keeper: Untimed, *entries: Entry) -> None:
    """Write something down and have it looked at."""
    for entry in entries:
        keeper._agenda.write(entry)
    keeper.handle(Look())


def due(key: str, action: Callable[[], object], seconds: float = 1.0) -> Due:
    return Due(key, Deadline.after(seconds), action)


def fire(keeper: Untimed) -> None:
    """All timers that are set, in their order."""
    for key in list(keeper.set):
        del keeper.set[key]
        keeper.handle(TimerFired(key))


def test_what_is_due_is_called_once(keeper: Untimed) -> None:
    called: list[str] = []
    do(keeper, due("a", lambda: called.append("first")))
    do(keeper, due("a", lambda: called.append("second"), 60.0))
    assert keeper.set["a"] > 2.0
    fire(keeper)
    assert called == ["second"]
    keeper.handle(TimerFired("a"))
    assert called == ["second"]


def test_what_was_forgotten_is_not_called(keeper: Untimed) -> None:
    called: list[str] = []
    do(keeper, due("a", lambda: called.append("a")), Dropped("a"), Dropped("unknown"))
    keeper.handle(TimerFired("a"))
    assert called == []


def test_what_is_written_while_it_looks_waits_for_the_next_look(keeper: Untimed) -> None:
    called: list[str] = []

    def spread(_news: News) -> None:
        called.append("told")
        keeper._agenda.write(Announced(News("task")))

    keeper._spread = spread
    do(keeper, Announced(News("task")))
    assert called == ["told"]


def test_nothing_is_written_down_after_the_end(keeper: Untimed) -> None:
    agenda = keeper._agenda
    agenda.write(due("a", lambda: None))
    agenda.close()
    agenda.write(due("b", lambda: None))
    assert list(agenda.read()) == []


@pytest.mark.requirement("feature:list-changed")
def test_of_many_changes_the_first_is_told_at_once_and_the_last_when_it_is_quiet(
    keeper: Untimed, spread: list[News]
) -> None:
    for _ in range(5):
        do(keeper, Announced(News("tools")))
    assert spread == [News("tools")]
    fire(keeper)
    assert spread == [News("tools")] * 2, "the last change was lost"
    fire(keeper)
    assert spread == [News("tools")] * 2
    do(keeper, Announced(News("tools")))
    assert spread == [News("tools")] * 3


@pytest.mark.requirement("feature:list-changed")
def test_the_kinds_do_not_hold_each_other_up(keeper: Untimed, spread: list[News]) -> None:
    news = [News("tools"), News("prompts"), News("updated", "a:/"), News("updated", "b:/"), News("resources")]
    for one in news:
        do(keeper, Announced(one))
    assert spread == news


def test_all_that_happens_to_a_task_is_told(keeper: Untimed, spread: list[News]) -> None:
    news = [News("task", "7", {"status": status}) for status in ("working", "completed")]
    for one in news:
        do(keeper, Announced(one))
    assert spread == news
    assert keeper.set == {}


@pytest.fixture
def start(spread: list[News]) -> Iterator[Callable[[Agenda], Ref]]:
    """Starts timekeepers, one after the other."""
    started: list[Ref] = []

    def begin(agenda: Agenda) -> Ref:
        deadline = Deadline.after(BOUND)
        started.append(start_actor(Timekeeper, agenda, spread.append, deadline=deadline, name="keeper"))
        return started[-1]

    yield begin
    for ref in started:
        ref.stop()
        assert ref.join(Deadline.after(BOUND))


def test_an_action_that_fails_is_logged_and_harms_nobody(
    start: Callable[[Agenda], Ref], caplog: pytest.LogCaptureFixture
) -> None:
    called, agenda = Ear(), Agenda()
    start(agenda)

    def fail() -> Any:
        raise LookupError("planted")

    agenda.write(due("bad", fail, 0.0))
    agenda.write(due("good", lambda: called("good"), 0.001))
    assert called.wait_for(1) == ["good"]
    assert "keeper: what was due failed" in caplog.text


def crash(ref: Ref) -> None:
    """No timekeeper knows what to do with that."""
    ref.tell(object())
    assert ref.join(Deadline.after(BOUND))
    assert isinstance(ref.reason, Crashed)


@pytest.mark.requirement("runtime:supervisor:rest-for-one")
def test_one_that_follows_a_crash_knows_what_was_due_and_what_was_written_meanwhile(
    start: Callable[[Agenda], Ref],
) -> None:
    called, agenda = Ear(), Agenda()
    first = start(agenda)
    agenda.write(due("set", lambda: called("set"), 0.2))
    agenda.write(due("dropped", lambda: called("dropped"), 0.2))
    until(lambda: {"set", "dropped"} <= agenda.due.keys())
    crash(first)
    agenda.write(Dropped("dropped"))
    agenda.write(due("meanwhile", lambda: called("meanwhile"), 0.3))
    start(agenda)
    assert called.wait_for(2) == ["set", "meanwhile"]
    assert agenda.due == {}


@pytest.mark.requirement("feature:list-changed")
def test_a_change_that_waits_for_quiet_survives_a_crash(
    start: Callable[[Agenda], Ref], spread: list[News]
) -> None:
    agenda = Agenda()
    first = start(agenda)
    for _ in range(2):
        agenda.write(Announced(News("tools")))
    until(lambda: agenda.late)
    assert spread == [News("tools")]
    crash(first)
    start(agenda)
    until(lambda: spread == [News("tools")] * 2)


def test_what_brings_one_down_does_not_bring_down_the_next(start: Callable[[Agenda], Ref]) -> None:
    called, agenda = Ear(), Agenda()

    def leave() -> Any:
        raise SystemExit

    first = start(agenda)
    agenda.write(due("exit", leave, 0.0))
    assert first.join(Deadline.after(BOUND))
    agenda.write(Announced(None))  # type: ignore[arg-type]
    second = start(agenda)
    assert second.join(Deadline.after(BOUND))
    agenda.write(due("good", lambda: called("good"), 0.0))
    start(agenda)
    assert called.wait_for(1) == ["good"]
