"""Admission: so many inside and no more."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_actors.runtime.admission import Admission
from mcp_actors.runtime.deadline import Deadline
from tests.runtime.probes import BOUND


@given(st.integers(1, 5), st.lists(st.booleans(), max_size=40))
def test_never_more_inside_than_the_limit(limit: int, steps: list[bool]) -> None:
    admission, inside, greatest = Admission(limit), 0, 0
    for enters in steps:
        if enters:
            assert admission.enter() is (inside < limit)
            inside = min(limit, inside + 1)
        elif inside:
            admission.leave()
            inside -= 1
        greatest = max(greatest, inside)
        assert (admission.inside, admission.greatest) == (inside, greatest)


@pytest.mark.requirement("request:admission")
def test_without_room_entering_fails_at_once() -> None:
    admission = Admission(1)
    assert admission.enter()
    assert not admission.enter()


@pytest.mark.requirement("request:admission")
def test_who_may_wait_comes_in_when_somebody_leaves() -> None:
    admission = Admission(1)
    admission.enter()
    entered = threading.Event()

    def want() -> None:
        if admission.enter(Deadline.after(BOUND)):
            entered.set()

    thread = threading.Thread(target=want)
    thread.start()
    admission.leave()
    thread.join(BOUND)
    assert entered.is_set()
    assert admission.inside == 1


def test_who_waits_longer_than_the_deadline_stays_out() -> None:
    admission = Admission(1)
    admission.enter()
    assert not admission.enter(Deadline.after(0.01))
    assert admission.inside == 1


def test_places_are_given_in_the_order_of_coming() -> None:
    admission = Admission(1)
    order: list[int] = []
    admission.enter()

    def want(name: int) -> None:
        if admission.enter(Deadline.after(BOUND)):
            order.append(name)
            admission.leave()

    threads = [threading.Thread(target=want, args=(name,)) for name in range(5)]
    for number, thread in enumerate(threads, start=1):
        thread.start()
        given_up = Deadline.after(BOUND)
        while len(admission._waiting) < number and not given_up.expired:
            threading.Event().wait(0.001)
    admission.leave()
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
    admission.enter()
    overtaken: list[bool] = []

    def leave_and_come_again() -> None:
        admission.leave()
        overtaken.append(admission.enter())

    assert admission.enter(Meddler(leave_and_come_again))
    assert overtaken == [False]


def test_a_place_that_comes_at_the_last_moment_is_taken() -> None:
    admission = Admission(1)
    admission.enter()

    class LateLock:
        """Between the end of the wait and the look at the list, somebody leaves."""

        def __enter__(self) -> None:
            if admission._waiting:
                admission._waiting.popleft().release()

        def __exit__(self, *_: object) -> None:
            pass

    def swap() -> None:
        admission._lock = LateLock()  # type: ignore[assignment]

    assert admission.enter(Meddler(swap))
    assert admission.inside == 1


def interrupt() -> None:
    raise KeyboardInterrupt


def test_an_interrupted_waiter_waits_no_longer() -> None:
    admission = Admission(1)
    admission.enter()
    with pytest.raises(KeyboardInterrupt):
        admission.enter(Meddler(interrupt))
    admission.leave()
    assert admission.inside == 0


def test_an_interrupted_waiter_gives_back_the_place_it_was_just_given() -> None:
    admission = Admission(1)
    admission.enter()

    def give_and_interrupt() -> None:
        admission.leave()
        interrupt()

    with pytest.raises(KeyboardInterrupt):
        admission.enter(Meddler(give_and_interrupt))
    assert admission.inside == 0


def test_in_a_forked_child_a_lock_of_the_parent_keeps_nobody_from_going_out() -> None:
    admission = Admission(1)
    assert admission.enter()
    with admission._lock:
        admission.forget()
        admission.leave()
    assert admission.inside == 0
