"""StreamBudget: how many streams may hold a thread of the WSGI server, so that some are left for calls."""

from __future__ import annotations

import threading
from collections.abc import Callable

from mcp_actors.protocol.jsonrpc import Id
from mcp_actors.server.http.reply import unavailable

_RETRY_AFTER = 5


class StreamBudget:
    """Counts streams. Any thread."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._taken = 0

    @property
    def taken(self) -> int:
        """How many there are now."""
        return self._taken

    def take(self, id: Id | None = None) -> Callable[[], None]:
        """Count one more; the function gives it back, and does nothing when called again.

        Raises:
            Rejected: there are as many as may be.
        """
        with self._lock:
            if self._taken >= self._limit:
                raise unavailable(f"{self._limit} streams are open, the most there may be", _RETRY_AFTER, id)
            self._taken += 1
        owed = [True]

        def give_back() -> None:
            with self._lock:
                if owed:
                    owed.clear()
                    self._taken -= 1

        return give_back
