"""Tasks on the wire: records as the objects of both dialects."""

from __future__ import annotations

from typing import Final

from mcp_actors.protocol.codec import JsonObject, decode
from mcp_actors.protocol.types.tasks import ExtensionTask, Task
from mcp_actors.server.faults import Refusal, invalid_params
from mcp_actors.server.tasks.life import TaskRecord
from mcp_actors.server.tasks.store import Page

__all__ = ["ACK", "RELATED_TASK", "created", "listed", "notification", "outcome", "related", "shown"]

#: Names, in ``_meta``, the task that a message belongs to (2025-11-25).
RELATED_TASK: Final = "io.modelcontextprotocol/related-task"
#: What the extension answers to a request that changes a task.
ACK: Final[JsonObject] = {"resultType": "complete"}


def created(record: TaskRecord) -> JsonObject:
    """The answer to the request that became a task."""
    if record.dialect == "core":
        return {"task": _core(record)}
    return {"resultType": "task", **_flat(record)}


def shown(record: TaskRecord) -> JsonObject:
    """The answer to ``tasks/get``; in the core also that to ``tasks/cancel``."""
    return _core(record) if record.dialect == "core" else {**ACK, **_detailed(record)}


def listed(page: Page) -> JsonObject:
    """The answer to ``tasks/list``, which only the core has."""
    tasks = [_core(record) for record in page.records if record.dialect == "core"]
    return {"tasks": tasks} | ({} if page.cursor is None else {"nextCursor": page.cursor})


def notification(record: TaskRecord) -> tuple[str, JsonObject]:
    """Method and parameters of the news about a task."""
    if record.dialect == "core":
        return "notifications/tasks/status", _core(record)
    return "notifications/tasks", _detailed(record)


def outcome(record: TaskRecord) -> JsonObject | Refusal:
    """The answer to ``tasks/result`` for a task that has ended: what its request would have got."""
    if record.error is not None:
        error = decode(record.error)
        return Refusal(error["code"], error["message"], error.get("data"))
    if record.result is None:
        return invalid_params(f"the task has no result: {record.status_message}")
    return related(decode(record.result), record.id)


def related(message: JsonObject, task_id: str) -> JsonObject:
    """The result, or the parameters of a request, with the task it belongs to in its ``_meta``."""
    return {**message, "_meta": {**(message.get("_meta") or {}), RELATED_TASK: {"taskId": task_id}}}


def _core(record: TaskRecord) -> JsonObject:
    return Task(
        task_id=record.id,
        status=record.status,
        created_at=record.created_at,
        last_updated_at=record.updated_at,
        ttl=record.ttl,
        status_message=record.status_message,
        poll_interval=record.poll_interval,
    ).to_wire()


def _flat(record: TaskRecord) -> JsonObject:
    return ExtensionTask(
        task_id=record.id,
        status=record.status,
        created_at=record.created_at,
        last_updated_at=record.updated_at,
        ttl_ms=record.ttl,
        status_message=record.status_message,
        poll_interval_ms=record.poll_interval,
    ).to_wire()


def _detailed(record: TaskRecord) -> JsonObject:
    told = _flat(record)
    if record.status == "input_required":
        told["inputRequests"] = {key: decode(body) for key, body in record.input_requests.items()}
    if record.result is not None:
        # It is a result like any other, and those name their kind.
        told["result"] = {**ACK, **decode(record.result)}
    if record.error is not None:
        told["error"] = decode(record.error)
    return told
