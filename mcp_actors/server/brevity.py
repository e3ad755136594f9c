"""Brevity: whether a tool has shown that its calls are too short to be worth another thread."""

from __future__ import annotations

from typing import Final

#: A wake-up of a thread costs some 25 µs: beside a call of this length it no longer counts.
BRIEF_SECONDS: Final = 0.001
#: So many brief calls in a row are taken for a habit.
HABIT: Final = 8
#: A tool that took so long once is not relied on any more.
SLOW_SECONDS: Final = 0.1


class Brevity:
    """What was seen of one tool. Any thread; two that note at once may lose a count, never a slow call."""

    __slots__ = ("_brief_calls", "_slow")

    def __init__(self) -> None:
        self._brief_calls = 0
        self._slow = False

    def note(self, seconds: float) -> None:
        """A call took so long."""
        if seconds <= BRIEF_SECONDS:
            self._brief_calls += 1
            return
        self._brief_calls = 0
        # Work that is brief as a rule and long at times (a cache that misses) would be long here again.
        self._slow = self._slow or seconds > SLOW_SECONDS

    @property
    def proven(self) -> bool:
        """Whether the next call can be expected to be brief."""
        return self._brief_calls >= HABIT and not self._slow
