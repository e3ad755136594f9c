"""Shares: jobs of many owners for the same workers, of which no owner gets all."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Hashable
from functools import partial

from mcp_actors.runtime.hands import Job

__all__ = ["Shares"]

logger = logging.getLogger("mcp_actors.runtime")


class _Owner:
    """How many workers have one owner's jobs, and what waits until one of them is through."""

    __slots__ = ("begun", "long", "waiting", "waiting_long")

    def __init__(self) -> None:
        self.begun = 0
        self.long = 0
        self.waiting: deque[Job] = deque()
        self.waiting_long: deque[Job] = deque()


class Shares:
    """Hands on at most ``share`` jobs of an owner at a time, and no more than half as many that are known to
    be long; the others wait, in order, behind their own.

    A worker that is through with a job goes on with the next of the same owner, so that none of them needs a
    place in the workers' queue. Any thread; ``employ`` is called under the lock, takes a job or refuses it,
    and must not call back.
    """

    def __init__(self, employ: Callable[[Job], bool], share: int, max_waiting: int = 1024) -> None:
        self._employ = employ
        self._share = share
        self._long_share = max(1, share // 2)
        self._max_waiting = max_waiting
        self._lock = threading.Lock()
        self._owners: dict[Hashable, _Owner] = {}
        self._waiting = 0

    @property
    def waiting(self) -> int:
        """How many jobs wait behind others of their owner."""
        return self._waiting

    def submit(self, owner: Hashable, job: Job, *, long: bool = False) -> bool:
        """Have `job()` run. False, and nothing was done: too many wait already, or the workers refuse it."""
        with self._lock:
            mine = self._owners.get(owner) or _Owner()
            if mine.begun < self._share and not (long and mine.long >= self._long_share):
                return self._begin(owner, mine, job, long)
            if self._waiting >= self._max_waiting:
                return False
            (mine.waiting_long if long else mine.waiting).append(job)
            self._waiting += 1
            return True

    def _begin(self, owner: Hashable, mine: _Owner, job: Job, long: bool) -> bool:
        if not self._employ(partial(self._work, owner, mine, job, long)):
            return False
        self._owners[owner] = mine
        mine.begun += 1
        mine.long += long
        return True

    def _work(self, owner: Hashable, mine: _Owner, job: Job, long: bool) -> None:
        """On a worker: a job, and after it what waits for the same share."""
        following: tuple[Job, bool] | None = (job, long)
        while following is not None:
            job, long = following
            try:
                job()
            except BaseException:
                # SystemExit, too: nobody else would begin the next.
                logger.exception("a job failed")
            following = self._next(owner, mine, long)

    def _next(self, owner: Hashable, mine: _Owner, was_long: bool) -> tuple[Job, bool] | None:
        with self._lock:
            mine.long -= was_long
            if mine.waiting:
                self._waiting -= 1
                return mine.waiting.popleft(), False
            if mine.waiting_long and mine.long < self._long_share:
                self._waiting -= 1
                mine.long += 1
                return mine.waiting_long.popleft(), True
            mine.begun -= 1
            if not mine.begun:
                del self._owners[owner]
            return None
