"""Handlers of notifications, from quick to stuck; every contestant is given the same ones."""

from __future__ import annotations

import threading
import time
from typing import Final, Literal, TypeAlias

#: ``awaiting`` is ``slow`` for those who can wait without blocking their thread.
HandlerKind: TypeAlias = Literal["none", "counting", "slow", "awaiting", "stuck"]

SLOW_SECONDS: Final = 0.001


class Handler:
    """Called by one thread at a time; the counters may be read anywhere."""

    def __init__(self, kind: HandlerKind) -> None:
        self.kind = kind
        self.heard = 0
        self.last = 0.0
        self._released = threading.Event()

    def hear(self) -> None:
        """Take one notification, on whatever thread the contestant runs handlers."""
        if self.kind == "stuck":
            self._released.wait()
        elif self.kind in ("slow", "awaiting"):
            time.sleep(SLOW_SECONDS)
        self.count()

    def count(self) -> None:
        """One notification has been dealt with."""
        self.heard += 1
        self.last = time.perf_counter()

    def release(self) -> None:
        """Let a stuck handler go on. Nothing gets stuck afterwards."""
        self._released.set()
