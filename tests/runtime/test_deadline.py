"""Deadline: a moment, not a duration."""

from __future__ import annotations

import math
import threading
from queue import Empty, SimpleQueue

import pytest

from mcp_actors.runtime.deadline import Deadline
from tests.runtime.probes import FakeClock


def test_what_remains_shrinks_with_the_clock_and_is_never_negative() -> None:
    clock = FakeClock()
    deadline = Deadline.after(2.0, clock)
    assert (deadline.remaining(), deadline.expired) == (2.0, False)
    clock.advance(1.5)
    assert (deadline.remaining(), deadline.expired) == (0.5, False)
    clock.advance(0.5)
    assert (deadline.remaining(), deadline.expired) == (0.0, True)
    clock.advance(9.0)
    assert (deadline.remaining(), deadline.expired) == (0.0, True)


def test_an_endless_deadline_is_accepted_by_locks_and_queues() -> None:
    deadline = Deadline.after(math.inf)
    assert not deadline.expired
    assert threading.Lock().acquire(timeout=deadline.remaining())
    queue: SimpleQueue[int] = SimpleQueue()
    queue.put(1)
    assert queue.get(timeout=deadline.remaining()) == 1


def test_an_expired_deadline_is_accepted_by_queues() -> None:
    queue: SimpleQueue[int] = SimpleQueue()
    with pytest.raises(Empty):
        queue.get(timeout=Deadline.after(-1.0).remaining())


def test_it_prints_what_remains() -> None:
    assert repr(Deadline.after(2.0, FakeClock())) == "<Deadline in 2.000 s>"


def test_a_later_moment_is_counted_from_the_deadline_and_not_from_now() -> None:
    clock = FakeClock()
    deadline = Deadline.after(2.0, clock)
    clock.advance(1.5)
    assert deadline.later(1.0).remaining() == 1.5
