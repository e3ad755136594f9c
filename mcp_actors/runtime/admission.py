"""Admission: how many callers may be inside at once, first come, first served."""

from __future__ import annotations

import threading

from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.lock import Lock

__all__ = ["Admission"]


class Admission:
    """Lets callers in and out. Any thread may call anything.

    A place that becomes free goes to whoever waits longest; newcomers do not overtake. A bell is a lock that
    is held until the place is given.

    A caller is whatever object it likes to be known by. However its `enter` ended, and if it was by an
    interrupt, its `leave` takes back all of it; and one that was interrupted is done by the next.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.greatest = 0
        self._lock = Lock()
        self._inside: set[object] = set()
        self._waiting: dict[object, threading.Lock] = {}

    @property
    def inside(self) -> int:
        """How many there are now."""
        return len(self._inside)

    def enter(self, caller: object, deadline: Deadline | None = None) -> bool:
        """Come in. False if there is no room, and none by the deadline if one is given."""
        with self._lock:
            if len(self._inside) < self.limit:
                self._let_in(caller)
                return True
            if deadline is None:
                return False
            bell = threading.Lock()
            bell.acquire()
            self._waiting[caller] = bell
        if bell.acquire(True, deadline.remaining()):
            return True
        with self._lock:
            self._waiting.pop(caller, None)
            # It may have come at the last moment.
            return caller in self._inside

    def leave(self, caller: object) -> None:
        """Go out, or wait no longer; the place goes to the first of those who wait. Idempotent."""
        with self._lock:
            self._inside.discard(caller)
            if self._waiting:
                self._pass_on(caller)

    def forget(self) -> None:
        """In a forked child: whoever held the lock or waited does not exist here."""
        self._lock = Lock()
        self._waiting = {}

    # Under the lock; whoever is interrupted here is followed by others.

    def _pass_on(self, caller: object) -> None:
        self._waiting.pop(caller, None)
        while self._waiting:
            first, bell = next(iter(self._waiting.items()))
            if len(self._inside) >= self.limit and first not in self._inside:
                return
            self._let_in(first)
            if bell.locked():
                bell.release()
            self._waiting.pop(first)

    def _let_in(self, caller: object) -> None:
        self._inside.add(caller)
        if len(self._inside) > self.greatest:
            self.greatest = len(self._inside)
