"""A board with a clock that tests move, and somebody who notes what happens to its tasks."""

from __future__ import annotations

from itertools import count
from typing import Any

from mcp_actors.protocol.codec import decode
from mcp_actors.protocol.serving.questions import Verdict
from mcp_actors.runtime.slot import Slot
from mcp_actors.server.tasks.board import TaskBoard, TaskFacts, TaskLimits
from mcp_actors.server.tasks.life import Dialect, TaskRecord
from mcp_actors.server.tasks.memory_store import MemoryTaskStore
from mcp_actors.server.tasks.store import TaskStore

QUESTION: dict[str, Any] = {"method": "elicitation/create", "params": {"message": "Sure?"}}


class Stage:
    """The board, and what was heard of its tasks."""

    def __init__(self, store: TaskStore | None = None, limits: TaskLimits | None = None) -> None:
        self.now = 1000.0
        self._moments = count()
        self.store = MemoryTaskStore() if store is None else store
        self.board = TaskBoard(self.store, lambda: self.now, self._now_text, limits)
        self.stops: list[str] = []
        self.told: list[TaskRecord] = []
        self.board.on_status(self.told.append)

    def create(
        self, dialect: Dialect = "core", owner: str | None = "alice", ttl: int | None = None
    ) -> TaskRecord:
        return self.board.create(TaskFacts("tools/call", dialect, owner, self.stops.append), ttl)

    def status(self, record: TaskRecord) -> str | None:
        now = self.store.get(record.id)
        return None if now is None else now.status

    def kept(self, task: TaskRecord) -> TaskRecord:
        found = self.store.get(task.id)
        assert found is not None
        return found

    def _now_text(self) -> str:
        return f"2026-01-01T00:00:{next(self._moments):02}Z"


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}], **more}


def value(slot: Slot[Verdict]) -> Any:
    """What is in a slot: the decoded answer or error, or the reason why there is none."""
    assert slot.is_set
    found: list[Verdict] = []
    slot.on_set(found.append)
    raw = getattr(found[0], "result", None) or getattr(found[0], "error", None)
    return getattr(found[0], "reason", "") if raw is None else decode(raw)
