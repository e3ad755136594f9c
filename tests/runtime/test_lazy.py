"""Lazy: made once, spent once."""

from __future__ import annotations

import threading

import pytest

from mcp_actors.runtime.lazy import Lazy, Spent
from tests.runtime.probes import BOUND


class Maker:
    """Makes objects and counts them."""

    def __init__(self) -> None:
        self.made = 0

    def __call__(self) -> object:
        self.made += 1
        return object()


def test_nothing_is_made_before_somebody_needs_it() -> None:
    maker = Maker()
    lazy = Lazy(maker)
    assert lazy.value is None
    assert lazy.get() is lazy.get() is lazy.value
    assert maker.made == 1


def test_what_was_spent_is_refused_and_handed_out_to_each_who_spends() -> None:
    lazy: Lazy[object] = Lazy(object)
    value = lazy.get()
    assert lazy.spend() is value
    assert lazy.spend() is value
    assert lazy.spent
    with pytest.raises(Spent):
        lazy.get()


def test_what_was_never_made_is_not_made_by_spending() -> None:
    lazy: Lazy[object] = Lazy(object)
    assert lazy.spend() is None
    with pytest.raises(Spent):
        lazy.get()


def test_a_dropped_value_is_made_anew_and_a_stale_one_changes_nothing() -> None:
    lazy: Lazy[object] = Lazy(object)
    first = lazy.get()
    lazy.drop(first)
    second = lazy.get()
    assert second is not first
    lazy.drop(first)
    assert lazy.get() is second


def test_a_forked_child_makes_its_own_even_if_the_lock_was_held() -> None:
    lazy: Lazy[object] = Lazy(object)
    first = lazy.get()
    lazy._lock.acquire()
    lazy.forget()
    assert lazy.get() is not first


@pytest.mark.stress
@pytest.mark.usefixtures("hasty_switching")
def test_of_many_who_come_first_one_makes_it() -> None:
    maker = Maker()
    lazy = Lazy(maker)
    threads = [threading.Thread(target=lazy.get) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(BOUND)
    assert maker.made == 1


def test_who_finds_it_made_after_waiting_for_the_lock_takes_it_as_it_is() -> None:
    lazy: Lazy[object] = Lazy(object)

    class Meanwhile:
        """A lock that was held by somebody who made the value."""

        def __enter__(self) -> None:
            lazy.value = "made meanwhile"

        def __exit__(self, *_: object) -> None:
            pass

    lazy._lock = Meanwhile()  # type: ignore[assignment]
    assert lazy.get() == "made meanwhile"


def test_a_signal_handler_may_spend_what_its_own_thread_is_making() -> None:
    discarded: list[object] = []

    def make() -> object:
        assert lazy.spend() is None
        return made

    made = object()
    lazy: Lazy[object] = Lazy(make, discarded.append)
    with pytest.raises(Spent):
        lazy.get()
    assert (discarded, lazy.value) == ([made], None)


def test_a_signal_handler_may_get_what_its_own_thread_is_making() -> None:
    discarded: list[object] = []
    maker = Maker()

    def make() -> object:
        # Only the first making is interrupted.
        if not maker.made:
            maker.made += 1
            inner.append(lazy.get())
        return maker()

    inner: list[object] = []
    lazy: Lazy[object] = Lazy(make, discarded.append)
    assert lazy.get() is inner[0] is lazy.value
    assert len(discarded) == 1
