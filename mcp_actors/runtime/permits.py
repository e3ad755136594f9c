"""Permits: the active-once gate. A reader delivers only what it was permitted to."""

from __future__ import annotations

from queue import Empty, SimpleQueue
from threading import Lock

from mcp_actors.runtime.deadline import Deadline

__all__ = ["Permits"]


class Permits:
    """At most `window` permits are out at a time; each lets one `take` through. Any thread may call anything.

    Not a semaphore: closing must wake the taker, and a semaphore cannot be closed.
    """

    def __init__(self, window: int = 1) -> None:
        if window < 1:
            raise ValueError(f"window must be at least 1, not {window}")
        self.window = window
        self.granted = 0
        self.taken = 0
        self.closed = False
        self._lock = Lock()
        self._wakeups: SimpleQueue[None] = SimpleQueue()

    @property
    def outstanding(self) -> int:
        """Permits granted and not taken yet."""
        return self.granted - self.taken

    def grant(self, n: int = 1) -> None:
        """Let `n` more through. Does nothing once the gate is closed.

        Raises:
            ValueError: more than `window` would be out; nothing was granted.
        """
        with self._lock:
            if self.closed:
                return
            if n < 1 or self.granted - self.taken + n > self.window:
                raise ValueError(f"cannot grant {n}: {self.outstanding} of {self.window} permits are out")
            self.granted += n
        for _ in range(n):
            self._wakeups.put(None)

    def take(self, deadline: Deadline | None = None) -> bool:
        """Wait for a permit and use it up. False when the gate is closed or the deadline passes."""
        try:
            self._wakeups.get(True, None if deadline is None else deadline.remaining())
        except Empty:
            return False
        with self._lock:
            if not self.closed:
                self.taken += 1
                return True
        # The next taker must be woken too.
        self._wakeups.put(None)
        return False

    def close(self) -> None:
        """Let nobody through any more and wake whoever waits. Idempotent."""
        with self._lock:
            self.closed = True
        self._wakeups.put(None)
