"""Admission: how many callers may be inside at once."""

from __future__ import annotations

from threading import Condition, Lock

from mcp_actors.runtime.deadline import Deadline

__all__ = ["Admission"]


class Admission:
    """Counts callers in and out. Any thread may call anything."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.inside = 0
        self.greatest = 0
        self._room = Condition(Lock())

    def enter(self, deadline: Deadline | None = None) -> bool:
        """Come in. False if there is no room, and none by the deadline if one is given."""
        with self._room:
            while self.inside >= self.limit:
                if deadline is None or deadline.expired:
                    return False
                self._room.wait(deadline.remaining())
            self.inside += 1
            self.greatest = max(self.greatest, self.inside)
            return True

    def leave(self) -> None:
        """Go out, and let one of those who wait come in."""
        with self._room:
            self.inside -= 1
            self._room.notify()
