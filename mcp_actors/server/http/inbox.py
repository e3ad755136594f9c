"""Inbox: what waits for the one WSGI thread that writes a response."""

from __future__ import annotations

import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import TypeAlias

from msgspec import Struct

from mcp_actors.server.http.presence import Presence


class Event(Struct, frozen=True):
    """A message for the client. ``last``: nothing comes after it. An empty frame is no message.

    ``code`` is that of an error; ``number`` and ``id`` are zero and None where nothing can be resumed.
    """

    frame: bytes
    last: bool = False
    code: int | None = None
    number: int = 0
    id: str | None = None


class Closed(Struct, frozen=True):
    """The connection is to end. ``retry_ms``: the stream does not, and can be resumed after that time."""

    retry_ms: int | None = None


Item: TypeAlias = Event | Closed


class ClientGone(Exception):
    """Nobody is there to be answered any more."""


class Inbox:
    """A queue with bounds. One thread at a time puts events, one thread takes; any may put ``Closed``."""

    def __init__(self, max_items: int, max_bytes: int) -> None:
        self._max_items = max_items
        self._max_bytes = max_bytes
        self._items: SimpleQueue[Item] = SimpleQueue()
        # Two counts, each written by one side alone: their difference is what waits.
        self._bytes_in = 0
        self._bytes_out = 0

    def put(self, item: Item, *, force: bool = False) -> bool:
        """Have it written. False: too much waits already, and nothing happened. Never blocks."""
        size = len(item.frame) if isinstance(item, Event) else 0
        if not force and self._is_full(size):
            return False
        if size:
            # Not for those without a size: whoever closes an inbox may be another thread.
            self._bytes_in += size
        self._items.put(item)
        return True

    def take(self, seconds: float) -> Item | None:
        """The next, None if none comes in that time. At zero it does not wait."""
        try:
            item = self._items.get(seconds > 0, max(seconds, 0.0))
        except Empty:
            return None
        if isinstance(item, Event):
            self._bytes_out += len(item.frame)
        return item

    def _is_full(self, size: int) -> bool:
        if self._items.qsize() >= self._max_items:
            return True
        waiting = self._bytes_in - self._bytes_out
        # One message alone may be of any size: it was made already.
        return waiting > 0 and waiting + size > self._max_bytes


class Watch:
    """Waits for an inbox and keeps an eye on the client. Belongs to the thread that writes the response."""

    def __init__(
        self,
        inbox: Inbox,
        presence: Presence | None,
        look_every: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._inbox = inbox
        self._presence = presence
        self._look_every = look_every
        self.clock = clock

    def next(self, until: float) -> Item | None:
        """The next item, None if none comes before that time.

        Raises:
            ClientGone: there is nobody to write to.
        """
        while True:
            left = until - self.clock()
            item = self._inbox.take(left if self._presence is None else min(left, self._look_every))
            if item is not None:
                return item
            if self._presence is not None and self._presence():
                raise ClientGone
            if left <= 0:
                return None

    def more(self) -> Item | None:
        """The next item if it is there already."""
        return self._inbox.take(0)
