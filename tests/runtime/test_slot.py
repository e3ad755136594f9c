"""Slots: the first answer wins, nothing offered before it is lost, and work is done by the waiter."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest

from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.slot import ForkedSlot, ProgressSlot, Slot, SlotTimeout, WorkSlot, _Process
from tests.runtime.probes import BOUND, Bang, FakeClock, at_once, run_script, soon, stumbler

every = pytest.mark.parametrize("make", [Slot, ProgressSlot, WorkSlot])
Make = Callable[[], Slot[Any]]


@every
def test_the_first_answer_wins(make: Make) -> None:
    slot = make()
    assert not slot.is_set
    assert slot.set("first")
    assert not slot.set("second")
    assert slot.wait(soon()) == "first"
    assert slot.wait(at_once()) == "first"


@every
def test_none_is_an_answer(make: Make) -> None:
    slot = make()
    slot.set(None)
    assert slot.is_set
    assert slot.wait(at_once()) is None


@every
def test_a_waiter_is_woken_by_the_answer(make: Make) -> None:
    slot = make()
    setter = threading.Timer(0.01, slot.set, ["answer"])
    setter.start()
    assert slot.wait(soon()) == "answer"


@every
def test_after_a_timeout_the_slot_can_be_waited_on_again(make: Make) -> None:
    slot = make()
    with pytest.raises(SlotTimeout):
        slot.wait(at_once())
    slot.set("late")
    assert slot.wait(at_once()) == "late"


@every
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


@every
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


@every
def test_a_hook_is_called_once_by_the_setter(make: Make) -> None:
    slot = make()
    calls: list[tuple[object, threading.Thread]] = []
    slot.on_set(lambda value: calls.append((value, threading.current_thread())))
    setter = threading.Thread(target=slot.set, args=("answer",))
    setter.start()
    setter.join(BOUND)
    slot.set("second")
    assert calls == [("answer", setter)]


@every
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


@every
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


# Work.


class Labour:
    """Work that settles its slot, or waits until it is stopped."""

    def __init__(self, slot: WorkSlot[str], answer: str | None = None) -> None:
        self.slot = slot
        self.answer = answer
        self.threads: list[threading.Thread] = []
        self.begun = threading.Event()
        self.stopped = threading.Event()

    def run(self, deadline: Deadline) -> None:
        self.threads.append(threading.current_thread())
        self.begun.set()
        if self.answer is None:
            assert self.stopped.wait(deadline.remaining())
        else:
            self.slot.settle(self.answer)

    def stop(self) -> None:
        self.stopped.set()


def test_work_is_done_once_by_the_thread_that_waits() -> None:
    slot: WorkSlot[str] = WorkSlot()
    work = Labour(slot, "found")
    threading.Timer(0.01, slot.give, [work]).start()
    assert slot.wait(soon()) == "found"
    assert slot.wait(at_once()) == "found"
    assert work.threads == [threading.current_thread()]
    assert not work.stopped.is_set()


def test_work_that_was_given_before_the_wait_is_done() -> None:
    slot: WorkSlot[str] = WorkSlot()
    slot.give(Labour(slot, "found"))
    assert slot.wait(soon()) == "found"


def test_an_answer_from_elsewhere_stops_the_work() -> None:
    slot: WorkSlot[str] = WorkSlot()
    work = Labour(slot)
    slot.give(work)

    def interfere() -> None:
        assert work.begun.wait(BOUND)
        assert slot.set("enough")

    threading.Thread(target=interfere).start()
    assert slot.wait(soon()) == "enough"
    assert work.stopped.is_set()


def test_work_that_comes_to_nothing_leaves_the_answer_to_others() -> None:
    slot: WorkSlot[str] = WorkSlot()
    work = Labour(slot)
    work.stop()
    slot.give(work)
    with pytest.raises(SlotTimeout):
        slot.wait(at_once())
    threading.Timer(0.01, slot.set, ["told"]).start()
    assert slot.wait(soon()) == "told"
    assert len(work.threads) == 1


def test_work_is_not_begun_after_the_answer_and_hears_of_it() -> None:
    slot: WorkSlot[str] = WorkSlot()
    work = Labour(slot, "found")
    slot.give(work)
    assert slot.set("faster")
    assert work.stopped.is_set()
    assert slot.wait(at_once()) == "faster"
    assert work.threads == []


def test_what_the_work_found_too_late_does_not_count() -> None:
    slot: WorkSlot[str] = WorkSlot()
    work = Labour(slot, "found")
    slot.set("faster")
    work.run(soon())
    assert slot.wait(at_once()) == "faster"


def test_once_the_work_has_settled_it_nobody_stops_it() -> None:
    slot: WorkSlot[str] = WorkSlot()
    work = Labour(slot, "found")
    slot.give(work)
    work.run(soon())
    assert not slot.set("told")
    assert not work.stopped.is_set()


def test_an_exception_of_the_work_reaches_the_waiter() -> None:
    class Stumble(Labour):
        def run(self, deadline: Deadline) -> None:
            super().run(deadline)
            raise Bang

    slot: WorkSlot[str] = WorkSlot()
    work = Stumble(slot)
    work.stop()
    slot.give(work)
    with pytest.raises(Bang):
        slot.wait(soon())
    assert slot.set("told")
    assert slot.wait(at_once()) == "told"


def test_work_that_broke_off_hears_that_nobody_waits_for_it_any_more() -> None:
    class Startled(Labour):
        def run(self, _deadline: Deadline) -> None:
            raise KeyboardInterrupt

    slot: WorkSlot[str] = WorkSlot()
    work = Startled(slot)
    slot.give(work)
    with pytest.raises(KeyboardInterrupt):
        slot.wait(soon())
    assert not work.stopped.is_set()
    assert slot.set("withdrawn")
    assert work.stopped.is_set()


def test_a_wait_that_was_interrupted_before_the_work_began_leaves_it_to_the_next() -> None:
    slot: WorkSlot[str] = WorkSlot()
    work = Labour(slot, "found")
    slot.give(work)
    # The bell was heard, and nothing was done.
    slot._bell.acquire()
    assert slot.wait(at_once()) == "found"


def test_a_slot_and_its_work_let_go_of_each_other() -> None:
    for answered_by_work in (True, False):
        slot: WorkSlot[str] = WorkSlot()
        work = Labour(slot, "found")
        slot.give(work)
        if not answered_by_work:
            slot.set("told")
        slot.wait(soon())
        assert slot._work is None


@pytest.mark.stress
def test_work_and_others_race_for_the_answer_and_exactly_one_wins() -> None:
    wins = {"found": 0, "told": 0}
    for _ in range(300):
        slot: WorkSlot[str] = WorkSlot()
        work = Labour(slot, "found")
        told: list[bool] = []
        other = threading.Thread(target=lambda slot=slot, told=told: told.append(slot.set("told")))
        slot.give(work)
        other.start()
        answer = slot.wait(soon())
        other.join(BOUND)
        assert told == [answer == "told"]
        wins[answer] += 1
    assert sum(wins.values()) == 300
