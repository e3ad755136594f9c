"""EventBody: the body of an event stream, written as its messages come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from mcp_actors.protocol.http.event_writing import KEEP_ALIVE, message, retry
from mcp_actors.server.http.inbox import ClientGone, Closed, Item, Watch

#: What is there already goes out in one piece, up to about this size.
_PIECE: Final = 64 * 1024


class EventBody:
    """What WSGI calls an iterable, with its ``close``. Belongs to the thread that serves the request.

    ``opening`` is written first. ``left`` is called once, when the connection is over for whatever reason.
    """

    def __init__(
        self,
        watch: Watch,
        left: Callable[[], object],
        *,
        opening: bytes = b"",
        first: Item | None = None,
        keep_alive: float = 15.0,
    ) -> None:
        self._watch = watch
        self._left: Callable[[], object] | None = left
        self._opening = opening
        self._first = first
        self._keep_alive = keep_alive
        self._over = False

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        piece = self._opening
        self._opening = b""
        if self._first is not None:
            item, self._first = self._first, None
            piece += self._written(item)
        while not piece and not self._over:
            piece = self._next()
        if not piece:
            raise StopIteration
        return piece

    def close(self) -> None:
        """The response is over: complete, or broken off. The WSGI server calls it in any case."""
        self._over = True
        left, self._left = self._left, None
        if left is not None:
            left()

    def _next(self) -> bytes:
        try:
            item = self._watch.next(self._watch.clock() + self._keep_alive)
        except ClientGone:
            self._over = True
            return b""
        if item is None:
            return KEEP_ALIVE
        piece = self._written(item)
        while not self._over and len(piece) < _PIECE and (item := self._watch.more()) is not None:
            piece += self._written(item)
        return piece

    def _written(self, item: Item) -> bytes:
        if isinstance(item, Closed):
            self._over = True
            return b"" if item.retry_ms is None else retry(item.retry_ms)
        self._over = item.last
        return message(item.frame, item.id) if item.frame else b""


def first_of(watch: Watch, seconds: float) -> Item | None:
    """What comes first on a connection; None: nothing in that time. Raises ``ClientGone``."""
    return watch.next(watch.clock() + seconds)
