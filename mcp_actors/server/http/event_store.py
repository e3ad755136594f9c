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
    """Keeps the newest events of each session in memory, up to a number and a size per session."""

    def __init__(self, max_events: int = 1000, max_bytes: int = 4 * 1024 * 1024) -> None:
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._kept: dict[str, _Kept] = {}

    def append(self, session: str, stream: str, event: StoredEvent) -> None:
        """Keep an event; the session's oldest make room."""
        with self._lock:
            kept = self._kept.setdefault(session, _Kept())
            kept.events[stream, event.number] = event
            kept.size += len(event.frame)
            while len(kept.events) > self._max_events or kept.size > self._max_bytes:
                _, oldest = kept.events.popitem(last=False)
                kept.size -= len(oldest.frame)

    def after(self, session: str, stream: str, number: int) -> list[StoredEvent]:
        """What is kept of a stream after that number."""
        with self._lock:
            kept = self._kept.get(session, _NOTHING)
            return [event for (one, n), event in kept.events.items() if one == stream and n > number]

    def forget(self, session: str) -> None:
        """Drop all events of a session."""
        with self._lock:
            self._kept.pop(session, None)


class _Kept:
    """The events of one session, in the order in which they came, and their bytes."""

    def __init__(self) -> None:
        self.events: OrderedDict[tuple[str, int], StoredEvent] = OrderedDict()
        self.size = 0


_NOTHING: Final = _Kept()
