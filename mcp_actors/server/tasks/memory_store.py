"""A store of tasks in the memory of this process."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count, islice
from typing import Final

from msgspec import Struct

from mcp_actors.server.tasks.life import TaskRecord
from mcp_actors.server.tasks.store import RESERVE, BadCursor, Change, Page, TooManyTasks

__all__ = ["MemoryTaskStore"]

_CURSOR: Final = re.compile(r"[0-9]{1,18}")


class MemoryTaskStore:
    """Keeps a bounded number of tasks and bytes, in all and of each owner. When there is no room, those that
    ended longest ago make some: of the same owner if it has as much as it may have, else of anybody.

    ``max_owner_tasks`` and ``max_owner_bytes`` are for tasks with an owner: the others may be anybody's.

    Any thread. The lock is held for an operation, and while a change is computed: changes are pure and quick.
    """

    def __init__(
        self,
        *,
        max_tasks: int = 1000,
        max_bytes: int = 64 * 1024 * 1024,
        max_owner_tasks: int = 250,
        max_owner_bytes: int = 16 * 1024 * 1024,
        page_size: int = 50,
    ) -> None:
        self._most = _Room(max_tasks, max_bytes)
        self._most_of_owner = _Room(max_owner_tasks, max_owner_bytes)
        self._page_size = page_size
        self._lock = threading.Lock()
        # Both in the order of creation.
        self._records: dict[str, TaskRecord] = {}
        self._numbers: dict[str, int] = {}
        # In the order in which they ended.
        self._ended: dict[str, None] = {}
        self._taken = _NOTHING
        self._taken_by: dict[str, _Room] = {}
        self._next_number = count(1)

    def create(self, record: TaskRecord) -> None:
        """Keep a new record.

        Raises:
            TooManyTasks: the store, or what its owner may have of it, is full of tasks that have not ended.
        """
        with self._lock:
            self._make_room(record.owner, _room(record))
            self._records[record.id] = record
            self._numbers[record.id] = next(self._next_number)
            self._count(record.owner, _room(record))

    def get(self, task_id: str) -> TaskRecord | None:
        """The record as it is now."""
        with self._lock:
            return self._records.get(task_id)

    def update(self, task_id: str, change: Callable[[TaskRecord], TaskRecord]) -> Change | None:
        """Replace a record by what ``change`` makes of it.

        Raises:
            TooManyTasks: the new one is larger, and there is no room.
        """
        with self._lock:
            before = self._records.get(task_id)
            if before is None:
                return None
            done = Change(before, change(before))
            if done.after is not before:
                self._replace(done)
            return done

    def delete(self, task_id: str) -> TaskRecord | None:
        """Forget a record."""
        with self._lock:
            return self._forget(task_id) if task_id in self._records else None

    def list(self, owner: str | None, cursor: str | None = None) -> Page:
        """A page of the tasks of one owner.

        Raises:
            BadCursor: the cursor is none of ours.
        """
        # A number and no id: the task that a page ended with may be gone when the next one is wanted.
        last = 0 if cursor is None else _number(cursor)
        with self._lock:
            found = list(islice(self._behind(owner, last), self._page_size + 1))
            page = found[: self._page_size]
            more = str(self._numbers[page[-1].id]) if len(found) > len(page) else None
        return Page(page, more)

    def expire(self, now: float) -> Sequence[TaskRecord]:
        """Forget what has expired."""
        with self._lock:
            late = [task_id for task_id, record in self._records.items() if record.expires_at <= now]
            return [self._forget(task_id) for task_id in late]

    def next_expiry(self) -> float | None:
        """When the next record expires."""
        with self._lock:
            return min((record.expires_at for record in self._records.values()), default=None)

    def _behind(self, owner: str | None, number: int) -> Iterator[TaskRecord]:
        return (
            record
            for task_id, record in self._records.items()
            if record.owner == owner and self._numbers[task_id] > number
        )

    def _replace(self, done: Change) -> None:
        growth = _Room(0, _cost(done.after) - _cost(done.before))
        # Less than before always fits, whatever others have taken meanwhile.
        if growth.size > 0:
            self._make_room(done.after.owner, growth)
        self._records[done.after.id] = done.after
        self._count(done.after.owner, growth)
        if done.ends:
            self._ended[done.after.id] = None

    def _make_room(self, owner: str | None, wanted: _Room) -> None:
        """Forget as many ended tasks as need be; none at all if even that would not do."""
        ended = [self._records[task_id] for task_id in self._ended]
        own = self._given_up_by(owner, wanted, ended) if owner is not None else {}
        others = (record for record in ended if record.id not in own)
        taken = self._taken.plus(wanted)
        for record in own.values():
            taken = taken.less(_room(record))
        given_up = _given_up(taken, self._most, others)
        if given_up is None:
            raise TooManyTasks(
                f"{self._taken} leave no room for {wanted.size} bytes more (at most {self._most})"
            )
        for task_id in [*own, *given_up]:
            self._forget(task_id)

    def _given_up_by(self, owner: str, wanted: _Room, ended: Sequence[TaskRecord]) -> dict[str, TaskRecord]:
        """What an owner has to give up for more of its own."""
        taken, most = self._taken_by.get(owner, _NOTHING), self._most_of_owner
        own = (record for record in ended if record.owner == owner)
        given_up = _given_up(taken.plus(wanted), most, own)
        if given_up is None:
            words = f"{taken} of this owner leave no room for {wanted.size} bytes more"
            raise TooManyTasks(f"{words} (one owner has at most {most})")
        return given_up

    def _count(self, owner: str | None, change: _Room) -> None:
        self._taken = self._taken.plus(change)
        if owner is None:
            return
        taken = self._taken_by.get(owner, _NOTHING).plus(change)
        if taken.tasks:
            self._taken_by[owner] = taken
        else:
            del self._taken_by[owner]

    def _forget(self, task_id: str) -> TaskRecord:
        record = self._records.pop(task_id)
        del self._numbers[task_id]
        self._ended.pop(task_id, None)
        self._count(record.owner, _NOTHING.less(_room(record)))
        return record


class _Room(Struct, frozen=True):
    """A number of tasks, and their bytes."""

    tasks: int = 0
    size: int = 0

    def plus(self, other: _Room) -> _Room:
        return _Room(self.tasks + other.tasks, self.size + other.size)

    def less(self, other: _Room) -> _Room:
        return _Room(self.tasks - other.tasks, self.size - other.size)

    def exceeds(self, most: _Room) -> bool:
        return self.tasks > most.tasks or self.size > most.size

    def __str__(self) -> str:
        return f"{self.tasks} tasks of {self.size} bytes"


_NOTHING: Final = _Room()


def _given_up(taken: _Room, most: _Room, ended: Iterable[TaskRecord]) -> dict[str, TaskRecord] | None:
    """Which of these have to go, from the first on, so that the rest fits; None: it would not without all."""
    gone: dict[str, TaskRecord] = {}
    left = iter(ended)
    while taken.exceeds(most):
        record = next(left, None)
        if record is None:
            return None
        gone[record.id] = record
        taken = taken.less(_room(record))
    return gone


def _room(record: TaskRecord) -> _Room:
    return _Room(1, _cost(record))


def _cost(record: TaskRecord) -> int:
    return max(RESERVE, record.size)


def _number(cursor: str) -> int:
    if _CURSOR.fullmatch(cursor) is None:
        raise BadCursor("no list of tasks ended with this cursor")
    return int(cursor)
