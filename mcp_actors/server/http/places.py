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
        self._holdings: dict[Client, int] = {}
        # When the last place was taken, and the last of those that have all of their share. Places that are
        # not all taken have no times: nobody waits for them.
        self._filled = -inf
        self._filled_by: dict[Client, float] = {}
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
        filled = self._filled_by.get(waiting.client, self._filled)
        return min(since, filled) + self._patience - self._clock()

    def _refusal(self, client: Client | None, id: Id | None, lasts: bool) -> Rejected:
        after = _STREAM_AFTER if lasts else _CALL_AFTER
        if lasts and self._streams >= self._most_streams:
            return unavailable(f"{self._most_streams} streams are open, the most there may be", after, id)
        if client in self._filled_by:
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
            if place.client is not None:
                self._give_up(place.client)
            if self._line:
                self._hand_on()

    # Under the lock.

    def _has_room(self, client: Client | None, lasts: bool) -> bool:
        if lasts and self._streams >= self._most_streams:
            return False
        if client in self._filled_by:
            return False
        # However many streams there are, one call is served.
        most = self._most
        return most is None or self._calls + self._streams < most or (self._calls == 0 and not lasts)

    def _given(self, client: Client | None, lasts: bool) -> Place:
        if lasts:
            self._streams += 1
        else:
            self._calls += 1
        if client is not None:
            held = self._holdings[client] = self._holdings.get(client, 0) + 1
            if held == self._share:
                self._filled_by[client] = self._clock()
        if self._most is not None and self._calls + self._streams >= self._most:
            self._filled = self._clock()
        return Place(self, client, lasts)

    def _give_up(self, client: Client) -> None:
        held = self._holdings[client] - 1
        if held:
            self._holdings[client] = held
        else:
            del self._holdings[client]
        if self._filled_by:
            self._filled_by.pop(client, None)

    def _hand_on(self) -> None:
        """Give the place that was left to the first who may have it."""
        for waiting in self._line:
            if self._has_room(waiting.client, waiting.lasts):
                self._line.remove(waiting)
                waiting.place = self._given(waiting.client, waiting.lasts)
                waiting.bell.release()
                return
