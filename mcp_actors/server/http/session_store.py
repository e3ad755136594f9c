"""Session stores: what several processes have to share to serve the same sessions of the handshake era."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol


class SessionStore(Protocol):
    """Keeps one record for each session, where all processes of a server find it. Any thread; must be quick.

    What is in a record is no business of the store. Whoever knows an id can speak in its session, so that a
    store keeps ids as it would keep passwords. It forgets by itself what was not loaded for long.
    """

    def save(self, id: str, record: bytes) -> None:
        """Keep a record, in the place of an older one."""

    def load(self, id: str) -> bytes | None:
        """The record, whose time begins anew by this; None if there is none (any more)."""

    def forget(self, id: str) -> None:
        """The session is over."""


class MemorySessionStore:
    """Keeps records in memory: for several apps in one process, and as an example.

    Args:
        max_sessions: the record that was not used for the longest time makes room for one more.
        idle: how many seconds a record is kept that nobody loads.
    """

    def __init__(
        self,
        max_sessions: int = 10_000,
        idle: float = 1800.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._max_sessions = max_sessions
        self._idle = idle
        self._clock = clock
        self._lock = threading.Lock()
        # The one that was used last is the last.
        self._kept: OrderedDict[str, tuple[float, bytes]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def save(self, id: str, record: bytes) -> None:
        """Keep a record; what is too old or too much goes."""
        with self._lock:
            self._use(id, record)
            while len(self._kept) > self._max_sessions or self._oldest_is_over():
                self._kept.popitem(last=False)

    def load(self, id: str) -> bytes | None:
        """The record, unless its time was over."""
        with self._lock:
            while self._kept and self._oldest_is_over():
                self._kept.popitem(last=False)
            found = self._kept.get(id)
            if found is None:
                return None
            self._use(id, found[1])
            return found[1]

    def forget(self, id: str) -> None:
        """Drop a record."""
        with self._lock:
            self._kept.pop(id, None)

    def _use(self, id: str, record: bytes) -> None:
        self._kept[id] = (self._clock(), record)
        self._kept.move_to_end(id)

    def _oldest_is_over(self) -> bool:
        used, _ = next(iter(self._kept.values()))
        return self._clock() - used >= self._idle
