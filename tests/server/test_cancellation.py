"""Cancellation: told once, waited for, subscribed to."""

from __future__ import annotations

import threading

import pytest

from mcp_actors.server.cancellation import Cancellation
from tests.client.waiting import BOUND, in_thread, until


def test_the_first_reason_stays() -> None:
    one = Cancellation()
    assert not one
    one.cancel("first")
    one.cancel("second")
    assert one
    assert one.reason == "first"


def test_whoever_waits_is_woken() -> None:
    one = Cancellation()
    waiting = [in_thread(lambda: one.wait(BOUND)) for _ in range(3)]
    until(lambda: len(one._hooks) == 3)
    one.cancel("enough")
    assert [future.result(BOUND) for future in waiting] == [True] * 3
    assert one.wait(BOUND)


def test_a_wait_that_is_over_leaves_nothing() -> None:
    one = Cancellation()
    assert not any(one.wait(0.0) for _ in range(100))
    assert one._hooks == []


def test_a_hook_is_called_once_before_or_after() -> None:
    one, called = Cancellation(), list[str]()
    one.on_cancel(lambda: called.append("before"))
    one.cancel("now")
    one.cancel("again")
    one.on_cancel(lambda: called.append("after"))
    assert called == ["before", "after"]


@pytest.mark.stress
def test_a_hook_is_called_once_whoever_comes_first() -> None:
    for _ in range(200):
        one, called, start = Cancellation(), list[int](), threading.Barrier(3)

        def cancel(one: Cancellation = one, start: threading.Barrier = start) -> None:
            start.wait(BOUND)
            one.cancel("now")

        threads = [in_thread(cancel) for _ in range(2)]
        start.wait(BOUND)
        for _ in range(3):
            one.on_cancel(lambda called=called: called.append(1))  # type: ignore[misc]
        for thread in threads:
            thread.result(BOUND)
        assert len(called) == 3


def test_a_hook_that_another_thread_took_is_not_called_again() -> None:
    one = Cancellation()

    class Vanishing(list):  # type: ignore[type-arg]
        """A list that is emptied by another thread between the look and the pop."""

        def __bool__(self) -> bool:
            return True

    one._hooks = Vanishing()
    one.cancel("now")
