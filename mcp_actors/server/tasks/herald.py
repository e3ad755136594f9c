"""Herald: tells a session of 2025-11-25 how the tasks go that it began."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mcp_actors.runtime.turns import Turns
from mcp_actors.server.tasks.life import TaskRecord

__all__ = ["Herald"]

_KNOWN: Final = None


class Herald:
    """Of one task. Any thread; ``tell(record)`` brings the news to the session, in order, and must not block.

    Nothing is told before the client knows that there is a task: of what came meanwhile the latest is.
    """

    def __init__(self, tell: Callable[[TaskRecord], object]) -> None:
        self._send = tell
        self._known = False
        self._latest: TaskRecord | None = None
        self._turns: Turns[TaskRecord | None] = Turns(self._handle)

    def tell(self, record: TaskRecord) -> None:
        """It changed."""
        self._turns.bring(record)

    def begin(self) -> None:
        """The client was told of the task."""
        self._turns.bring(_KNOWN)

    def _handle(self, record: TaskRecord | None) -> None:
        if record is _KNOWN:
            self._known = True
            record, self._latest = self._latest, None
        if record is None:
            return
        if self._known:
            self._send(record)
        else:
            self._latest = record
