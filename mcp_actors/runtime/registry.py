"""Registry: things found by name. The interface, and the default that lives in this process."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any, Generic, Protocol, TypeVar

__all__ = ["LocalRegistry", "Registry"]

T = TypeVar("T")


class Registry(Protocol[T]):
    """Where items are registered and found by name."""

    def register(self, name: str, item: T) -> None:
        """Make `item` known as `name`; ValueError if another one is."""
        ...

    def unregister(self, name: str, item: T) -> None:
        """Forget `name`, if it is `item` that bears it."""
        ...

    def lookup(self, name: str) -> T | None:
        """The item of that name, if there is one."""
        ...

    def names(self) -> tuple[str, ...]:
        """All names, sorted."""
        ...


class LocalRegistry(Generic[T]):
    """A registry for this process. It does not keep its items alive; a forked child has its own copy."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._items: weakref.WeakValueDictionary[str, T] = weakref.WeakValueDictionary()
        _registries.add(self)

    def register(self, name: str, item: T) -> None:
        """Make `item` known as `name`; ValueError if another one is and still lives."""
        with self._lock:
            if self._items.setdefault(name, item) is not item:
                raise ValueError(f"the name {name!r} is taken")

    def unregister(self, name: str, item: T) -> None:
        """Forget `name`, if it is `item` that bears it."""
        with self._lock:
            if self._items.get(name) is item:
                del self._items[name]

    def lookup(self, name: str) -> T | None:
        """The item of that name, if there is one that lives."""
        return self._items.get(name)

    def names(self) -> tuple[str, ...]:
        """The names of all items that live, sorted."""
        with self._lock:
            return tuple(sorted(self._items))

    def _unlock(self) -> None:
        # Whoever held the lock at the fork may not exist in this process.
        self._lock = threading.Lock()


_registries: weakref.WeakSet[LocalRegistry[Any]] = weakref.WeakSet()


def _unlock_all() -> None:
    for registry in list(_registries):
        registry._unlock()


os.register_at_fork(after_in_child=_unlock_all)
