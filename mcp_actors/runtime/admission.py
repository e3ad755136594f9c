"""Admission: how many callers may be inside at once, first come, first served."""

from __future__ import annotations

from collections import deque
from threading import Lock

from mcp_actors.runtime.deadline import Deadline

__all__ = ["Admission"]


class Admission:
    """Counts callers in and out. Any thread may call anything.

    A place that becomes free goes to whoever waits longest; newcomers do not overtake. A bell is a lock that
    is held until the place is given.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.inside = 0
        self.greatest = 0
        self._lock = Lock()
        self._waiting: deque[Lock] = deque()

    def enter(self, deadline: Deadline | None = None) -> bool:
        """Come in. False if there is no room, and none by the deadline if one is given."""
        with self._lock:
            if self.inside < self.limit:
                self.inside += 1
                self.greatest = max(self.greatest, self.inside)
                return True
            if deadline is None:
                return False
            bell = Lock()
            bell.acquire()
            self._waiting.append(bell)
        return self._wait(bell, deadline)

    def leave(self) -> None:
        """Go out; the place goes to the first of those who wait."""
        with self._lock:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self.inside -= 1

    def forget(self) -> None:
        """In a forked child: whoever held the lock or waited does not exist here."""
        self._lock = Lock()
        self._waiting = deque()

    def _wait(self, bell: Lock, deadline: Deadline) -> bool:
        given = False
        try:
            given = bell.acquire(True, deadline.remaining())
            return given or self._was_given(bell)
        except BaseException:
            # KeyboardInterrupt: a place that was given meanwhile must not stay taken by nobody.
            if given or self._was_given(bell):
                self.leave()
            raise

    def _was_given(self, bell: Lock) -> bool:
        """Stop waiting; True if the place came at the last moment."""
        with self._lock:
            if bell in self._waiting:
                self._waiting.remove(bell)
                return False
            return True
