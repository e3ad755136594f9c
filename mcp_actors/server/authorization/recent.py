"""Recent: what was seen a short while ago, and no more of it than there is room for."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

__all__ = ["Recent"]

T = TypeVar("T")


class Recent(Generic[T]):
    """Forgets each entry some seconds after it came, the oldest before that if there are too many.

    Any thread: every step is one operation of a dict or a deque.
    """

    def __init__(self, seconds: float, most: int) -> None:
        self._seconds = seconds
        self._most = most
        self._values: dict[Hashable, T] = {}
        self._order: deque[tuple[float, Hashable]] = deque()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Hashable) -> T | None:
        """What was put there, unless it is forgotten."""
        return self._values.get(key)

    def put(self, key: Hashable, value: T, now: float) -> None:
        """Remember the value instead of an earlier one."""
        self._values[key] = value
        self._queue(key, now)

    def first(self, key: Hashable, value: T, now: float) -> bool:
        """Remember the value, unless there is one. Of all threads that try, one gets True."""
        mine = self._values.setdefault(key, value) is value
        if mine:
            self._queue(key, now)
        return mine

    def _queue(self, key: Hashable, now: float) -> None:
        self._order.append((now + self._seconds, key))
        try:
            while self._forget(now):
                pass
        except IndexError:
            # Other threads have forgotten all there was.
            return

    def _forget(self, now: float) -> bool:
        due, key = self._order.popleft()
        if due > now and len(self._order) < self._most:
            # Its value was there all the time.
            self._order.appendleft((due, key))
            return False
        self._values.pop(key, None)
        return True
