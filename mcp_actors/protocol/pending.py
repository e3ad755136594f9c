"""Requests in flight: which id belongs to which caller."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import TypeAlias

from mcp_actors.protocol.endings import Ending

#: Whoever waits for an outcome. The machine only compares callers; the shell knows what they are.
Caller: TypeAlias = Hashable


class Flight:
    """One request that was written, or waits to be. ``refused`` holds its frame while the wire is busy;
    ``hindrance`` is what holds it back on its way; ``subject`` is what it is about, if its success lasts
    beyond it."""

    __slots__ = (
        "attempts", "caller", "hindrance", "id", "method", "progress", "refused", "seconds", "subject",
    )  # fmt: skip

    def __init__(self, id_: int, caller: Caller, method: str, seconds: float, progress: bool) -> None:
        self.id = id_
        self.caller = caller
        self.method = method
        self.seconds = seconds
        self.progress = progress
        self.refused: bytes | None = None
        self.hindrance: Ending | None = None
        self.subject: str | None = None
        self.attempts = 1


class Pending:
    """The table of flights, found by id or by caller. Taking a flight out is how a call ends: once."""

    def __init__(self) -> None:
        self._by_id: dict[int, Flight] = {}
        self._by_caller: dict[Caller, int] = {}

    def __len__(self) -> int:
        return len(self._by_id)

    def __iter__(self) -> Iterator[Flight]:
        return iter(self._by_id.values())

    def add(self, flight: Flight) -> None:
        """Note a new flight."""
        self._by_id[flight.id] = flight
        self._by_caller[flight.caller] = flight.id

    def get(self, id_: object) -> Flight | None:
        """The flight with this id. Ids match by type: ``True`` and ``"1"`` are not 1."""
        return self._by_id.get(id_) if type(id_) is int else None

    def take(self, id_: object) -> Flight | None:
        """Remove and return the flight with this id, if it is still in the air."""
        flight = self._by_id.pop(id_, None) if type(id_) is int else None
        if flight is not None:
            del self._by_caller[flight.caller]
        return flight

    def id_of(self, caller: Caller) -> int | None:
        """The id of a caller's request, if it is still in the air."""
        return self._by_caller.get(caller)

    def take_all(self) -> list[Flight]:
        """Remove and return every flight, oldest first."""
        flights = list(self._by_id.values())
        self._by_id.clear()
        self._by_caller.clear()
        return flights
