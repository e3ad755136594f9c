"""TaskPool: bounded, isolated, and one answer for each task."""

from __future__ import annotations

import threading
import weakref
from typing import Any

import pytest

from mcp_actors.runtime.actor import start_actor
from mcp_actors.runtime.mailbox import TimerFired
from mcp_actors.runtime.tasks import Cancel, PoolFull, PoolStopped, Run, TaskPool
from mcp_actors.runtime.worker import Done, Failed, Finished, Outcome, Refused
from tests.runtime.probes import (
    BOUND,
    Bang,
    FakeClock,
    block_until,
    everything_in,
    soon,
    start_probe,
    stop,
)


class Office:
    """A pool, and somebody who waits for its answers."""

    def __init__(self, *limits: int, **options: Any) -> None:
        self.gate = threading.Event()
        self.client, self.client_ref = start_probe()
        self.pool = start_actor(TaskPool, *limits, name="pool", deadline=soon(), **options)

    def run(self, task_id: object, job: Any, **options: Any) -> None:
        assert self.pool.tell(Run(task_id, job, self.client_ref, **options))

    def block(self, *task_ids: object) -> None:
        for task_id in task_ids:
            self.run(task_id, block_until(self.gate))

    def settle(self) -> None:
        """Let the pool handle what it was told."""
        self.pool.ask(Cancel("unknown"), soon())

    def answer(self) -> tuple[object, Outcome]:
        news = self.client.seen.get(timeout=BOUND)
        assert isinstance(news, Finished)
        return news.task_id, news.outcome

    def close(self) -> list[Any]:
        """Stop; what was said since the last answer."""
        self.gate.set()
        stop(self.pool, self.client_ref)
        return everything_in(self.client.seen)


def error_in(outcome: Outcome) -> BaseException:
    assert isinstance(outcome, Failed)
    return outcome.error


def test_a_task_runs_on_a_worker_and_its_value_is_told() -> None:
    office = Office()
    office.run(1, threading.current_thread)
    task_id, outcome = office.answer()
    assert isinstance(outcome, Done)
    assert isinstance(outcome.value, threading.Thread)
    assert (task_id, outcome.value.name, outcome.value.daemon) == (1, "pool-1", True)
    assert office.close() == []


@pytest.mark.requirement("runtime:pool:bounded")
@pytest.mark.parametrize("error", [Bang("no"), SystemExit(1), KeyboardInterrupt()])
def test_whatever_a_task_raises_harms_nobody(error: BaseException) -> None:
    office = Office(1)

    def fail() -> None:
        raise error

    office.run(1, fail)
    assert office.answer() == (1, Failed(error))
    office.run(2, lambda: "fine")
    assert office.answer() == (2, Done("fine"))
    assert office.close() == []


def test_a_worker_is_used_again() -> None:
    office = Office()
    office.run(1, threading.get_ident)
    first = office.answer()[1]
    office.run(2, threading.get_ident)
    assert office.answer()[1] == first
    office.close()


@pytest.mark.requirement("runtime:pool:bounded")
def test_at_most_so_many_tasks_run_and_wait() -> None:
    office = Office(2, 1)
    office.block("runs", "runs too", "waits")
    office.run("one too many", pytest.fail)
    task_id, outcome = office.answer()
    assert task_id == "one too many"
    assert isinstance(error_in(outcome), PoolFull)
    assert str(error_in(outcome)) == "2 tasks running, 1 queued"
    office.gate.set()
    assert {office.answer()[0] for _ in range(3)} == {"runs", "runs too", "waits"}
    assert office.close() == []


def test_a_vouched_task_waits_even_when_the_queue_is_full() -> None:
    office = Office(1, 0)
    office.block("runs")
    office.run("vouched", lambda: "fine", vouched=True)
    office.settle()
    office.gate.set()
    assert [office.answer()[0], office.answer()] == ["runs", ("vouched", Done("fine"))]
    office.close()


def test_queued_tasks_run_in_order() -> None:
    office = Office(1)
    order: list[int] = []
    office.block("first")
    for number in range(20):
        office.run(number, lambda number=number: order.append(number))
    office.gate.set()
    assert [office.answer()[0] for _ in range(21)] == ["first", *range(20)]
    assert order == list(range(20))
    office.close()


def test_a_task_that_has_not_begun_can_be_cancelled() -> None:
    office = Office(1)
    office.block("runs")
    office.run("waits", pytest.fail)
    assert office.pool.ask(Cancel("waits"), soon())
    assert office.answer() == ("waits", Refused())
    assert not office.pool.ask(Cancel("waits"), soon())
    assert not office.pool.ask(Cancel("runs"), soon())
    office.gate.set()
    assert office.answer() == ("runs", Done(None))
    assert office.close() == []


def test_two_queued_tasks_of_one_id_are_a_mistake() -> None:
    office = Office(1)
    office.block("runs")
    office.run("twin", lambda: "fine")
    office.run("twin", pytest.fail)
    task_id, outcome = office.answer()
    assert task_id == "twin"
    assert isinstance(error_in(outcome), ValueError)
    office.gate.set()
    assert [office.answer()[0], office.answer()] == ["runs", ("twin", Done("fine"))]
    office.close()


def test_a_failure_that_nobody_waits_for_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    office = Office()

    def fail() -> None:
        raise Bang("in vain")

    office.pool.tell(Run("alone", fail))
    office.pool.tell(Run("fine", lambda: None))
    office.settle()
    office.close()
    assert "task 'alone' failed" in caplog.text
    assert "Bang: in vain" in caplog.text


def idle_after(office: Office, clock: FakeClock, seconds: float) -> int:
    """How many threads the pool has, `seconds` later."""
    clock.advance(seconds)
    office.pool.tell(TimerFired("idle"))
    office.settle()
    return len(pool_of(office)._workers)


def pool_of(office: Office) -> TaskPool:
    pool = office.pool._mailbox.undelivered.__self__  # type: ignore[attr-defined]
    assert isinstance(pool, TaskPool)
    return pool


def test_workers_that_are_idle_for_long_are_dismissed_the_oldest_first() -> None:
    office = Office(idle_timeout=30.0)
    clock = FakeClock()
    pool_of(office).mailbox.clock = clock
    office.block(1, 2)
    office.gate.set()
    office.answer()
    office.answer()
    office.settle()
    clock.advance(20.0)
    office.run(3, lambda: None)
    office.answer()
    office.settle()
    assert idle_after(office, clock, 5.0) == 2
    assert idle_after(office, clock, 10.0) == 1
    assert pool_of(office).mailbox.timers == 1
    assert idle_after(office, clock, 30.0) == 0
    office.run(4, lambda: "fine")
    assert office.answer() == (4, Done("fine"))
    office.close()


def test_a_pool_whose_workers_are_all_busy_again_dismisses_nobody() -> None:
    office = Office(idle_timeout=0.0)
    office.run(1, lambda: None)
    office.answer()
    office.run(2, lambda: "fine")
    assert office.answer() == (2, Done("fine"))
    office.close()


@pytest.mark.requirement("runtime:pool:bounded")
def test_a_stop_answers_for_what_is_queued_and_waits_for_what_runs() -> None:
    office = Office(1, drain=BOUND)
    running = threading.Event()

    def finish_during_the_drain() -> str:
        running.set()
        assert office.gate.wait(BOUND)
        return "in time"

    office.run("runs", finish_during_the_drain)
    office.run("waits", pytest.fail)
    assert running.wait(BOUND)
    office.pool.stop()
    task_id, outcome = office.answer()
    assert task_id == "waits"
    assert isinstance(error_in(outcome), PoolStopped)
    office.gate.set()
    assert office.answer() == ("runs", Done("in time"))
    assert office.close() == []


@pytest.mark.requirement("runtime:pool:bounded")
def test_a_task_that_does_not_end_is_abandoned_by_name_and_answered_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    office = Office(drain=0.01)
    office.block("endless")
    office.settle()
    stop(office.pool)
    task_id, outcome = office.answer()
    assert task_id == "endless"
    assert isinstance(error_in(outcome), PoolStopped)
    assert "pool-1 is abandoned: task 'endless' does not end" in caplog.text
    office.gate.set()
    (worker,) = pool_of(office)._workers
    worker.join(BOUND)
    assert office.close() == []


def test_a_worker_that_is_just_leaving_is_not_called_stuck(caplog: pytest.LogCaptureFixture) -> None:
    office = Office(drain=0.0)
    office.run(1, lambda: None)
    office.answer()
    office.settle()
    office.close()
    assert "abandoned" not in caplog.text


def test_a_task_may_stop_the_pool_and_wait_for_its_end(caplog: pytest.LogCaptureFixture) -> None:
    office = Office(drain=BOUND)

    def close() -> bool:
        office.pool.stop()
        return office.pool.join(soon())

    office.run("closer", close)
    assert office.answer() == ("closer", Done(True))
    assert office.close() == []
    assert "abandoned" not in caplog.text


@pytest.mark.requirement("runtime:pool:bounded")
def test_a_task_that_comes_after_the_stop_is_answered_too() -> None:
    office = Office(1)
    hold = threading.Event()
    pool = pool_of(office)
    usual = pool._cancel
    pool._cancel = lambda task_id: hold.wait(BOUND) and usual(task_id)  # type: ignore[method-assign]
    office.pool.tell(Cancel("hold the pool"))
    office.pool.stop()
    office.run("late", pytest.fail)
    office.pool.tell(Cancel("late, and nobody waits for that"))
    hold.set()
    task_id, outcome = office.answer()
    assert task_id == "late"
    assert isinstance(error_in(outcome), PoolStopped)
    assert office.close() == []


def test_without_a_thread_to_be_had_a_task_waits_for_the_others_or_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    office = Office(2)
    with monkeypatch.context() as patch:
        patch.setattr("mcp_actors.runtime.worker.Worker.start", refuse_to_start)
        office.run("alone", pytest.fail)
        assert isinstance(error_in(office.answer()[1]), PoolFull)
    office.block("runs")
    office.settle()
    with monkeypatch.context() as patch:
        patch.setattr("mcp_actors.runtime.worker.Worker.start", refuse_to_start)
        office.run("waits", lambda: "fine")
        office.settle()
    office.gate.set()
    assert [office.answer()[0], office.answer()] == ["runs", ("waits", Done("fine"))]
    office.close()


def test_a_vouched_task_waits_a_little_for_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    office = Office()
    with monkeypatch.context() as patch:
        patch.setattr("mcp_actors.runtime.worker.Worker.start", refuse_to_start)
        for number in (1, 2):
            office.run(number, threading.current_thread, vouched=True)
        office.run("not vouched", print)
        assert isinstance(error_in(office.answer()[1]), PoolFull)
    names = {}
    for _ in range(2):
        task_id, outcome = office.answer()
        assert isinstance(outcome, Done)
        names[task_id] = getattr(outcome.value, "name", None)
    # The numbers before were those of threads that did not start.
    assert names == {1: "pool-4", 2: "pool-4"}
    assert office.close() == []


def test_without_any_thread_the_pool_itself_runs_what_it_must_not_refuse(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mcp_actors.runtime.tasks._HIRE_AGAIN", 0.01)
    monkeypatch.setattr("mcp_actors.runtime.worker.Worker.start", refuse_to_start)
    office = Office()
    for number in (1, 2):
        office.run(number, threading.current_thread, vouched=True)
    for number in (1, 2):
        task_id, outcome = office.answer()
        assert isinstance(outcome, Done)
        assert (task_id, getattr(outcome.value, "name", None)) == (number, "pool")
    assert office.close() == []


def test_a_timer_for_a_thread_that_came_meanwhile_does_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    office = Office()
    with monkeypatch.context() as patch:
        patch.setattr("mcp_actors.runtime.worker.Worker.start", refuse_to_start)
        office.run("first", lambda: 1, vouched=True)
        office.settle()
    office.run("second", lambda: 2)
    assert {office.answer()[0], office.answer()[0]} == {"first", "second"}
    office.pool.tell(TimerFired("hire"))
    office.run("third", lambda: 3)
    assert office.answer() == ("third", Done(3))
    office.close()


def refuse_to_start(_worker: object) -> None:
    raise RuntimeError("can't start new thread")


@pytest.mark.stress
@pytest.mark.requirement("runtime:pool:bounded")
@pytest.mark.usefixtures("hasty_switching")
def test_each_task_is_answered_exactly_once_while_the_pool_stops() -> None:
    for _ in range(20):
        office = Office(3, 10, drain=BOUND)
        refused = []
        for number in range(100):
            if number == 50:
                office.pool.stop()
            if not office.pool.tell(Run(number, lambda: None, office.client_ref)):
                refused.append(number)
        answered = [news.task_id for news in office.close()]
        assert sorted([*answered, *refused]) == list(range(100))


class Load:
    """Something whose end can be observed."""

    def __init__(self, gone: threading.Event) -> None:
        weakref.finalize(self, gone.set)

    def carry(self) -> Load:
        return self


def test_an_idle_worker_keeps_neither_the_job_nor_its_value_alive() -> None:
    office = Office()
    gone = threading.Event()
    assert office.pool.tell(Run("heavy", Load(gone).carry))
    assert gone.wait(BOUND)
    office.close()


def test_a_reply_to_a_dead_client_is_dropped() -> None:
    office = Office()
    _nobody, dead = start_probe()
    stop(dead)
    office.pool.tell(Run("for the dead", lambda: None, dead))
    office.run("for the living", lambda: "fine")
    assert office.answer() == ("for the living", Done("fine"))
    office.close()
