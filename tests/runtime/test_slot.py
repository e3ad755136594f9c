"""Slot and ProgressSlot: the first answer wins, and nothing offered before it is lost."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest

from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.slot import ForkedSlot, ProgressSlot, Slot, SlotTimeout, _Process
from tests.runtime.probes import BOUND, Bang, FakeClock, at_once, run_script, soon, stumbler

both = pytest.mark.parametrize("make", [Slot, ProgressSlot])
Make = Callable[[], Slot[Any]]


@both
def test_the_first_answer_wins(make: Make) -> None:
    slot = make()
    assert not slot.is_set
    assert slot.set("first")
    assert not slot.set("second")
    assert slot.wait(soon()) == "first"
    assert slot.wait(at_once()) == "first"


@both
def test_none_is_an_answer(make: Make) -> None:
    slot = make()
    slot.set(None)
    assert slot.is_set
    assert slot.wait(at_once()) is None


@both
def test_a_waiter_is_woken_by_the_answer(make: Make) -> None:
    slot = make()
    setter = threading.Timer(0.01, slot.set, ["answer"])
    setter.start()
    assert slot.wait(soon()) == "answer"


@both
def test_after_a_timeout_the_slot_can_be_waited_on_again(make: Make) -> None:
    slot = make()
    with pytest.raises(SlotTimeout):
        slot.wait(at_once())
    slot.set("late")
    assert slot.wait(at_once()) == "late"


@both
def test_an_answer_in_the_moment_of_the_timeout_is_not_lost(make: Make) -> None:
    slot = make()

    class SetWhileExpiring(Deadline):
        def remaining(self) -> float:
            slot._value = "just in time"
            return 0.0

    assert slot.wait(SetWhileExpiring(1e12)) == "just in time"


def test_all_waiters_get_the_answer() -> None:
    slot: Slot[str] = Slot()
    answers: list[str] = []
    waiters = [threading.Thread(target=lambda: answers.append(slot.wait(soon()))) for _ in range(3)]
    for waiter in waiters:
        waiter.start()
    slot.set("answer")
    for waiter in waiters:
        waiter.join(BOUND)
    assert answers == ["answer"] * 3


@both
def test_an_interrupted_wait_leaves_the_slot_usable(make: Make) -> None:
    slot = make()
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        main = threading.main_thread().ident
        interrupter = threading.Timer(0.05, signal.pthread_kill, [main, signal.SIGINT])
        interrupter.start()
        with pytest.raises(KeyboardInterrupt):
            slot.wait(soon())
        interrupter.join(BOUND)
    finally:
        signal.signal(signal.SIGINT, usual)
    assert not slot.is_set
    slot.set("later")
    assert slot.wait(at_once()) == "later"


@both
def test_a_hook_is_called_once_by_the_setter(make: Make) -> None:
    slot = make()
    calls: list[tuple[object, threading.Thread]] = []
    slot.on_set(lambda value: calls.append((value, threading.current_thread())))
    setter = threading.Thread(target=slot.set, args=("answer",))
    setter.start()
    setter.join(BOUND)
    slot.set("second")
    assert calls == [("answer", setter)]


@both
def test_a_hook_is_called_at_once_if_the_answer_is_there(make: Make) -> None:
    slot = make()
    slot.set("answer")
    calls: list[object] = []
    slot.on_set(calls.append)
    assert calls == ["answer"]


def test_a_hook_that_somebody_else_took_is_not_called_twice() -> None:
    class TakenMeanwhile(list[Any]):
        def pop(self, *_args: Any) -> Any:
            super().clear()
            raise IndexError

    slot: Slot[str] = Slot()
    slot._hook = TakenMeanwhile()
    slot.set("answer")
    slot.on_set(lambda _value: pytest.fail("called twice"))


@pytest.mark.stress
@pytest.mark.usefixtures("hasty_switching")
def test_answer_timeout_and_hook_race_without_loss() -> None:
    for _ in range(60):
        slot: Slot[int] = Slot()
        hooked: list[int] = []
        wins: list[bool] = []
        setters = [stumbler(lambda n=n, slot=slot, wins=wins: wins.append(slot.set(n))) for n in range(4)]
        for setter in setters:
            setter.start()
        slot.on_set(hooked.append)
        try:
            early: int | None = slot.wait(Deadline.after(0.0))
        except SlotTimeout:
            early = None
        for setter in setters:
            setter.join(BOUND)
        assert sorted(wins) == [False, False, False, True]
        answer = slot.wait(at_once())
        assert early in (None, answer)
        assert hooked == [answer]


def test_items_are_handed_out_in_order_on_the_waiting_thread_before_the_answer() -> None:
    slot: ProgressSlot[str] = ProgressSlot()
    seen: list[tuple[int, threading.Thread]] = []

    def work() -> None:
        for number in range(5):
            slot.offer(number)
        slot.set("answer")

    worker = threading.Thread(target=work)
    worker.start()
    assert slot.wait(soon(), lambda item: seen.append((item, threading.current_thread()))) == "answer"
    worker.join(BOUND)
    assert seen == [(number, threading.current_thread()) for number in range(5)]
    assert slot.merged == 0


def test_items_arrive_while_the_answer_is_awaited() -> None:
    slot: ProgressSlot[str] = ProgressSlot()
    slot.offer("one")
    seen: list[str] = []

    def on_item(item: str) -> None:
        seen.append(item)
        if item == "one":
            slot.offer("two")
        else:
            slot.set("answer")

    assert slot.wait(soon(), on_item) == "answer"
    assert seen == ["one", "two"]


def test_nobody_needs_to_look_at_the_items() -> None:
    slot: ProgressSlot[str] = ProgressSlot()
    slot.offer("unseen")
    slot.set("answer")
    assert slot.wait(soon()) == "answer"


def test_of_too_many_items_the_oldest_are_merged_away_and_counted() -> None:
    slot: ProgressSlot[str] = ProgressSlot()
    for number in range(300):
        slot.offer(number)
    slot.set("answer")
    seen: list[int] = []
    slot.wait(soon(), seen.append)
    assert seen == list(range(44, 300))
    assert slot.merged == 44


def test_an_exception_of_the_callback_reaches_the_waiter_who_may_go_on() -> None:
    slot: ProgressSlot[str] = ProgressSlot()
    slot.offer("bad")
    slot.offer("good")

    def refuse(_item: str) -> None:
        raise Bang

    with pytest.raises(Bang):
        slot.wait(soon(), refuse)
    slot.set("answer")
    seen: list[str] = []
    assert slot.wait(soon(), seen.append) == "answer"
    assert seen == ["good"]


def test_steady_news_does_not_outlast_the_deadline() -> None:
    clock = FakeClock()
    slot: ProgressSlot[str] = ProgressSlot()
    slot.offer("news")

    def on_item(_item: str) -> None:
        clock.advance(1.0)
        slot.offer("more news")

    with pytest.raises(SlotTimeout):
        slot.wait(Deadline.after(3.0, clock), on_item)


@pytest.mark.stress
@pytest.mark.usefixtures("hasty_switching")
def test_no_item_offered_before_the_answer_is_ever_missed() -> None:
    for _ in range(100):
        slot: ProgressSlot[str] = ProgressSlot()

        def work(slot: ProgressSlot[str] = slot) -> None:
            for number in range(20):
                slot.offer(number)
            slot.set("answer")

        worker = threading.Thread(target=work)
        worker.start()
        seen: list[int] = []
        assert slot.wait(soon(), seen.append) == "answer"
        worker.join(BOUND)
        assert seen == list(range(20))


@both
def test_a_slot_of_another_process_is_refused(make: Make) -> None:
    slot = make()
    slot._pid = -1
    with pytest.raises(ForkedSlot, match="made in process -1"):
        slot.wait(soon())


def test_the_process_is_known_without_asking_the_kernel() -> None:
    before = _Process.pid
    _Process.forked()
    assert _Process.pid == before


@pytest.mark.requirement("runtime:fork")
def test_in_a_forked_child_a_slot_of_the_parent_is_refused_and_a_new_one_works() -> None:
    script = """
import os, sys
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.slot import ForkedSlot, Slot
old = Slot()
child = os.fork()
if child:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
try:
    old.wait(Deadline.after(5.0))
except ForkedSlot:
    new = Slot()
    new.set("works")
    print(new.wait(Deadline.after(5.0)))
"""
    assert run_script(script) == "works\n"
