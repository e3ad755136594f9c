"""A store of tasks in the memory of this process."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import count, islice
from typing import Final

from mcp_actors.server.tasks.life import TaskRecord
from mcp_actors.server.tasks.store import RESERVE, BadCursor, Change, Page, TooManyTasks

__all__ = ["MemoryTaskStore"]

_CURSOR: Final = re.compile(r"[0-9]{1,18}")


class MemoryTaskStore:
    """Keeps a bounded number of tasks and bytes. When it is full, the tasks that ended longest ago make room.

    Any thread. The lock is held for an operation, and while a change is computed: changes are pure and quick.
    """

    def __init__(
        self, *, max_tasks: int = 1000, max_bytes: int = 64 * 1024 * 1024, page_size: int = 50
    ) -> None:
        self._max_tasks = max_tasks
        self._max_bytes = max_bytes
        self._page_size = page_size
        self._lock = threading.Lock()
        # Both in the order of creation.
        self._records: dict[str, TaskRecord] = {}
        self._numbers: dict[str, int] = {}
        # In the order in which they ended.
        self._ended: dict[str, None] = {}
        self._bytes = 0
        self._next_number = count(1)

    def create(self, record: TaskRecord) -> None:
        """Keep a new record.

        Raises:
            TooManyTasks: the store is full of tasks that have not ended.
        """
        with self._lock:
            self._make_room(1, _cost(record))
            self._records[record.id] = record
            self._numbers[record.id] = next(self._next_number)
            self._bytes += _cost(record)

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
        growth = _cost(done.after) - _cost(done.before)
        # Less than before always fits, whatever others have taken meanwhile.
        if growth > 0:
            self._make_room(0, growth)
        self._records[done.after.id] = done.after
        self._bytes += growth
        if done.ends:
            self._ended[done.after.id] = None

    def _make_room(self, tasks: int, size: int) -> None:
        """Forget as many ended tasks as need be; none at all if even that would not do."""
        too_many = len(self._records) + tasks - self._max_tasks
        too_large = self._bytes + size - self._max_bytes
        given_up: list[str] = []
        for task_id in self._ended:
            if too_many <= 0 and too_large <= 0:
                break
            given_up.append(task_id)
            too_many -= 1
            too_large -= _cost(self._records[task_id])
        if too_many > 0 or too_large > 0:
            raise TooManyTasks(
                f"{len(self._records)} tasks of {self._bytes} bytes leave no room for {size} bytes more "
                f"(at most {self._max_tasks} tasks, {self._max_bytes} bytes)"
            )
        for task_id in given_up:
            self._forget(task_id)

    def _forget(self, task_id: str) -> TaskRecord:
        record = self._records.pop(task_id)
        del self._numbers[task_id]
        self._ended.pop(task_id, None)
        self._bytes -= _cost(record)
        return record


def _cost(record: TaskRecord) -> int:
    return max(RESERVE, record.size)


def _number(cursor: str) -> int:
    if _CURSOR.fullmatch(cursor) is None:
        raise BadCursor("no list of tasks ended with this cursor")
    return int(cursor)
