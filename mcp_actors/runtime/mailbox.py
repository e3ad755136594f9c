"""Mailbox: an actor's queue and timers. It can be closed without losing a message."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator
from heapq import heapify, heappop, heappush
from queue import Empty, SimpleQueue
from threading import TIMEOUT_MAX
from typing import Any

from msgspec import Struct

from mcp_actors.runtime.deadline import Clock

__all__ = ["Mailbox", "MailboxClosed", "TimerFired"]

# Dead timers are swept out of the heap when they outnumber the living by this many: often enough to stay
# small, rarely enough that setting a timer stays cheap.
_TOLERATED_DEAD_TIMERS = 64


class MailboxClosed(Exception):
    """The mailbox takes no more messages. The message was not put."""


class TimerFired(Struct, frozen=True):
    """A timer of this actor is due."""

    key: Hashable


class Mailbox:
    """The inbox of one actor.

    Any thread may `put` and read the depths. Everything else belongs to the owner, the actor's own thread:
    since setting, cancelling and firing a timer happen there alone, a cancelled timer cannot fire.
    """

    def __init__(self) -> None:
        self.closed = False
        self.greatest_depth = 0
        # pykka makes the inbox in a static method: the owner sets these two before the first use.
        self.clock: Clock = time.monotonic
        self.undelivered: Callable[[Any], None] = lambda _item: None
        self._queue: SimpleQueue[Any] = SimpleQueue()
        self._alarms: list[tuple[float, int, Hashable]] = []
        self._current: dict[Hashable, int] = {}
        self._set_count = 0
        self._sweep_at = _TOLERATED_DEAD_TIMERS

    # -- any thread

    def put(self, item: Any) -> None:
        """Append `item`, or raise `MailboxClosed`. Never blocks.

        An item that slips in while the mailbox is closed goes to the `undelivered` hook, on this thread.
        """
        if self.closed:
            raise MailboxClosed
        # One C call and no lock of ours: a KeyboardInterrupt can leave nothing half done.
        self._queue.put(item)
        if self.closed:
            # The closer may have looked for leftovers before our item was there. Whoever pops an item owns
            # it, so it does not matter which of us finds it.
            for leftover in self._leftovers():  # type: ignore[unreachable]  # another thread closes it
                self.undelivered(leftover)

    def empty(self) -> bool:
        """Whether no message is waiting. Timers do not count."""
        return self._queue.empty()

    @property
    def depth(self) -> int:
        """How many messages are waiting."""
        return self._queue.qsize()

    # -- the owner's thread

    def get(self) -> Any:
        """Wait for the next message or due timer. Due timers go first: a busy queue cannot starve them."""
        queue = self._queue
        while True:
            patience = self._until_next_alarm() if self._current else None
            if patience is not None and patience <= 0.0:
                return self._fire()
            # Depth falls by `get` alone, so its peaks stand right before one; what we wait for counts as one.
            depth = queue.qsize() or 1
            try:
                item = queue.get(True, patience)
            except Empty:
                continue
            if depth > self.greatest_depth:
                self.greatest_depth = depth
            return item

    def set_timer(self, key: Hashable, seconds: float) -> None:
        """Have `TimerFired(key)` arrive after `seconds`, instead of any earlier timer of that key."""
        self._set_count += 1
        self._current[key] = self._set_count
        heappush(self._alarms, (self.clock() + seconds, self._set_count, key))
        if len(self._alarms) > self._sweep_at:
            self._sweep()

    def cancel_timer(self, key: Hashable) -> bool:
        """Forget the timer of `key`; False if there is none."""
        return self._current.pop(key, None) is not None

    @property
    def timers(self) -> int:
        """How many timers are set."""
        return len(self._current)

    def close(self) -> list[Any]:
        """Take no more messages, forget all timers, and return what was waiting. Idempotent."""
        self.closed = True
        self._current.clear()
        self._alarms.clear()
        return list(self._leftovers())

    # -- inside

    def _leftovers(self) -> Iterator[Any]:
        while True:
            try:
                yield self._queue.get_nowait()
            except Empty:
                return

    def _until_next_alarm(self) -> float:
        """Seconds to the first living timer; there is one. Removes dead ones on its way."""
        alarms = self._alarms
        while self._current.get(alarms[0][2]) != alarms[0][1]:
            heappop(alarms)
        left = alarms[0][0] - self.clock()
        return left if left < TIMEOUT_MAX else TIMEOUT_MAX

    def _fire(self) -> TimerFired:
        key = heappop(self._alarms)[2]
        del self._current[key]
        return TimerFired(key)

    def _sweep(self) -> None:
        """Keep the heap proportional to the living timers, however many were replaced or cancelled."""
        self._alarms = [alarm for alarm in self._alarms if self._current.get(alarm[2]) == alarm[1]]
        heapify(self._alarms)
        self._sweep_at = 2 * len(self._alarms) + _TOLERATED_DEAD_TIMERS
