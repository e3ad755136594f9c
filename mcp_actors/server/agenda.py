"""Agenda: what a server has still to do at some time. Its timekeeper may crash; this stays."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterator
from typing import TypeAlias

from msgspec import Struct

from mcp_actors.protocol.serving.news import News
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.ref import Ref


class Due(Struct, frozen=True):
    """Call ``action()`` at a moment, instead of what was to be called under this key before."""

    key: Hashable
    moment: Deadline
    action: Callable[[], object]


class Dropped(Struct, frozen=True):
    """Forget what was to be called under this key."""

    key: Hashable


class Announced(Struct, frozen=True):
    """Something changed. Who wants to know hears of it soon, and of many changes at once only once."""

    news: News


class Look(Struct, frozen=True):
    """To the timekeeper: there is something new."""


Entry: TypeAlias = Due | Dropped | Announced


class Agenda:
    """Any thread may write down; the rest belongs to the timekeeper of the moment.

    The mailbox of a timekeeper only rings: what is in a mailbox, and its timers, end with the actor. An entry
    is written before the timekeeper is looked up, and a new timekeeper looks after it can be found: so there
    is always one that sees it.
    """

    def __init__(self) -> None:
        self._written: deque[Entry] = deque()
        self._closed = False
        self._timekeeper: Ref | None = None
        # From here on: the timekeeper's.
        self.due: dict[Hashable, Due] = {}
        """By key, what is to be called."""
        self.late: dict[Hashable, News] = {}
        """What happened in a quiet time, to be told at its end, by the key of that time."""

    # Any thread.

    def write(self, entry: Entry) -> None:
        """Have it done. Nothing happens after the end."""
        if self._closed:
            return
        self._written.append(entry)
        timekeeper = self._timekeeper
        if timekeeper is not None:
            timekeeper.tell(Look())

    def close(self) -> None:
        """Nothing is to be done any more."""
        self._closed = True
        self._written.clear()

    # The timekeeper's thread.

    def serve(self, timekeeper: Ref) -> None:
        """From now on this one is told."""
        self._timekeeper = timekeeper

    def read(self) -> Iterator[Entry]:
        """What is new now. Each is read once: what brings down a timekeeper does so no second time."""
        # Not what comes meanwhile, which is told again: timers must have their turn.
        for _ in range(len(self._written)):
            yield self._written.popleft()
