"""Turns: every item is worked on once, in order, by one thread at a time, or handed back."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_actors.runtime.turns import Turns
from tests.runtime.interruption import interrupted_at
from tests.runtime.probes import BOUND, Bang, block_until, run_script, stumbler


class Log:
    """Turns that write down what happens to them. Callables among the items are called."""

    def __init__(self) -> None:
        self.said: list[object] = []
        self.turns: Turns[Any] = Turns(
            self._work,
            rest=lambda: self.said.append("rest"),
            failed=lambda error: self.said.append(("failed", error)),
            discard=lambda item: self.said.append(("discard", item)),
        )

    def _work(self, item: Any) -> None:
        self.said.append(item)
        if callable(item):
            item()


def raising(error: BaseException) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return fail


def test_whoever_brings_an_item_to_the_idle_does_the_work_and_then_rests() -> None:
    log = Log()
    log.turns.bring(1)
    log.turns.bring(2)
    assert log.said == [1, "rest", 2, "rest"]
    assert len(log.turns) == 0


def test_without_hooks_there_is_only_the_work() -> None:
    seen: list[int] = []
    turns = Turns(seen.append)
    turns.bring(1)
    assert seen == [1]


def test_what_the_work_brings_is_done_after_it() -> None:
    log = Log()

    def twice() -> None:
        log.turns.bring(2)
        log.turns.bring(3)
        log.said.append("end of 1")

    log.turns.bring(twice)
    assert log.said == [twice, "end of 1", 2, 3, "rest"]


def test_what_the_rest_brings_is_done_too() -> None:
    seen: list[int] = []
    left = [2, 3]
    turns = Turns(seen.append, rest=lambda: turns.bring(left.pop(0)) if left else None)
    turns.bring(1)
    assert seen == [1, 2, 3]


def test_a_thread_that_comes_while_another_is_at_work_returns_at_once() -> None:
    log = Log()
    begun, gate = threading.Event(), threading.Event()
    wait = block_until(gate)

    def block() -> None:
        begun.set()
        wait()

    worker = threading.Thread(target=log.turns.bring, args=(block,), daemon=True)
    worker.start()
    assert begun.wait(BOUND)
    log.turns.bring("mine")
    assert log.said == [block]
    assert len(log.turns) == 1
    gate.set()
    worker.join(BOUND)
    assert log.said == [block, "mine", "rest"]


@pytest.mark.parametrize("error", [Bang("no"), MemoryError(), GeneratorExit(), SystemExit(1)])
def test_after_an_error_of_the_work_everything_else_is_handed_back(error: BaseException) -> None:
    log = Log()

    def fail() -> None:
        log.turns.bring("waiting")
        raise error

    if isinstance(error, Exception):
        log.turns.bring(fail)
    else:
        # It is the thread that is asked to end, and it must hear of it.
        with pytest.raises(type(error)):
            log.turns.bring(fail)
    log.turns.bring("late")
    assert log.said == [fail, ("failed", error), ("discard", "waiting"), ("discard", "late")]


def test_an_error_of_the_rest_counts_as_one_of_the_work() -> None:
    error = Bang("no")
    said: list[object] = []
    turns: Turns[int] = Turns(said.append, rest=raising(error), failed=said.append, discard=said.append)
    turns.bring(1)
    turns.bring(2)
    assert said == [1, error, 2]


def test_what_the_failure_brings_is_handed_back_after_it() -> None:
    log = Log()
    error = Bang("no")

    def tell(_error: BaseException) -> None:
        log.turns.bring("from failed")
        log.said.append("told")

    log.turns = Turns(log._work, failed=tell, discard=lambda item: log.said.append(("discard", item)))
    fail = raising(error)
    log.turns.bring(fail)
    assert log.said == [fail, "told", ("discard", "from failed")]


def test_hooks_that_raise_harm_nobody(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[int] = []

    def discard(item: int) -> None:
        seen.append(item)
        raise Bang("discard")

    def fail(_item: int) -> None:
        raise Bang("work")

    def tell(_error: BaseException) -> None:
        raise Bang("failed")

    turns: Turns[int] = Turns(fail, failed=tell, discard=discard)
    for item in range(3):
        turns.bring(item)
    assert seen == [1, 2]
    assert [record.getMessage() for record in caplog.records] == [
        "the failure could not be told",
        "an item could not be discarded",
        "an item could not be discarded",
    ]


def test_a_filter_of_the_log_that_raises_harms_nobody() -> None:
    def refuse(_record: logging.LogRecord) -> bool:
        raise Bang("filter")

    def refuse_to_hear(_error: BaseException) -> None:
        raise Bang("told")

    logger = logging.getLogger("mcp_actors.runtime")
    logger.addFilter(refuse)
    try:
        turns: Turns[Any] = Turns(lambda job: job(), failed=refuse_to_hear, discard=lambda job: job())
        for _ in range(3):
            turns.bring(raising(Bang("no")))
    finally:
        logger.removeFilter(refuse)
    assert len(turns) == 0


@pytest.mark.parametrize("late", ["failed", "discard"])
def test_an_interrupt_while_a_failure_is_told_reaches_the_thread_and_holds_up_nobody(late: str) -> None:
    seen: list[object] = []

    def interrupted(item: object) -> None:
        seen.append(item)
        if len(seen) == 1:
            raise KeyboardInterrupt

    told: list[BaseException] = []
    hooks: dict[str, Any] = {"failed": told.append, "discard": seen.append, late: interrupted}
    turns: Turns[Any] = Turns(lambda job: job(), **hooks)
    error = Bang("no")

    def fail() -> None:
        turns.bring(1)
        turns.bring(2)
        raise error

    with pytest.raises(KeyboardInterrupt):
        turns.bring(fail)
    turns.bring(3)
    assert seen == ([error, 1, 2, 3] if late == "failed" else [1, 2, 3])
    assert told == ([] if late == "failed" else [error])


# -- interrupts between any two steps


def test_an_interrupt_at_any_step_strands_nothing_and_is_raised() -> None:
    steps = 0
    hit = True
    while hit:
        log = Log()
        log.turns._items.append("other")
        hit = interrupted_at(steps, "turns", partial(log.turns.bring, "mine"))
        # Nobody may have to come by to get things going again, unless it was not even begun.
        assert len(log.turns) == 0 or (log.said == [] and list(log.turns._items) == ["other"])
        log.turns.bring("next")
        assert len(log.turns) == 0
        settled = [item[1] if isinstance(item, tuple) else item for item in log.said if item != "rest"]
        failures = [item for item in settled if isinstance(item, KeyboardInterrupt)]
        missing = {"other", "mine"} - set(map(str, settled))
        # One may be missing: the one that `failed` answers for, or ours if it was not even taken.
        assert len(missing) <= len(failures) or missing == {"mine"}
        assert settled[-1] == "next"
        steps += 1
    assert steps > 8


# -- fork


@pytest.mark.requirement("runtime:fork")
def test_once_forgotten_it_discards_everything_and_what_waited_is_the_parents() -> None:
    log = Log()
    log.turns._items.append("the parent's")
    log.turns._turn[0] = "a thread that does not exist here"
    log.turns.forget()
    log.turns.bring(1)
    log.turns.bring(2)
    assert log.said == [("discard", 1), ("discard", 2)]


@pytest.mark.requirement("runtime:fork")
def test_work_that_forks_comes_to_its_end_in_the_child() -> None:
    source = """
import os
from mcp_actors.runtime.turns import Turns
said = []
turns = Turns(lambda job: job(), rest=lambda: said.append("rest"), discard=lambda _: said.append("discarded"))
def fork():
    turns.bring(lambda: said.append("second"))
    if pid := os.fork():
        os.waitpid(pid, 0)
    else:
        turns.forget()
turns.bring(fork)
turns.bring(lambda: said.append("third"))
print(" ".join(said), flush=True)
"""
    assert run_script(source).splitlines() == ["discarded", "second rest third rest"]


# -- many threads


class Meter:
    """Counts the items of each thread, and whether two threads were ever inside at once."""

    def __init__(self, fail_at: int | None = None) -> None:
        self.seen: list[tuple[int, int]] = []
        self.discarded: list[tuple[int, int]] = []
        self.errors: list[BaseException] = []
        self.together = 0
        self._inside = threading.Lock()
        self._fail_at = fail_at
        self.turns = Turns(
            self.work, rest=self.rest, failed=self.errors.append, discard=self.discarded.append
        )

    def work(self, item: tuple[int, int]) -> None:
        if not self._inside.acquire(False):
            self.together += 1
            return
        self.seen.append(item)
        self._inside.release()
        if len(self.seen) == self._fail_at:
            raise Bang("enough")

    def rest(self) -> None:
        if not self._inside.acquire(False):
            self.together += 1
            return
        # The gap in which a careless worker overlooks what comes: the queue is empty, the turn still held.
        time.sleep(random.choice((0.0, 0.0, 2e-4)))
        self._inside.release()


def flood(
    turns: Turns[tuple[int, int]], threads: int, each: int, make: Callable[..., threading.Thread]
) -> None:
    start = threading.Barrier(threads)

    def bring(number: int) -> None:
        start.wait(BOUND)
        for count in range(each):
            turns.bring((number, count))

    crowd = [make(bring, number) for number in range(threads)]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join(BOUND)
        assert not thread.is_alive()


def waves(turns: Turns[tuple[int, int]], threads: int, count: int) -> list[int]:
    """All bring one item at a time, and wait for each other; how many items waited after each wave."""
    left: list[int] = []
    meeting = threading.Barrier(threads, action=lambda: left.append(len(turns)))

    def bring(number: int) -> None:
        for wave in range(count):
            # They all leave the meeting in the same moment: some have to be late.
            time.sleep(random.random() * 1e-3)
            turns.bring((number, wave))
            meeting.wait(BOUND)

    crowd = [stumbler(bring, number) for number in range(threads)]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join(BOUND)
        assert not thread.is_alive()
    return left


def plain(target: Callable[..., object], *args: object) -> threading.Thread:
    return threading.Thread(target=target, args=args, daemon=True)


def in_order(items: list[tuple[int, int]]) -> bool:
    latest: dict[int, int] = {}
    for number, count in items:
        if count <= latest.get(number, -1):
            return False
        latest[number] = count
    return True


@pytest.mark.stress
@pytest.mark.parametrize(("make", "threads", "each", "rounds"), [(plain, 16, 200, 5), (stumbler, 6, 8, 25)])
@pytest.mark.usefixtures("hasty_switching")
def test_among_many_threads_every_item_is_worked_on_once_in_order_by_one_thread(
    make: Callable[..., threading.Thread], threads: int, each: int, rounds: int
) -> None:
    for _ in range(rounds):
        meter = Meter()
        flood(meter.turns, threads, each, make)
        # Everybody has returned: nothing may be left, for nobody will come any more.
        assert len(meter.turns) == 0
        assert sorted(meter.seen) == [(number, count) for number in range(threads) for count in range(each)]
        assert meter.together == 0
        assert in_order(meter.seen)


@pytest.mark.stress
@pytest.mark.parametrize(("make", "threads", "each", "rounds"), [(plain, 16, 100, 5), (stumbler, 6, 8, 25)])
@pytest.mark.usefixtures("hasty_switching")
def test_among_many_threads_a_failure_is_told_once_and_each_item_is_worked_on_or_handed_back(
    make: Callable[..., threading.Thread], threads: int, each: int, rounds: int
) -> None:
    for turn in range(rounds):
        meter = Meter(fail_at=1 + turn * 7 % (threads * each))
        flood(meter.turns, threads, each, make)
        assert len(meter.turns) == 0
        assert [type(error) for error in meter.errors] == [Bang]
        assert len(meter.seen) == 1 + turn * 7 % (threads * each)
        both = meter.seen + meter.discarded
        assert sorted(both) == [(number, count) for number in range(threads) for count in range(each)]
        assert in_order(both)


@pytest.mark.stress
@pytest.mark.usefixtures("hasty_switching")
def test_when_everybody_has_returned_no_item_is_left() -> None:
    meter = Meter()
    assert waves(meter.turns, 3, 400) == [0] * 400
    assert len(meter.seen) == 1200


@pytest.mark.stress
@pytest.mark.usefixtures("hasty_switching")
def test_when_everybody_has_returned_after_a_failure_no_item_is_left() -> None:
    for _ in range(40):
        meter = Meter(fail_at=1)
        assert waves(meter.turns, 3, 3) == [0] * 3
        assert len(meter.seen + meter.discarded) == 9


@given(st.recursive(st.just(()), lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=12))
def test_items_that_bring_items_are_done_in_the_order_of_bringing(tree: tuple[Any, ...]) -> None:
    done: list[tuple[Any, ...]] = []
    brought: list[tuple[Any, ...]] = []

    def work(item: tuple[Any, ...]) -> None:
        done.append(item)
        for child in item:
            brought.append(child)
            turns.bring(child)
            # Never nested: it waits until this one is done.
            assert done[-1] is item

    turns: Turns[tuple[Any, ...]] = Turns(work)
    turns.bring(tree)
    assert done == [tree, *brought]
