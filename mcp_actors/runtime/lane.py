"""Lane: runs items one after the other, in order, on whatever worker of a pool is free."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any, Protocol

from mcp_actors.runtime.tasks import Run

__all__ = ["Lane", "LaneBuffer"]

logger = logging.getLogger("mcp_actors.runtime")

# After so many items a lane goes to the end of the pool's queue, so that others get their turn.
_TURN = 1000


class LaneBuffer(Protocol):
    """What waits in a lane, and the rule for what is dropped or merged. Called under the lane's lock."""

    @property
    def eased(self) -> bool:
        """At most half full."""
        ...

    def push(self, items: Sequence[Any]) -> bool:
        """Take in `items`; True if the buffer is full now."""
        ...

    def pop(self) -> Any | None:
        """The next item; None if there is none."""
        ...

    def __len__(self) -> int: ...


class Pool(Protocol):
    """What runs a lane: a ``Ref`` of a `TaskPool`, or who stands in for one."""

    def tell(self, message: Run) -> bool:
        """Have a worker do it. False: it will not; the lane tries again with the next that is offered."""
        ...


class Lane:
    """Serial execution: at most one worker at a time runs `work(item)`, outside of the lane's lock.

    `offer` and `close` are for the owner's thread; `work` and `on_eased` run on a worker; the counters may be
    read anywhere.
    """

    def __init__(
        self,
        pool: Pool,
        buffer: LaneBuffer,
        work: Callable[[Any], object],
        on_eased: Callable[[], object],
        name: str,
    ) -> None:
        self.name = name
        self.greatest_depth = 0
        self.processed = 0
        """Items that were run, the failed ones included."""
        self.failed = 0
        self._pool = pool
        self._buffer = buffer
        self._work = work
        self._on_eased = on_eased
        self._lock = Lock()
        self._scheduled = False
        self._was_full = False
        self._closed = False

    @property
    def depth(self) -> int:
        """How many items are waiting."""
        return len(self._buffer)

    def offer(self, items: Sequence[Any]) -> bool:
        """Take in `items`; True if the buffer is full now: then `on_eased` will be called, once."""
        with self._lock:
            full = self._buffer.push(items)
            depth = len(self._buffer)
            idle = depth > 0 and not self._scheduled and not self._closed
            self._scheduled = self._scheduled or idle
            self._was_full = self._was_full or full
            self.greatest_depth = max(self.greatest_depth, depth)
        if idle:
            self._schedule()
        return full

    def close(self) -> int:
        """Run nothing more after the current item; how many items are left. Idempotent, does not wait."""
        with self._lock:
            self._closed = True
            return len(self._buffer)

    def _schedule(self) -> None:
        # Vouched: there is never more than one drain of this lane in the pool.
        if not self._pool.tell(Run(self, self._drain, vouched=True)):
            # The pool is dead; should it only be so for a lane made too early, the next offer tries again.
            with self._lock:
                self._scheduled = False

    def _drain(self) -> None:
        """One turn on a worker."""
        for _ in range(_TURN):
            with self._lock:
                item = None if self._closed else self._buffer.pop()
                if item is None:
                    self._scheduled = False
                    return
                eased = self._was_full and self._buffer.eased
                if eased:
                    self._was_full = False
            if eased:
                self._ease()
            self._run(item)
        self._schedule()

    def _run(self, item: Any) -> None:
        try:
            self._work(item)
        except BaseException:
            # Whatever it was, SystemExit included: the next item has a right to run.
            self.failed += 1
            logger.exception("%s: a handler failed", self.name)
        self.processed += 1

    def _ease(self) -> None:
        try:
            self._on_eased()
        except BaseException:
            logger.exception("%s: the owner could not be told that there is room again", self.name)
