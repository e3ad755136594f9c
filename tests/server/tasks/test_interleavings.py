"""Whatever comes between any two steps of a task: one legal history, one end, and everybody told once."""

from __future__ import annotations

import sys
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_actors.protocol.serving.questions import Verdict
from mcp_actors.runtime.slot import Slot
from mcp_actors.server.faults import Refusal
from mcp_actors.server.tasks.life import ARROWS, Dialect, TaskRecord
from mcp_actors.server.tasks.memory_store import MemoryTaskStore
from mcp_actors.server.tasks.store import Change
from tests.server.tasks.stage import QUESTION, Stage, text

T = TypeVar("T")

STEPS = (
    "finish",
    "fail",
    "cancel",
    "ask",
    "update",
    "answer",
    "describe",
    "join",
    "leave",
    "expire",
    "discard",
)
#: More questions than ends, or most stories would be over before they began.
SCRIPTS = st.lists(
    st.sampled_from(STEPS + ("ask", "join") * 5 + ("update", "answer", "leave") * 3), min_size=6, max_size=16
)
#: How many steps of others come in between, at each place where they can.
PLANS = st.lists(st.integers(0, 2), min_size=10, max_size=60)


class BusyStore(MemoryTaskStore):
    """A store before and after whose every operation others get their turn, and which keeps the history."""

    def __init__(self, meddle: Callable[[], None]) -> None:
        super().__init__()
        self._meddle = meddle
        self.changes: list[Change] = []

    def get(self, task_id: str) -> TaskRecord | None:
        return self._between(lambda: super(BusyStore, self).get(task_id))

    def delete(self, task_id: str) -> TaskRecord | None:
        return self._between(lambda: super(BusyStore, self).delete(task_id))

    def expire(self, now: float) -> Any:
        return self._between(lambda: super(BusyStore, self).expire(now))

    def update(self, task_id: str, change: Callable[[TaskRecord], TaskRecord]) -> Change | None:
        return self._between(lambda: self._noted(task_id, change))

    def _noted(self, task_id: str, change: Callable[[TaskRecord], TaskRecord]) -> Change | None:
        done = super().update(task_id, change)
        if done is not None:
            self.changes.append(done)
        return done

    def _between(self, operation: Callable[[], T]) -> T:
        self._meddle()
        done = operation()
        self._meddle()
        return done


class Story:
    """One task, the steps that happen to it, and what everybody concerned was told."""

    def __init__(self, dialect: Dialect, script: list[str], plan: list[int]) -> None:
        self.script = deque(script)
        self.plan: Iterator[int] = iter(())
        self.store = BusyStore(self.meddle)
        self.stage = Stage(self.store)
        self.task = self.stage.create(dialect)
        self.board, self.id = self.stage.board, self.task.id
        self.wins: list[str] = []
        self.slots: list[Slot[Verdict]] = []
        self.ends: dict[int, list[TaskRecord | None]] = {}
        self.leaves: dict[int, Callable[[], None]] = {}
        self.left: set[int] = set()
        self.holders: dict[str, int] = {}
        self.put_twice: list[str] = []
        self.stuck: list[str] = []
        self.plan = iter(plan)

    def run(self) -> None:
        while self.script:
            self.step(self.script.popleft())
        self.plan = iter(())
        self.look_for_stuck_questions()
        self.stage.now += 10_000
        self.board.sweep()

    def look_for_stuck_questions(self) -> None:
        """An open question is with somebody who can still put it, if there is anybody."""
        record = self.store.get(self.id)
        here = self.ends.keys() - self.left
        if record is not None and here:
            self.stuck = [key for key in record.input_requests if self.holders.get(key) not in here]

    def meddle(self) -> None:
        for _ in range(next(self.plan, 0)):
            if self.script:
                self.step(self.script.popleft())

    def step(self, name: str) -> None:
        getattr(self, f"do_{name}")()

    def note(self, name: str, won: bool) -> None:
        if won:
            self.wins.append(name)

    def do_finish(self) -> None:
        self.note("finish", self.board.finish(self.id, text("done")))

    def do_fail(self) -> None:
        self.note("fail", self.board.fail(self.id, Refusal(-5, "no")))

    def do_cancel(self) -> None:
        change = self.board.cancel(self.id)
        self.note("cancel", change is not None and change.ends)

    def do_describe(self) -> None:
        self.board.describe(self.id, "busy")

    def do_ask(self) -> None:
        number = len(self.slots)
        self.slots.append(Slot())  # holds the place: another step may ask meanwhile
        self.slots[number] = self.board.ask(self.id, f"k{number}", QUESTION)

    def do_update(self) -> None:
        self.board.update(self.id, {f"k{number}": {} for number in range(0, len(self.slots), 2)})

    def do_answer(self) -> None:
        self.board.update(self.id, {f"k{number}": {} for number in range(len(self.slots))[-1:]})

    def do_join(self) -> None:
        number = len(self.ends)
        told = self.ends[number] = []
        leave = self.board.when_done(self.id, told.append, lambda key, _: self.hold(key, number))
        self.leaves[number] = leave

    def hold(self, key: str, number: int) -> None:
        # Noted and not raised: whoever calls a listener survives its mistakes.
        if self.holders.get(key) not in {None, *self.left}:
            self.put_twice.append(key)
        self.holders[key] = number

    def do_leave(self) -> None:
        number = next(iter(self.leaves.keys() - self.left), None)
        if number is not None:
            self.left.add(number)
            self.leaves[number]()

    def do_expire(self) -> None:
        self.stage.now += 10_000
        self.note("expire", self.board.sweep() > 0 and not self.wins)

    def do_discard(self) -> None:
        self.board.discard(self.id)


def check(story: Story) -> None:
    for change in story.store.changes:
        if change.before.ended:
            assert change.after is change.before
        elif change.after is not change.before:
            assert change.after.status in ARROWS[change.before.status]
        assert (change.after.status == "input_required") == bool(change.after.input_requests)
    assert (story.put_twice, story.stuck) == ([], [])
    ends = [change for change in story.store.changes if change.ends]
    assert len(ends) <= 1
    assert len([name for name in story.wins if name != "expire"]) == len(ends)
    # The watchers hear nothing old, and nothing after the end.
    revisions = [record.revision for record in story.stage.told]
    assert revisions == sorted(set(revisions))
    assert [record.ended for record in story.stage.told[:-1]].count(True) == 0
    assert all(slot.is_set for slot in story.slots)
    for number, told in story.ends.items():
        assert len(told) <= 1
        assert told or number in story.left, "a listener was forgotten"
    stopped = story.stage.stops
    assert len(stopped) <= 1
    assert not (stopped and ends and ends[0].after.status != "cancelled")
    assert stopped or not ends or ends[0].after.status != "cancelled"


@pytest.mark.requirement("feature:tasks")
@settings(max_examples=400)
@given(st.sampled_from(["core", "extension"]), SCRIPTS, PLANS)
def test_any_interleaving_leaves_one_legal_history_and_nobody_waiting(
    dialect: Dialect, script: list[str], plan: list[int]
) -> None:
    story = Story(dialect, script, plan)
    story.run()
    check(story)


class Race:
    """One task and six threads: two end it, two wait for it, one asks, one answers."""

    def __init__(self) -> None:
        self.stage = Stage()
        self.board, self.id = self.stage.board, self.stage.create().id
        self.told: Counter[int] = Counter()
        self.puts: Counter[str] = Counter()
        self.slots: list[Slot[Verdict]] = []
        self.wins: list[bool] = []

    def ask(self) -> None:
        self.slots.extend([self.board.ask(self.id, f"k{number}", QUESTION) for number in range(8)])

    def answer(self) -> None:
        for number in range(8):
            self.board.update(self.id, {f"k{number}": {}})

    def join(self, first: int) -> None:
        for number in range(first, first + 8):
            self.board.when_done(self.id, partial(self.note, number), lambda key, _: self.puts.update([key]))

    def note(self, number: int, _: TaskRecord | None) -> None:
        self.told[number] += 1

    def finish(self) -> None:
        self.wins.append(self.board.finish(self.id, text("done")))

    def cancel(self) -> None:
        change = self.board.cancel(self.id)
        self.wins.append(change is not None and change.ends)

    def run(self, bound: float) -> None:
        jobs = [self.ask, self.answer, partial(self.join, 0), partial(self.join, 8), self.finish, self.cancel]
        gate = threading.Barrier(len(jobs), timeout=bound)
        threads = [threading.Thread(target=lambda job=job: (gate.wait(), job())) for job in jobs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(bound)


@pytest.mark.stress
@pytest.mark.requirement("feature:tasks")
def test_threads_that_do_everything_at_once_leave_nobody_waiting(bound: float) -> None:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(300):
            race = Race()
            race.run(bound)
            check_race(race)
    finally:
        sys.setswitchinterval(interval)


def check_race(race: Race) -> None:
    assert sorted(race.wins) == [False, True]
    assert race.told == Counter(range(16))
    assert [slot.is_set for slot in race.slots] == [True] * 8
    assert set(race.puts.values()) <= {1}
    assert [record.ended for record in race.stage.told].count(True) == 1
    assert race.stage.told[-1].ended
