"""The two dialects that servers speak about tasks: the core's of 2025-11-25, and the later extension's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, TypeVar

from msgspec import Struct

from mcp_actors import errors
from mcp_actors.client.calls import Calls, Manner
from mcp_actors.client.enclosures import Enclosures
from mcp_actors.client.outgoing import Outgoing, joined, outgoing
from mcp_actors.client.questions import Questions
from mcp_actors.client.results import interpret, parse, told, unasked
from mcp_actors.client.tasks.snapshot import Snapshot
from mcp_actors.protocol import codec
from mcp_actors.protocol.types.input_required import InputRequest, InputRequiredResult
from mcp_actors.protocol.types.results import Result
from mcp_actors.protocol.types.tasks import ExtensionTask, Task
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.slot import Slot
from mcp_actors.telemetry.redaction import printable

R = TypeVar("R", bound=Result)

_RELATED: Final = "io.modelcontextprotocol/related-task"


class Wait(Struct, frozen=True):
    """One caller's wait for the end of a task. ``claims`` holds the questions that somebody answers, ``look``
    asks how the task is and remembers it, ``unwanted`` is that of a caller who has his place in flight."""

    what: str
    seconds: float
    deadline: Deadline
    claims: dict[str, object]
    look: Callable[[Manner], Snapshot]
    unwanted: Slot[None] | None = None

    @property
    def manner(self) -> Manner:
        """How to ask about a task: through lost connections, which it outlives; asking twice does no harm."""
        vouched = self.unwanted is not None
        return Manner(self.seconds, wait=True, replay=True, deadline=self.deadline, vouched=vouched)


class Dialect(Protocol):
    """How to speak about tasks. Shared by all threads."""

    def get(self, task_id: str, manner: Manner) -> Snapshot:
        """Ask how the task is."""
        ...

    def cancel(self, task_id: str, manner: Manner) -> Snapshot | None:
        """Ask for its end; what it is like then, if the server says so."""
        ...

    def conclude(self, kind: type[R], task: Snapshot, wait: Wait) -> R | None:
        """Do what the status calls for: the result if there is one, None if the task goes on."""
        ...


class CoreDialect:
    """Tasks of 2025-11-25: the result is asked for, and the server asks back by requests of its own."""

    def __init__(self, calls: Calls, enclosures: Enclosures) -> None:
        self._calls = calls
        self._enclosures = enclosures

    def get(self, task_id: str, manner: Manner) -> Snapshot:
        """Ask how the task is."""
        request = self._enclosures.enclose(about("tasks/get", task_id))
        return Snapshot.of_core(parse(Task, self._calls.run(request, manner), request.what))

    def cancel(self, task_id: str, manner: Manner) -> Snapshot:
        """Ask for its end; the server answers when it is there."""
        request = self._enclosures.enclose(about("tasks/cancel", task_id))
        return Snapshot.of_core(parse(Task, self._calls.run(request, manner), request.what))

    def conclude(self, kind: type[R], task: Snapshot, wait: Wait) -> R | None:
        """The result, which is also what a server waits for that wants to ask something (2025-11-25)."""
        if task.status == "cancelled":
            raise cancelled(task, wait.what)
        if not task.ended and task.status != "input_required":
            return None
        request = self._enclosures.enclose(about("tasks/result", task.id))
        try:
            result = parse(kind, self._calls.run(request, wait.manner), request.what)
        except errors.RemoteError as error:
            if not task.ended:
                task = wait.look(wait.manner)
            if task.status == "cancelled":
                raise cancelled(task, wait.what) from error
            raise
        return _related(result, task, request)


class ExtensionDialect:
    """Tasks of the extension: everything is in the answer to ``tasks/get``."""

    def __init__(self, calls: Calls, questions: Questions, enclosures: Enclosures) -> None:
        self._calls = calls
        self._questions = questions
        self._enclosures = enclosures

    def get(self, task_id: str, manner: Manner) -> Snapshot:
        """Ask how the task is."""
        request = self._enclosures.enclose(about("tasks/get", task_id))
        # The extension's own examples differ on whether this result is "complete" or a "task".
        task = interpret(ExtensionTask, self._calls.run(request, manner), request.what)
        if isinstance(task, InputRequiredResult):
            raise unasked(task, request.what)
        return Snapshot.of_extension(task)

    def cancel(self, task_id: str, manner: Manner) -> None:
        """Ask for its end, which may come later or not at all."""
        self._calls.run(self._enclosures.enclose(about("tasks/cancel", task_id)), manner)

    def conclude(self, kind: type[R], task: Snapshot, wait: Wait) -> R | None:
        """The result inside; what the task asks meanwhile is answered."""
        if task.status == "cancelled":
            raise cancelled(task, wait.what)
        if task.status == "failed":
            raise _failed(task, wait.what)
        if task.status == "completed":
            return _inlined(kind, task, wait.what)
        self._reply(task, wait)
        return None

    def _reply(self, task: Snapshot, wait: Wait) -> None:
        mine = object()
        # setdefault is atomic: of several who wait for this task, one answers each question.
        asked = {
            key: request for key, request in task.asked.items() if wait.claims.setdefault(key, mine) is mine
        }
        if not asked:
            return
        try:
            self._update(task.id, asked, wait)
        except BaseException:
            for key in asked:
                wait.claims.pop(key, None)
            raise

    def _update(self, task_id: str, asked: Mapping[str, InputRequest], wait: Wait) -> None:
        answers = self._questions.together(asked, wait.what, wait.seconds, wait.deadline)
        members = {"taskId": codec.encode(task_id), "inputResponses": joined(answers)}
        request = Outgoing(f"tasks/update {short(task_id)!r}", "tasks/update", joined(members))
        self._calls.run(self._enclosures.enclose(request), wait.manner)


def about(method: str, task_id: str) -> Outgoing:
    """A request about one task."""
    return outgoing(method, {"taskId": task_id}, what=f"{method} {short(task_id)!r}")


def short(task_id: str) -> str:
    """As much of an id as a reader of an error can use."""
    return printable(task_id, 80)


def cancelled(task: Snapshot, what: str) -> errors.Cancelled:
    """The error for a task that was cancelled, by whomever."""
    return errors.Cancelled(
        f"{what} was cancelled{_because(task.status_message)}", details={"task_id": task.id}
    )


def _inlined(kind: type[R], task: Snapshot, what: str) -> R:
    result = told(f"the result of {what}", kind, task.result or {})
    if not result.complete:
        raise unasked(result, what)
    return result


def _failed(task: Snapshot, what: str) -> errors.McpError:
    error: dict[str, Any] = task.error or {}
    code, message = error.get("code"), error.get("message")
    if type(code) is not int:
        return errors.InvalidResponse(f"{what} failed without saying why", details={"task_id": task.id})
    return errors.RemoteError(
        f"{what} failed{_because(message)} (code {code})",
        code=code,
        data=error.get("data"),
        details={"message": message, "task_id": task.id},
    )


def _related(result: R, task: Snapshot, request: Outgoing) -> R:
    """MCP 2025-11-25, tasks: a result names its task. One that names another is another's."""
    related = (result.meta or {}).get(_RELATED)
    named = related.get("taskId", task.id) if isinstance(related, dict) else task.id
    if named != task.id:
        raise errors.InvalidResponse(f"{request.what} got the result of task {short(str(named))!r}")
    return result


def _because(reason: object) -> str:
    return f": {printable(reason, 500)}" if isinstance(reason, str) and reason else ""
