"""Admission: so many inside and no more."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_actors.runtime.admission import Admission
from mcp_actors.runtime.deadline import Deadline
from tests.runtime.interruption import interrupted_at
from tests.runtime.probes import BOUND


@given(st.integers(1, 5), st.lists(st.tuples(st.booleans(), st.integers(0, 7)), max_size=40))
def test_never_more_inside_than_the_limit(limit: int, steps: list[tuple[bool, int]]) -> None:
    admission = Admission(limit)
    inside: set[int] = set()
    greatest = 0
    for enters, caller in steps:
        if not enters:
            admission.leave(caller)
            inside.discard(caller)
        elif caller not in inside:
            assert admission.enter(caller) is (len(inside) < limit)
            if len(inside) < limit:
                inside.add(caller)
        greatest = max(greatest, len(inside))
        assert (admission.inside, admission.greatest) == (len(inside), greatest)


@pytest.mark.requirement("request:admission")
def test_without_room_entering_fails_at_once() -> None:
    admission = Admission(1)
    assert admission.enter("a")
    assert not admission.enter("b")


@pytest.mark.requirement("request:admission")
def test_who_may_wait_comes_in_when_somebody_leaves() -> None:
    admission = Admission(1)
    admission.enter("a")
    entered = threading.Event()

    def want() -> None:
        if admission.enter("b", Deadline.after(BOUND)):
            entered.set()

    thread = threading.Thread(target=want)
    thread.start()
    admission.leave("a")
    thread.join(BOUND)
    assert entered.is_set()
    assert admission.inside == 1


def test_who_waits_longer_than_the_deadline_stays_out() -> None:
    admission = Admission(1)
    admission.enter("a")
    assert not admission.enter("b", Deadline.after(0.01))
    admission.leave("a")
    assert admission.inside == 0


def test_places_are_given_in_the_order_of_coming() -> None:
    admission = Admission(1)
    order: list[int] = []
    admission.enter("first")

    def want(name: int) -> None:
        if admission.enter(name, Deadline.after(BOUND)):
            order.append(name)
            admission.leave(name)

    threads = [threading.Thread(target=want, args=(name,)) for name in range(5)]
    for number, thread in enumerate(threads, start=1):
        thread.start()
        given_up = Deadline.after(BOUND)
        while len(admission._waiting) < number and not given_up.expired:
            threading.Event().wait(0.001)
    admission.leave("first")
    for thread in threads:
        thread.join(BOUND)
    assert order == [0, 1, 2, 3, 4]
    assert admission.inside == 0


class Meddler(Deadline):
    """A deadline that has passed, and does something else in the moment it is looked at."""

    def __init__(self, meddle: Callable[[], object]) -> None:
        super().__init__(0.0)
        self._meddle = meddle

    def remaining(self) -> float:
        self._meddle()
        return 0.0


def test_a_newcomer_does_not_overtake_whoever_waits() -> None:
    admission = Admission(1)
    admission.enter("a")
    overtaken: list[bool] = []

    def leave_and_come_again() -> None:
        admission.leave("a")
        overtaken.append(admission.enter("c"))

    assert admission.enter("b", Meddler(leave_and_come_again))
    assert overtaken == [False]


def test_a_place_that_comes_at_the_last_moment_is_taken() -> None:
    admission = Admission(1)
    admission.enter("a")
    lock = admission._lock

    class LateLock:
        """Between the end of the wait and the look who is inside, somebody leaves."""

        def __enter__(self) -> None:
            admission._lock = lock
            admission.leave("a")

        def __exit__(self, *_: object) -> None:
            pass

    def swap() -> None:
        admission._lock = LateLock()  # type: ignore[assignment]

    assert admission.enter("b", Meddler(swap))
    assert admission.inside == 1


def interrupt() -> None:
    raise KeyboardInterrupt


def test_who_was_interrupted_while_waiting_leaves_and_waits_no_longer() -> None:
    admission = Admission(1)
    admission.enter("a")
    with pytest.raises(KeyboardInterrupt):
        admission.enter("b", Meddler(interrupt))
    admission.leave("b")
    assert admission.inside == 1
    admission.leave("a")
    assert admission.inside == 0


def test_who_was_interrupted_when_it_was_given_a_place_leaves_that_too() -> None:
    admission = Admission(1)
    admission.enter("a")

    def give_and_interrupt() -> None:
        admission.leave("a")
        interrupt()

    with pytest.raises(KeyboardInterrupt):
        admission.enter("b", Meddler(give_and_interrupt))
    admission.leave("b")
    assert admission.inside == 0


@pytest.mark.parametrize("module", ["admission", "lock"])
@pytest.mark.parametrize("inside", [0, 1])
def test_an_interrupt_at_any_step_of_coming_in_is_undone_by_leaving(module: str, inside: int) -> None:
    steps, hit = 0, True
    while hit:
        admission = Admission(1)
        for caller in range(inside):
            admission.enter(caller)
        hit = interrupted_at(steps, module, partial(admission.enter, "b", Deadline.after(0.0)))
        admission.leave("b")
        assert admission.inside == inside
        assert not admission._waiting
        assert in_another_thread(partial(admission.enter, "c")) is (inside == 0)
        steps += 1
    assert steps > 1


@pytest.mark.parametrize("module", ["admission", "lock"])
def test_an_interrupt_at_any_step_of_leaving_is_made_good_by_the_next_to_leave(module: str) -> None:
    steps, hit = 0, True
    while hit:
        admission = Admission(1)
        admission.enter("a")
        came_in = threading.Event()

        def want(admission: Admission, came_in: threading.Event) -> None:
            if admission.enter("b", Deadline.after(BOUND)):
                came_in.set()

        waiting = threading.Thread(target=want, args=(admission, came_in))
        waiting.start()
        given_up = Deadline.after(BOUND)
        while not admission._waiting and not given_up.expired:
            threading.Event().wait(0.001)
        hit = interrupted_at(steps, module, partial(admission.leave, "a"))
        in_another_thread(partial(admission.leave, "a"))
        assert came_in.wait(BOUND)
        waiting.join(BOUND)
        assert admission.inside == 1
        steps += 1
    assert steps > 1


def test_a_bell_that_was_rung_before_an_interrupt_is_not_rung_again() -> None:
    admission = Admission(1)
    admission.enter("a")
    admission._waiting["b"] = threading.Lock()
    admission.leave("a")
    assert (admission._inside, admission._waiting) == ({"b"}, {})


def in_another_thread(work: Callable[[], Any]) -> Any:
    """What it returned. Whoever holds a lock could take it again; another one could not."""
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(work()), daemon=True)
    thread.start()
    thread.join(BOUND)
    assert results, "it waits for a lock"
    return results[0]


def test_in_a_forked_child_a_lock_of_the_parent_keeps_nobody_from_going_out() -> None:
    admission = Admission(1)
    assert admission.enter("a")
    with admission._lock:
        admission.forget()
        admission.leave("a")
    assert admission.inside == 0
