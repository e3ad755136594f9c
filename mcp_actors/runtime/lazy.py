"""Lazy: a value that is made at first use, by whichever thread comes first, and can be taken away once."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import Generic, TypeVar

__all__ = ["Lazy", "Spent"]

T = TypeVar("T")


class Spent(Exception):
    """The value was taken away for good."""


class Lazy(Generic[T]):
    """Any thread may call anything, also from a signal handler; in a forked child `forget` comes first.

    `discard` ends a value that nobody will hold: a signal handler came between its making and its use.
    """

    def __init__(self, make: Callable[[], T], discard: Callable[[T], object] = lambda _value: None) -> None:
        self._make = make
        self._discard = discard
        # Reentrant: a signal handler runs on the very thread that it interrupts.
        self._lock = RLock()
        self._spent = False
        self.value: T | None = None
        """The value, or None while nobody needed it. Any thread may look."""

    @property
    def spent(self) -> bool:
        """Whether the value was taken away for good."""
        return self._spent

    def get(self) -> T:
        """The value, made now if need be.

        Raises:
            Spent: `spend` was called.
        """
        value = self.value
        if value is not None and not self._spent:
            return value
        with self._lock:
            if self._spent:
                raise Spent
            return self._keep(self._make()) if self.value is None else self.value

    def spend(self) -> T | None:
        """Refuse every later `get`; the value there is, if any. Idempotent."""
        with self._lock:
            self._spent = True
            return self.value

    def drop(self, value: T) -> None:
        """Have the next `get` make a new value, if the present one is still this one."""
        with self._lock:
            if self.value is value:
                self.value = None

    def forget(self) -> None:
        """In a forked child: the value and whoever held the lock belong to the parent."""
        self._lock = RLock()
        self.value = None

    def _keep(self, made: T) -> T:
        if not self._spent and self.value is None:
            self.value = made
            return made
        self._discard(made)
        return self.get()
