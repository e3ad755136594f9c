"""Lane: one at a time, in order, and the owner hears when there is room again."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from mcp_actors.runtime.actor import start_actor
from mcp_actors.runtime.lane import Lane
from mcp_actors.runtime.ref import Ref
from mcp_actors.runtime.tasks import Run, TaskPool
from tests.runtime.probes import BOUND, Bang, block_until, everything_in, soon, start_probe, stop


class Bounded:
    """The simplest buffer: when it is full, the oldest give way."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._items: deque[Any] = deque(maxlen=limit)

    @property
    def eased(self) -> bool:
        return len(self._items) <= self._limit // 2

    def push(self, items: Sequence[Any]) -> bool:
        self._items.extend(items)
        return len(self._items) >= self._limit

    def pop(self) -> Any | None:
        return self._items.popleft() if self._items else None

    def __len__(self) -> int:
        return len(self._items)


@pytest.fixture
def pool() -> Iterator[Ref]:
    ref = start_actor(TaskPool, 4, 0, name="pool", deadline=soon())
    yield ref
    stop(ref)


class Road:
    """A lane and what it did."""

    def __init__(self, pool: Ref, limit: int = 1000, work: Callable[[Any], object] | None = None) -> None:
        self.done: list[Any] = []
        self.eased = threading.Semaphore(0)
        self._extra = work
        self._end = threading.Event()
        self.lane = Lane(pool, Bounded(limit), self.work, self.eased.release, "road")

    def work(self, item: Any) -> None:
        if item == "end":
            self._end.set()
        elif self._extra is not None:
            self._extra(item)
        self.done.append(item)

    def finish(self) -> list[Any]:
        """Everything done before an item that is offered now."""
        self.lane.offer(["end"])
        assert self._end.wait(BOUND)
        return [item for item in self.done if item != "end"]


def test_items_run_in_order_one_at_a_time(pool: Ref) -> None:
    running = threading.Lock()

    def alone(_item: int) -> None:
        assert running.acquire(blocking=False)
        running.release()

    road = Road(pool, work=alone)
    for first in range(0, 500, 5):
        assert not road.lane.offer(range(first, first + 5))
    assert road.finish() == list(range(500))
    assert road.lane.failed == 0


def test_an_empty_offer_starts_nothing(pool: Ref) -> None:
    road = Road(pool)
    assert not road.lane.offer([])
    assert (road.lane.depth, road.lane.greatest_depth) == (0, 0)


@pytest.mark.parametrize("error", [Bang, SystemExit])
def test_a_failing_item_is_logged_and_counted_and_the_next_one_runs(
    pool: Ref, error: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    def fail_on_one(item: int) -> None:
        if item == 1:
            raise error

    road = Road(pool, work=fail_on_one)
    road.lane.offer([0, 1, 2])
    assert road.finish() == [0, 2]
    assert road.lane.failed == 1
    assert "road: a handler failed" in caplog.text


def test_a_full_lane_says_so_and_tells_once_when_it_has_eased(pool: Ref) -> None:
    gate = threading.Event()
    blocked = threading.Event()

    def block_on_zero(item: int) -> None:
        if item == 0:
            blocked.set()
            assert gate.wait(BOUND)

    road = Road(pool, limit=10, work=block_on_zero)
    assert not road.lane.offer([0])
    assert blocked.wait(BOUND)
    assert not road.lane.offer(range(1, 10))
    assert road.lane.offer([10])
    assert (road.lane.depth, road.lane.greatest_depth) == (10, 10)
    assert not road.eased.acquire(blocking=False)
    gate.set()
    assert road.eased.acquire(timeout=BOUND)
    assert road.finish() == list(range(11))
    assert not road.eased.acquire(blocking=False)
    assert road.lane.depth == 0


def test_an_owner_that_cannot_be_told_does_not_hold_up_the_lane(
    pool: Ref, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise Bang

    ended = threading.Event()
    lane = Lane(pool, Bounded(2), lambda item: ended.set() if item == "end" else None, fail, "road")
    lane.offer(["first", "end"])
    assert ended.wait(BOUND)
    assert "the owner could not be told" in caplog.text


def test_a_long_lane_yields_the_worker_after_its_turn(pool: Ref) -> None:
    road = Road(pool, limit=10_000)
    road.lane.offer(range(5000))
    assert road.finish() == list(range(5000))
    assert road.lane.processed >= 5000


def test_a_lane_gets_its_turn_even_when_the_pools_queue_is_full(pool: Ref) -> None:
    gate = threading.Event()
    for number in range(4):
        pool.tell(Run(number, block_until(gate)))
    road = Road(pool)
    road.lane.offer([1, 2, 3])
    gate.set()
    assert road.finish() == [1, 2, 3]


def test_a_handler_may_offer_to_its_own_lane(pool: Ref) -> None:
    road = Road(pool, work=lambda item: item < 3 and road.lane.offer([item + 1]))
    road.lane.offer([0])
    deadline = soon()
    while len(road.done) < 4 and not deadline.expired:
        threading.Event().wait(0.001)
    assert road.finish() == [0, 1, 2, 3]


def test_a_closed_lane_runs_nothing_after_the_current_item(pool: Ref) -> None:
    gate, blocked = threading.Event(), threading.Event()

    def block(_item: int) -> None:
        blocked.set()
        assert gate.wait(BOUND)

    road = Road(pool, work=block)
    road.lane.offer([0, 1, 2])
    assert blocked.wait(BOUND)
    assert road.lane.close() == 2
    gate.set()
    road.lane.offer([3])
    stop(pool)
    assert road.done == [0]
    assert road.lane.close() == 3


def test_without_a_pool_the_items_wait_for_the_next_offer(pool: Ref) -> None:
    stop(pool)
    road = Road(pool)
    road.lane.offer([1])
    assert (road.lane.depth, road.done) == (1, [])
    other = start_actor(TaskPool, deadline=soon())
    road.lane._pool = other
    assert road.finish() == [1]
    stop(other)


class Gap:
    """A lock that lets something happen in the very moment it is released."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.meanwhile: list[Callable[[], object]] = []

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_exc_info: object) -> None:
        self._lock.release()
        if self.meanwhile:
            self.meanwhile.pop()()


def test_a_drained_lane_asks_for_no_further_turn() -> None:
    pool, ref = start_probe()
    done: list[int] = []
    lane = Lane(ref, Bounded(10), done.append, pytest.fail, "road")
    lane.offer([1, 2])
    lane.offer([3])
    pool.seen.get(timeout=BOUND).job()
    assert done == [1, 2, 3]
    stop(ref)
    assert everything_in(pool.seen) == []


def test_an_item_that_comes_just_when_the_lane_is_found_empty_gets_a_turn() -> None:
    pool, ref = start_probe()
    done: list[int] = []
    buffer, gap = Bounded(10), Gap()
    lane = Lane(ref, buffer, done.append, pytest.fail, "road")
    lane._lock = gap  # type: ignore[assignment]
    lane.offer([1])
    first = pool.seen.get(timeout=BOUND)
    usual = buffer.pop

    def pop() -> Any | None:
        item = usual()
        if item is None:
            gap.meanwhile.append(lambda: lane.offer([2]))
        return item

    buffer.pop = pop  # type: ignore[method-assign]
    first.job()
    buffer.pop = usual  # type: ignore[method-assign]
    pool.seen.get(timeout=BOUND).job()
    assert done == [1, 2]
    stop(ref)


@pytest.mark.stress
@pytest.mark.usefixtures("hasty_switching")
def test_offers_and_drains_lose_and_double_nothing(pool: Ref) -> None:
    busy = threading.Lock()

    def alone(_item: int) -> None:
        assert busy.acquire(blocking=False)
        time.sleep(0.0)
        busy.release()

    for _ in range(30):
        road = Road(pool, limit=10_000, work=alone)
        for number in range(100):
            road.lane.offer([number])
        assert road.finish() == list(range(100))
        assert road.lane.failed == 0


@pytest.mark.stress
def test_two_hundred_thousand_items_pass(pool: Ref) -> None:
    road = Road(pool, limit=1_000_000)
    for first in range(0, 200_000, 1000):
        road.lane.offer(range(first, first + 1000))
    assert road.finish() == list(range(200_000))
