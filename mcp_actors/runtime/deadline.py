"""Deadline: one moment that all steps of a call share, instead of a timeout that starts anew at each."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import TIMEOUT_MAX

__all__ = ["Clock", "Deadline"]

Clock = Callable[[], float]


class Deadline:
    """A moment on a monotonic clock. Immutable, so any thread may hold it."""

    __slots__ = ("_clock", "_moment")

    def __init__(self, moment: float, clock: Clock = time.monotonic) -> None:
        self._moment = moment
        self._clock = clock

    @classmethod
    def after(cls, seconds: float, clock: Clock = time.monotonic) -> Deadline:
        """The moment `seconds` from now; `math.inf` is allowed and never comes."""
        return cls(clock() + seconds, clock)

    def remaining(self) -> float:
        """Seconds left: never negative, and never more than a lock or a queue accepts as its timeout."""
        left = self._moment - self._clock()
        # Comparisons and no min, max: two of these are in the path of each call.
        if left <= 0.0:
            return 0.0
        return left if left < TIMEOUT_MAX else TIMEOUT_MAX

    def later(self, seconds: float) -> Deadline:
        """The moment `seconds` after this one."""
        return Deadline(self._moment + seconds, self._clock)

    @property
    def expired(self) -> bool:
        """Whether the moment has come."""
        return self._clock() >= self._moment

    def __repr__(self) -> str:
        return f"<Deadline in {self.remaining():.3f} s>"
