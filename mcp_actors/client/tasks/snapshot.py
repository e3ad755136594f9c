"""Snapshot: what a server last said about a task, the same for both kinds of tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from mcp_actors.protocol.codec import JsonObject
from mcp_actors.protocol.types.input_required import InputRequest
from mcp_actors.protocol.types.tasks import TERMINAL, ExtensionTask, Task

# The server suggests how often to ask; it can neither be hammered nor forgotten by that.
_SHORTEST: Final = 0.05
_LONGEST: Final = 60.0
_USUAL: Final = 1.0

_NOTHING: Final[Mapping[str, InputRequest]] = {}


class Snapshot(Struct, frozen=True):
    """``result``, ``error`` and ``asked`` are only told by tasks of the extension. ``poll`` is in seconds."""

    id: str
    status: str
    created_at: str
    status_message: str | None = None
    poll: float = _USUAL
    raw: JsonObject = {}
    result: JsonObject | None = None
    error: JsonObject | None = None
    asked: Mapping[str, InputRequest] = _NOTHING

    @property
    def ended(self) -> bool:
        """Whether the status is final."""
        return self.status in TERMINAL

    @classmethod
    def of_core(cls, task: Task) -> Snapshot:
        """From a task of 2025-11-25."""
        return cls(
            task.task_id,
            task.status,
            task.created_at,
            task.status_message,
            poll_seconds(task.poll_interval),
            task.raw,
        )

    @classmethod
    def of_extension(cls, task: ExtensionTask) -> Snapshot:
        """From a task of the extension."""
        return cls(
            task.task_id,
            task.status,
            task.created_at,
            task.status_message,
            poll_seconds(task.poll_interval_ms),
            task.raw,
            task.result,
            task.error,
            task.input_requests or _NOTHING,
        )


def poll_seconds(milliseconds: int | None) -> float:
    """How long to wait before asking again, if the server suggests ``milliseconds``."""
    if milliseconds is None:
        return _USUAL
    return min(max(milliseconds / 1000, _SHORTEST), _LONGEST)
