"""Permits: nothing passes the gate unpermitted, and closing it wakes whoever waits."""

from __future__ import annotations

import threading
from queue import SimpleQueue

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.permits import Permits
from tests.runtime.probes import BOUND, at_once, soon, stumbler


@pytest.mark.requirement("runtime:permits:active-once")
def test_one_permit_lets_one_through() -> None:
    permits = Permits()
    permits.grant()
    assert permits.outstanding == 1
    assert permits.take(soon())
    assert not permits.take(at_once())
    assert (permits.granted, permits.taken, permits.outstanding) == (1, 1, 0)


@pytest.mark.requirement("runtime:permits:active-once")
def test_no_more_than_the_window_can_be_out() -> None:
    permits = Permits()
    permits.grant()
    with pytest.raises(ValueError, match="1 of 1 permits are out"):
        permits.grant()
    assert permits.granted == 1


def test_a_wider_window_lets_as_many_through() -> None:
    permits = Permits(window=3)
    permits.grant(3)
    assert [permits.take(at_once()) for _ in range(4)] == [True, True, True, False]


@pytest.mark.parametrize("n", [0, -1])
def test_granting_nothing_is_a_mistake(n: int) -> None:
    with pytest.raises(ValueError, match="cannot grant"):
        Permits().grant(n)


def test_a_window_of_nothing_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Permits(window=0)


def test_a_taker_waits_for_the_permit() -> None:
    permits = Permits()
    granter = threading.Timer(0.01, permits.grant)
    granter.start()
    assert permits.take()


def test_closing_wakes_every_taker() -> None:
    permits = Permits()
    results: list[bool] = []
    takers = [threading.Thread(target=lambda: results.append(permits.take()), daemon=True) for _ in range(3)]
    for taker in takers:
        taker.start()
    permits.close()
    for taker in takers:
        taker.join(BOUND)
    assert results == [False] * 3


def test_a_closed_gate_honours_no_permit_and_takes_none() -> None:
    permits = Permits()
    permits.grant()
    permits.close()
    permits.close()
    permits.grant()
    assert permits.closed
    assert not permits.take()
    assert (permits.granted, permits.taken) == (1, 0)


@given(
    st.integers(1, 4), st.lists(st.one_of(st.integers(1, 5), st.sampled_from(["take", "close"])), max_size=40)
)
def test_permits_do_as_a_counter_would(window: int, program: list[int | str]) -> None:
    permits = Permits(window)
    out, closed = 0, False
    for step in program:
        if step == "close":
            permits.close()
            closed = True
        elif step == "take":
            assert permits.take(at_once() if closed or out else soon_over()) == (out > 0 and not closed)
            out -= out > 0 and not closed
        elif closed or out + int(step) <= window:
            permits.grant(int(step))
            out += 0 if closed else int(step)
        else:
            with pytest.raises(ValueError, match="cannot grant"):
                permits.grant(int(step))
        assert permits.outstanding == out <= window


def soon_over() -> Deadline:
    """No permit will come: the wait need not last."""
    return Deadline.after(0.0)


@pytest.mark.stress
@pytest.mark.requirement("runtime:permits:active-once")
@pytest.mark.usefixtures("hasty_switching")
def test_closing_never_leaves_a_taker_waiting() -> None:
    for _ in range(100):
        permits = Permits()
        passed: SimpleQueue[bool] = SimpleQueue()

        def read(permits: Permits = permits, passed: SimpleQueue[bool] = passed) -> None:
            while permits.take():
                passed.put(True)
                permits.grant()

        reader = stumbler(read)
        reader.start()
        permits.grant()
        assert passed.get(timeout=BOUND)
        permits.close()
        reader.join(BOUND)
        assert not reader.is_alive()
        assert passed.qsize() + 1 == permits.taken <= permits.granted
