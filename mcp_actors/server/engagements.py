"""Engagements: which threads run code of a server's user at the moment."""

from __future__ import annotations

from collections.abc import Callable
from threading import get_ident


class Engagements:
    """Of one server. Who ends the server waits for these threads, and so must not be one of them.

    Any thread; each touches its own number alone, by single operations of a set.
    """

    __slots__ = ("_threads",)

    def __init__(self) -> None:
        self._threads: set[int] = set()

    def run(self, work: Callable[[], object]) -> None:
        """Do the work, known to be engaged meanwhile."""
        me = get_ident()
        if me in self._threads:
            # A tool of a WSGI app that calls the app on its own thread.
            work()
            return
        self._threads.add(me)
        try:
            work()
        finally:
            self._threads.discard(me)

    @property
    def here(self) -> bool:
        """Whether this thread is one of them."""
        return get_ident() in self._threads
