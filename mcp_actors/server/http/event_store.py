"""Event stores: what was said on the streams of a session, kept so that broken ones can be resumed."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final, Protocol

from msgspec import Struct


class StoredEvent(Struct, frozen=True):
    """One message of a stream. Numbers count from 1 in each stream. ``last``: it ended its stream."""

    number: int
    frame: bytes
    last: bool = False


class EventStore(Protocol):
    """Keeps events by session and stream, within bounds of its own. Any thread; must be quick."""

    def append(self, session: str, stream: str, event: StoredEvent) -> None:
        """Keep the next event of a stream. Older ones of the session may have to go."""

    def after(self, session: str, stream: str, number: int) -> list[StoredEvent]:
        """What is kept of the stream's events after that number, in order."""

    def forget(self, session: str) -> None:
        """The session is over."""


class MemoryEventStore:
    """Keeps the newest events in memory: up to a number and a size per session, and up to a size in all.

    ``max_total_bytes`` counts what an event costs beside its frame, too: sessions that say little are many.
    """

    def __init__(
        self,
        max_events: int = 1000,
        max_bytes: int = 4 * 1024 * 1024,
        max_total_bytes: int = 64 * 1024 * 1024,
    ) -> None:
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._max_total = max_total_bytes
        self._lock = threading.Lock()
        self._kept: dict[str, _Kept] = {}
        # Whose events came in which order: an event's number counts from the first that was ever kept.
        self._order: OrderedDict[int, str] = OrderedDict()
        self._next = 0
        self._total = 0

    @property
    def size(self) -> int:
        """What all events cost, in bytes."""
        return self._total

    def append(self, session: str, stream: str, event: StoredEvent) -> None:
        """Keep an event; the session's oldest make room, and then the oldest of all."""
        with self._lock:
            kept = self._kept.setdefault(session, _Kept())
            kept.events[stream, event.number] = (self._next, event)
            kept.size += len(event.frame)
            self._order[self._next] = session
            self._next += 1
            self._total += _cost(event)
            while len(kept.events) > self._max_events or kept.size > self._max_bytes:
                self._drop_oldest(session)
            while self._total > self._max_total:
                self._drop_oldest(next(iter(self._order.values())))

    def after(self, session: str, stream: str, number: int) -> list[StoredEvent]:
        """What is kept of a stream after that number."""
        with self._lock:
            kept = self._kept.get(session, _NOTHING)
            return [event for (one, n), (_, event) in kept.events.items() if one == stream and n > number]

    def forget(self, session: str) -> None:
        """Drop all events of a session."""
        with self._lock:
            while session in self._kept:
                self._drop_oldest(session)

    def _drop_oldest(self, session: str) -> None:
        kept = self._kept[session]
        _, (place, oldest) = kept.events.popitem(last=False)
        kept.size -= len(oldest.frame)
        del self._order[place]
        self._total -= _cost(oldest)
        if not kept.events:
            del self._kept[session]


class _Kept:
    """The events of one session, each with its place among all, in the order in which they came."""

    def __init__(self) -> None:
        self.events: OrderedDict[tuple[str, int], tuple[int, StoredEvent]] = OrderedDict()
        self.size = 0


def _cost(event: StoredEvent) -> int:
    return len(event.frame) + _OVERHEAD


_NOTHING: Final = _Kept()
#: The objects around a frame.
_OVERHEAD: Final = 512
