"""Admission: so many inside and no more."""

from __future__ import annotations

import threading

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
