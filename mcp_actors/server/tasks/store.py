"""Where records of tasks are kept: the contract of all stores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from msgspec import Struct

from mcp_actors.server.tasks.life import TaskRecord

__all__ = ["RESERVE", "BadCursor", "Change", "Page", "TaskStore", "TooManyTasks"]

#: What every task counts for at least, in bytes: so a small end always fits where its task was.
RESERVE: Final = 4096


class TooManyTasks(Exception):
    """The store, or what one owner may have of it, is full of tasks that are not to be given up."""


class BadCursor(ValueError):
    """A cursor that no page ended with."""


class Change(Struct, frozen=True):
    """What an update did. Both are the same record if it did nothing."""

    before: TaskRecord
    after: TaskRecord

    @property
    def ends(self) -> bool:
        """Whether it was this change that ended the task."""
        return self.after.ended and not self.before.ended


class Page(Struct, frozen=True):
    """Some tasks of one owner, oldest first; the cursor leads to the next page, None: there is none."""

    records: Sequence[TaskRecord]
    cursor: str | None = None


class TaskStore(Protocol):
    """Keeps records. Any thread; every operation happens at one moment, before or after any other."""

    def create(self, record: TaskRecord) -> None:
        """Keep a new record. When this returns, ``get`` finds it.

        Raises:
            TooManyTasks: there is no room, or its owner has as many as one owner may have.
        """
        ...

    def get(self, task_id: str) -> TaskRecord | None:
        """The record as it is now."""
        ...

    def update(self, task_id: str, change: Callable[[TaskRecord], TaskRecord]) -> Change | None:
        """Replace a record by what ``change`` makes of it; None: there is none. What ``change`` raises is
        raised, and nothing changes. It may be called more than once, so it must be pure.

        Raises:
            TooManyTasks: the new one is larger, and there is no room. Never for one that takes less than
                ``RESERVE`` bytes, so that every task can end.
        """
        ...

    def delete(self, task_id: str) -> TaskRecord | None:
        """Forget a record; as it was last, None: there was none."""
        ...

    def list(self, owner: str | None, cursor: str | None = None) -> Page:
        """A page of the tasks of one owner.

        Raises:
            BadCursor: the cursor is none of ours.
        """
        ...

    def expire(self, now: float) -> Sequence[TaskRecord]:
        """Forget what has expired; these records, as they were last. Each is told once."""
        ...

    def next_expiry(self) -> float | None:
        """When the next record expires; None: there is none."""
        ...
