"""Tasks: requests that outlive their answer, as in 2025-11-25 and as the later extension has them."""

from __future__ import annotations

from typing import Final

from mcp_actors.protocol.codec import JsonObject
from mcp_actors.protocol.types.input_required import InputRequest
from mcp_actors.protocol.types.results import ListResult, Result
from mcp_actors.protocol.types.value import MetaValue, Value

TERMINAL: Final = frozenset({"completed", "failed", "cancelled"})


class TaskMetadata(Value):
    """The wish to run a request as a task, and for how many milliseconds to keep it (2025-11-25)."""

    ttl: int | None = None


class RelatedTask(Value):
    """The task that a message belongs to, in its ``_meta`` (2025-11-25)."""

    task_id: str


class Task(Result):
    """A task's state: the answer to ``tasks/get`` and ``tasks/cancel``, and a notification (2025-11-25)."""

    task_id: str
    status: str
    created_at: str
    last_updated_at: str
    ttl: int | None  # null, for ever, must be sent
    status_message: str | None = None
    poll_interval: int | None = None

    @property
    def ended(self) -> bool:
        """Whether the state is final."""
        return self.status in TERMINAL


class TaskParams(MetaValue):
    """Which task."""

    task_id: str


class CreateTaskResult(Result):
    """The request became a task (2025-11-25)."""

    nested = ("task",)

    task: Task


class ListTasksResult(ListResult):
    """One page of tasks (2025-11-25)."""

    nested = ("tasks",)

    tasks: list[Task]


class ExtensionTask(Result):
    """A task of the extension ``io.modelcontextprotocol/tasks``: fields flat, times in milliseconds."""

    task_id: str
    status: str
    created_at: str
    last_updated_at: str
    ttl_ms: int | None
    status_message: str | None = None
    poll_interval_ms: int | None = None
    input_requests: dict[str, InputRequest] | None = None
    result: JsonObject | None = None
    error: JsonObject | None = None

    @property
    def ended(self) -> bool:
        """Whether the state is final."""
        return self.status in TERMINAL


class TaskUpdateParams(MetaValue):
    """Answers to what a task of the extension asked."""

    task_id: str
    input_responses: dict[str, JsonObject]
