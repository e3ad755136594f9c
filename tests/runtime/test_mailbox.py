"""Mailbox: nothing is lost in silence, and a cancelled timer cannot fire."""

from __future__ import annotations

import math
import threading
from queue import SimpleQueue
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_actors.runtime.mailbox import Mailbox, MailboxClosed, TimerFired
from tests.runtime.probes import BOUND, FakeClock, stumbler


def mailbox_with(clock: FakeClock) -> Mailbox:
    mailbox = Mailbox()
    mailbox.clock = clock
    return mailbox


def test_messages_come_out_in_the_order_they_were_put() -> None:
    mailbox = Mailbox()
    for item in "abc":
        mailbox.put(item)
    assert [mailbox.get() for _ in range(3)] == ["a", "b", "c"]
    assert mailbox.empty()


def test_the_depths_count_messages() -> None:
    mailbox = Mailbox()
    assert (mailbox.depth, mailbox.greatest_depth) == (0, 0)
    for item in range(3):
        mailbox.put(item)
    mailbox.get()
    mailbox.get()
    mailbox.put(3)
    assert (mailbox.depth, mailbox.greatest_depth) == (2, 3)


def test_a_message_that_was_waited_for_counts_as_one() -> None:
    mailbox = Mailbox()
    putter = threading.Timer(0.01, mailbox.put, ["late"])
    putter.start()
    assert mailbox.get() == "late"
    assert mailbox.greatest_depth == 1


@pytest.mark.requirement("runtime:mailbox:closable")
def test_a_put_after_close_is_refused() -> None:
    mailbox = Mailbox()
    mailbox.close()
    with pytest.raises(MailboxClosed):
        mailbox.put("late")
    assert mailbox.empty()


@pytest.mark.requirement("runtime:mailbox:closable")
def test_close_returns_what_was_left_once() -> None:
    mailbox = Mailbox()
    mailbox.put(1)
    mailbox.put(2)
    assert mailbox.close() == [1, 2]
    assert mailbox.close() == []


@pytest.mark.requirement("runtime:mailbox:closable")
def test_a_message_that_slips_in_during_close_is_handed_back_by_its_putter() -> None:
    mailbox = Mailbox()
    returned: list[Any] = []
    mailbox.undelivered = returned.append

    class ClosedInBetween(SimpleQueue[Any]):
        def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
            assert mailbox.close() == []
            super().put(item, block, timeout)

    mailbox._queue = ClosedInBetween()
    mailbox.put("late")
    assert returned == ["late"]
    assert mailbox.empty()


def test_a_mailbox_without_owner_drops_what_slips_in() -> None:
    Mailbox().undelivered("nobody answers for it")


class Crowd:
    """Three threads that put thirty messages each, and what became of every message."""

    def __init__(self) -> None:
        self.mailbox = Mailbox()
        self.fates: SimpleQueue[Any] = SimpleQueue()
        self.mailbox.undelivered = self.fates.put
        self._start = threading.Barrier(4)
        self._putters = [stumbler(self._put, first) for first in (0, 30, 60)]

    def _put(self, first: int) -> None:
        self._start.wait(BOUND)
        for number in range(first, first + 30):
            try:
                self.mailbox.put(number)
            except MailboxClosed:
                self.fates.put(number)

    def start(self) -> None:
        for putter in self._putters:
            putter.start()
        self._start.wait(BOUND)

    def disperse(self) -> list[Any]:
        for putter in self._putters:
            putter.join(BOUND)
        return sorted(self.fates.get_nowait() for _ in range(self.fates.qsize()))


@pytest.mark.stress
@pytest.mark.requirement("runtime:mailbox:closable")
@pytest.mark.usefixtures("hasty_switching")
def test_every_message_is_taken_returned_or_refused_exactly_once() -> None:
    for round_number in range(60):
        crowd = Crowd()
        crowd.start()
        for _ in range(round_number % 60):
            crowd.fates.put(crowd.mailbox.get())
        for leftover in crowd.mailbox.close():
            crowd.fates.put(leftover)
        assert crowd.disperse() == list(range(90))


@pytest.mark.requirement("runtime:mailbox:timers")
def test_a_due_timer_goes_before_waiting_messages() -> None:
    clock = FakeClock()
    mailbox = mailbox_with(clock)
    mailbox.put("message")
    mailbox.set_timer("tick", 1.0)
    clock.advance(1.0)
    assert [mailbox.get(), mailbox.get()] == [TimerFired("tick"), "message"]
    assert mailbox.timers == 0


def test_messages_go_before_timers_that_are_not_due() -> None:
    mailbox = mailbox_with(FakeClock())
    mailbox.set_timer("tick", 1.0)
    mailbox.put("message")
    assert mailbox.get() == "message"
    assert mailbox.timers == 1


@pytest.mark.requirement("runtime:mailbox:timers")
def test_waiting_for_a_message_ends_when_a_timer_is_due() -> None:
    mailbox = Mailbox()
    mailbox.set_timer("tick", 0.01)
    threads = threading.active_count()
    assert mailbox.get() == TimerFired("tick")
    assert threading.active_count() == threads


@pytest.mark.requirement("runtime:mailbox:timers")
def test_a_cancelled_timer_never_fires() -> None:
    clock = FakeClock()
    mailbox = mailbox_with(clock)
    mailbox.set_timer("a", 1.0)
    mailbox.set_timer("b", 2.0)
    clock.advance(3.0)
    assert mailbox.cancel_timer("a")
    assert not mailbox.cancel_timer("a")
    assert mailbox.get() == TimerFired("b")
    assert mailbox.timers == 0


@pytest.mark.requirement("runtime:mailbox:timers")
def test_setting_a_timer_replaces_the_earlier_one_of_its_key() -> None:
    clock = FakeClock()
    mailbox = mailbox_with(clock)
    mailbox.set_timer("a", 1.0)
    mailbox.set_timer("a", 3.0)
    mailbox.put("message")
    clock.advance(2.0)
    assert mailbox.get() == "message"
    clock.advance(1.0)
    assert mailbox.get() == TimerFired("a")


def test_closing_forgets_the_timers() -> None:
    mailbox = Mailbox()
    mailbox.set_timer("a", 1.0)
    mailbox.close()
    assert mailbox.timers == 0


def test_a_timer_that_never_comes_does_not_keep_messages_away() -> None:
    mailbox = Mailbox()
    mailbox.set_timer("never", math.inf)
    mailbox.put("message")
    assert mailbox.get() == "message"


@pytest.mark.parametrize("cancel", [True, False])
def test_a_hundred_thousand_dead_timers_take_no_room(cancel: bool) -> None:
    mailbox = mailbox_with(FakeClock())
    mailbox.set_timer("kept", 1.0)
    for number in range(100_000):
        mailbox.set_timer("again and again", float(number))
        if cancel:
            mailbox.cancel_timer("again and again")
    assert len(mailbox._alarms) < 100


class TimerModel:
    """A list of (due, order, key), searched from end to end."""

    def __init__(self) -> None:
        self.timers: dict[str, tuple[float, int]] = {}
        self.count = 0

    def set(self, key: str, due: float) -> None:
        self.count += 1
        self.timers[key] = (due, self.count)

    def due(self, now: float) -> list[str]:
        ripe = sorted((due, order, key) for key, (due, order) in self.timers.items() if due <= now)
        for _due, _order, key in ripe:
            del self.timers[key]
        return [key for _due, _order, key in ripe]


steps = st.lists(
    st.one_of(
        st.tuples(st.just("set"), st.sampled_from("abcd"), st.integers(-1, 5)),
        st.tuples(st.just("cancel"), st.sampled_from("abcd"), st.just(0)),
        st.tuples(st.just("advance"), st.just(""), st.integers(0, 4)),
    ),
    max_size=60,
)


@pytest.mark.requirement("runtime:mailbox:timers")
@given(steps)
def test_timers_fire_as_the_model_says(program: list[tuple[str, str, int]]) -> None:
    clock, model = FakeClock(), TimerModel()
    mailbox = mailbox_with(clock)
    for action, key, seconds in program:
        if action == "set":
            mailbox.set_timer(key, seconds)
            model.set(key, clock.now + seconds)
        elif action == "cancel":
            assert mailbox.cancel_timer(key) == (model.timers.pop(key, None) is not None)
        else:
            clock.advance(seconds)
            for expected in model.due(clock.now):
                assert mailbox.get() == TimerFired(expected)
        assert mailbox.timers == len(model.timers)
        mailbox.put("nothing else is due" if action == "advance" else action)
        if action == "advance":
            while (item := mailbox.get()) in ("set", "cancel"):
                pass
            assert item == "nothing else is due"
