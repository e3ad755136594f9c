"""Places: the threads of the WSGI server that requests may hold, so that some are left for the next ones."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from math import inf
from typing import Final, TypeAlias

from mcp_actors.protocol.http.rejections import Rejected
from mcp_actors.protocol.jsonrpc import Id
from mcp_actors.server.http.reply import unavailable

_CALL_AFTER: Final = 1
_STREAM_AFTER: Final = 5

Client: TypeAlias = Hashable


class Place:
    """What one request holds until it `leave`s. Any thread; a second time nothing happens."""

    __slots__ = ("_places", "client", "lasts", "left")

    def __init__(self, places: Places, client: Client | None, lasts: bool) -> None:
        self._places = places
        self.client = client
        self.lasts = lasts
        self.left = False

    def leave(self) -> None:
        """The thread is free again."""
        self._places._leave(self)


class _Holding:
    """What one client holds, and when that changed last."""

    __slots__ = ("held", "moved")

    def __init__(self) -> None:
        self.held = 0
        self.moved = -inf


class _Waiting:
    """A request without a place. Its bell is a lock that is held until there is one."""

    __slots__ = ("bell", "client", "lasts", "place")

    def __init__(self, client: Client | None, lasts: bool) -> None:
        self.client = client
        self.lasts = lasts
        self.place: Place | None = None
        self.bell = threading.Lock()
        self.bell.acquire()


class Places:
    """Any thread. One lock, under which nothing waits.

    ``most`` requests have a place at a time, None: any number; ``streams`` of them may be streams that last,
    and ``share`` of them may be one client's. One that finds no place waits as long as places change hands,
    at most for ``patience``: where calls are short a place is soon there, and where they are long it is not
    worth a thread to wait for one.
    """

    def __init__(
        self,
        most: int | None,
        streams: int,
        share: int | None,
        *,
        patience: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most = most
        self._most_streams = streams
        self._share = share
        self._patience = patience
        self._clock = clock
        self._lock = threading.Lock()
        self._calls = 0
        self._streams = 0
        self._moved = -inf
        self._holdings: dict[Client, _Holding] = {}
        self._line: list[_Waiting] = []

    @property
    def calls(self) -> int:
        """How many requests wait for their answer now."""
        return self._calls

    @property
    def streams(self) -> int:
        """How many streams there are now."""
        return self._streams

    @property
    def waiting(self) -> int:
        """How many requests have no place yet."""
        return len(self._line)

    def take(self, client: Client | None = None, id: Id | None = None, *, lasts: bool = False) -> Place:
        """A place for a request, or (``lasts``) for a stream. ``client`` None: nobody knows whose.

        Raises:
            Rejected: there is none, and none to be expected soon.
        """
        with self._lock:
            if self._has_room(client, lasts):
                return self._given(client, lasts)
            waiting = _Waiting(client, lasts)
            self._line.append(waiting)
            since = self._clock()
        place = self._waited(waiting, since)
        if place is None:
            raise self._refusal(client, id, lasts)
        return place

    # On the thread of the request.

    def _waited(self, waiting: _Waiting, since: float) -> Place | None:
        left = self._worth(waiting, since)
        while not waiting.bell.acquire(timeout=max(left, 0.0)):
            with self._lock:
                left = self._worth(waiting, since)
                if left <= 0 and waiting.place is None:
                    self._line.remove(waiting)
                    return None
        return waiting.place

    def _worth(self, waiting: _Waiting, since: float) -> float:
        """For how long it is worth waiting on."""
        if waiting.lasts and self._streams >= self._most_streams:
            # Streams end when somebody goes away, which may be never.
            return 0.0
        own = self._holdings.get(waiting.client)
        moved = own.moved if own is not None and self._is_over(own.held) else self._moved
        return min(since, moved) + self._patience - self._clock()

    def _refusal(self, client: Client | None, id: Id | None, lasts: bool) -> Rejected:
        own = self._holdings.get(client)
        after = _STREAM_AFTER if lasts else _CALL_AFTER
        if lasts and self._streams >= self._most_streams:
            return unavailable(f"{self._most_streams} streams are open, the most there may be", after, id)
        if own is not None and self._is_over(own.held):
            words = f"{self._share} requests of this client are under way, the most there may be"
            return unavailable(words, after, id)
        return unavailable(f"{self._most} requests are under way, the most there may be", after, id)

    def _leave(self, place: Place) -> None:
        with self._lock:
            if place.left:
                return
            place.left = True
            if place.lasts:
                self._streams -= 1
            else:
                self._calls -= 1
            self._note(place.client, -1)
            for waiting in self._line:
                if self._has_room(waiting.client, waiting.lasts):
                    self._line.remove(waiting)
                    waiting.place = self._given(waiting.client, waiting.lasts)
                    waiting.bell.release()
                    return

    # Under the lock.

    def _has_room(self, client: Client | None, lasts: bool) -> bool:
        if lasts and self._streams >= self._most_streams:
            return False
        own = self._holdings.get(client)
        if own is not None and self._is_over(own.held):
            return False
        if self._most is None:
            return True
        # However many streams there are, one call is served.
        taken, most = self._calls + self._streams, self._most
        return taken < most or (self._calls == 0 and not lasts)

    def _is_over(self, held: int) -> bool:
        return self._share is not None and held >= self._share

    def _given(self, client: Client | None, lasts: bool) -> Place:
        if lasts:
            self._streams += 1
        else:
            self._calls += 1
        self._note(client, 1)
        return Place(self, client, lasts)

    def _note(self, client: Client | None, change: int) -> None:
        self._moved = now = self._clock()
        if client is None:
            return
        own = self._holdings.get(client)
        if own is None:
            own = self._holdings[client] = _Holding()
        own.held += change
        own.moved = now
        if not own.held:
            del self._holdings[client]
