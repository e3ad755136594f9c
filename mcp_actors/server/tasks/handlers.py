"""What a server answers to the requests about tasks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from mcp_actors.protocol import jsonrpc
from mcp_actors.protocol.codec import Json, JsonObject
from mcp_actors.protocol.serving.profile import TASKS
from mcp_actors.server.faults import Refusal, invalid_params, missing_capability
from mcp_actors.server.tasks import wire
from mcp_actors.server.tasks.board import TaskBoard
from mcp_actors.server.tasks.life import Dialect, TaskRecord
from mcp_actors.server.tasks.store import BadCursor, TooManyTasks

__all__ = ["Deferred", "cancel", "get", "list_tasks", "requested_ttl", "result", "undeclared", "update"]

#: More than any server grants.
_FOR_EVER: Final = 2**53


class Deferred:
    """The answer to ``tasks/result`` for a task that has not ended: it holds no thread until it has."""

    def __init__(self, board: TaskBoard, task_id: str) -> None:
        self._board = board
        self._task_id = task_id

    def begin(
        self,
        conclude: Callable[[JsonObject], object],
        refuse: Callable[[Refusal], object],
        put: Callable[[str, str, JsonObject], object] | None = None,
    ) -> Callable[[], None]:
        """Have one of the first two called, once. ``put(key, method, params)`` sends a question of the task
        to the client; what becomes of it goes to ``TaskBoard.answer``. The function returned gives all that
        up: the client does not wait any more."""

        def done(record: TaskRecord | None) -> None:
            answer = self._answer(record)
            if isinstance(answer, Refusal):
                refuse(answer)
            else:
                conclude(answer)

        def ask(key: str, request: JsonObject) -> None:
            assert put is not None
            put(key, request["method"], wire.related(request.get("params") or {}, self._task_id))

        return self._board.when_done(self._task_id, done, None if put is None else ask)

    def _answer(self, record: TaskRecord | None) -> JsonObject | Refusal:
        if record is None:
            return _unknown()
        if not record.ended:
            return Refusal(
                jsonrpc.INTERNAL_ERROR, "the task runs in another process, look at it with tasks/get"
            )
        return wire.outcome(record)


def get(board: TaskBoard, params: JsonObject, owner: str | None, dialect: Dialect) -> JsonObject:
    """``tasks/get``: how the task is."""
    return wire.shown(_visible(board, params, owner, dialect))


def result(
    board: TaskBoard, params: JsonObject, owner: str | None, dialect: Dialect
) -> JsonObject | Deferred:
    """``tasks/result``, of the core alone: what the request would have got, now or when the task ends."""
    _only_core("tasks/result", dialect)
    record = _visible(board, params, owner, dialect)
    if not record.ended:
        return Deferred(board, record.id)
    answer = wire.outcome(record)
    if isinstance(answer, Refusal):
        raise answer
    return answer


def list_tasks(board: TaskBoard, params: JsonObject, owner: str | None, dialect: Dialect) -> JsonObject:
    """``tasks/list``, of the core alone, and for those who have a name: nobody sees the tasks of others."""
    _only_core("tasks/list", dialect)
    if owner is None:
        raise Refusal(jsonrpc.METHOD_NOT_FOUND, "tasks are not listed for clients that cannot be told apart")
    cursor = params.get("cursor")
    if cursor is not None and not isinstance(cursor, str):
        raise invalid_params("cursor must be a string")
    try:
        return wire.listed(board.list(owner, cursor))
    except BadCursor as error:
        raise invalid_params(str(error)) from None


def cancel(board: TaskBoard, params: JsonObject, owner: str | None, dialect: Dialect) -> JsonObject:
    """``tasks/cancel``: end the task. In the core, one that has ended is a mistake; the extension does not
    mind."""
    change = board.cancel(_visible(board, params, owner, dialect).id)
    if dialect == "extension":
        return dict(wire.ACK)
    if change is None:
        raise _unknown()
    if not change.ends:
        raise invalid_params(f"the task cannot be cancelled: it is {change.before.status}")
    return wire.shown(change.after)


def update(board: TaskBoard, params: JsonObject, owner: str | None, dialect: Dialect) -> JsonObject:
    """``tasks/update``, of the extension alone: answers to what the task asked."""
    if dialect == "core":
        raise _no_such_method("tasks/update")
    record = _visible(board, params, owner, dialect)
    responses = params.get("inputResponses")
    if not isinstance(responses, dict) or not all(isinstance(one, dict) for one in responses.values()):
        raise invalid_params("inputResponses must be an object of objects")
    try:
        board.update(record.id, responses)
    except TooManyTasks as error:
        raise Refusal(jsonrpc.INTERNAL_ERROR, f"the answers cannot be kept: {error}") from None
    return dict(wire.ACK)


def requested_ttl(task: Json) -> int | None:
    """For how many milliseconds the client wants its task kept, by the ``task`` of its request (2025-11-25).
    None: it does not say. Whoever wants it for ever gets the most there is."""
    if not isinstance(task, dict):
        raise invalid_params("task must be an object")
    if "ttl" not in task:
        return None
    ttl: Any = _FOR_EVER if task["ttl"] is None else task["ttl"]
    # A bool is an int for Python and no number for JSON.
    if type(ttl) is not int or ttl < 0:
        raise invalid_params("task.ttl must be a number of milliseconds")
    return ttl


def undeclared() -> Refusal:
    """The request needs the tasks extension, which its client did not declare."""
    return missing_capability(
        {"extensions": {TASKS: {}}}, f"the client does not declare the extension {TASKS}"
    )


def _visible(board: TaskBoard, params: JsonObject, owner: str | None, dialect: Dialect) -> TaskRecord:
    task_id = params.get("taskId")
    if not isinstance(task_id, str):
        raise invalid_params("taskId must be a string")
    record = board.get(task_id, owner, dialect)
    if record is None:
        raise _unknown()
    return record


def _only_core(method: str, dialect: Dialect) -> None:
    if dialect != "core":
        raise _no_such_method(method)


def _no_such_method(method: str) -> Refusal:
    return Refusal(jsonrpc.METHOD_NOT_FOUND, f"no method {method}")


def _unknown() -> Refusal:
    # The same words for a task that never was, is over, or is another's: nobody learns which.
    return invalid_params("no such task")
