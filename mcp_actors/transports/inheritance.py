"""What a forked child must let go of: its copies of descriptors hide the parent's end from a server."""

from __future__ import annotations

import os
from typing import Protocol


class Inherited(Protocol):
    """Something whose descriptors a forked child inherits."""

    def forget(self) -> None:
        """Close them in the child. Takes no lock: the thread that holds it does not exist there."""


_open: set[Inherited] = set()


def remember(thing: Inherited) -> None:
    """Have ``thing.forget()`` called in every process forked from now on."""
    _open.add(thing)


def release(thing: Inherited) -> None:
    """The thing holds no descriptor any more."""
    _open.discard(thing)


def _forget_all() -> None:
    things = list(_open)
    _open.clear()
    for thing in things:
        thing.forget()


os.register_at_fork(after_in_child=_forget_all)
