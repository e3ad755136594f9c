"""Tasks: starting, finding and waiting for calls that outlive their answer."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context

from msgspec import Raw, structs

from mcp_actors import errors
from mcp_actors.client.calls import Calls, Manner
from mcp_actors.client.enclosures import Enclosures
from mcp_actors.client.futures import Handover, Onward
from mcp_actors.client.gate import CORE_TASKS, TASKS_EXTENSION, extends, offers_core_tasks
from mcp_actors.client.options import check_seconds
from mcp_actors.client.outgoing import Outgoing, as_task, check_text
from mcp_actors.client.pages import Pages
from mcp_actors.client.results import interpret, unasked
from mcp_actors.client.rounds import Rounds
from mcp_actors.client.tasks.dialects import CoreDialect, ExtensionDialect, short
from mcp_actors.client.tasks.following import Follower
from mcp_actors.client.tasks.handle import Office, TaskHandle
from mcp_actors.client.tasks.snapshot import Snapshot
from mcp_actors.protocol.agreement import Agreement
from mcp_actors.protocol.types.capabilities import declares
from mcp_actors.protocol.types.tasks import CreateTaskResult, ExtensionTask, ListTasksResult
from mcp_actors.protocol.types.tools import CallToolResult, Tool
from mcp_actors.runtime.deadline import Deadline

Handle = TaskHandle[CallToolResult]


class Tasks:
    """Shared by all threads that use a client. ``tool`` finds a tool in the last listing; ``extension`` is
    whether the client declared the extension; ``seconds`` is the timeout where none is given."""

    def __init__(
        self,
        calls: Calls,
        rounds: Rounds,
        *,
        tool: Callable[[str], Tool | None],
        extension: bool,
        seconds: float,
        enclosures: Enclosures,
    ) -> None:
        self._calls = calls
        self._rounds = rounds
        self._tool = tool
        self._extension = extension
        self._seconds = seconds
        self._enclosures = enclosures
        self._core_office = Office(calls, CoreDialect(calls, enclosures), seconds, enclosures)
        extension_dialect = ExtensionDialect(calls, rounds.questions, enclosures)
        self._extension_office = Office(calls, extension_dialect, seconds, enclosures)

    def call(self, name: str, request: Outgoing, manner: Manner) -> CallToolResult:
        """Call a tool and block until it has answered, also if it only runs as a task."""
        deadline = manner.deadline or Deadline.after(manner.seconds)
        tool = self._tool(name)
        if tool is not None and _support(tool) == "required":
            agreement = self._calls.agreement(request.what, manner.seconds, deadline)
            if offers_core_tasks(agreement):
                return self._see_through(self._start_core(request, None, manner, deadline), manner, deadline)
        answer = self._rounds.settle(CallToolResult, request, manner, deadline)
        if not isinstance(answer, ExtensionTask):
            return answer
        return self._see_through(self._adopt(answer, request, manner, deadline), manner, deadline)

    def decoder(
        self, request: Outgoing, manner: Manner, check: Callable[[CallToolResult], CallToolResult]
    ) -> Callable[[Raw], CallToolResult | Onward | Handover]:
        """How the answers to one submitted call are read: its future lasts until its task has ended."""
        context = copy_context()

        def follow(handle: Handle) -> Handover:
            follower = Follower(handle.checked(check), manner.seconds, manner.on_progress, context.copy())
            return Handover(follower.begin)

        def adopt(task: ExtensionTask) -> Handover:
            return follow(self._adopt(task, request, manner, Deadline.after(manner.seconds)))

        settled = self._rounds.decoder(CallToolResult, request, adopt)

        def decode(result: Raw) -> CallToolResult | Onward | Handover:
            created = _created(result) if request.task else None
            if created is None:
                return settled(result)
            return follow(_begun(self._core_office, created, request))

        return decode

    def start(self, name: str, request: Outgoing, manner: Manner, ttl: float | None = None) -> Handle:
        """Call a tool as a task; the handle, as soon as the server has accepted it.

        ``ttl`` is for how many seconds the server shall keep it; the extension leaves that to the server.
        """
        if ttl is not None:
            check_seconds("ttl", ttl)
        deadline = manner.deadline or Deadline.after(manner.seconds)
        agreement = self._calls.agreement(request.what, manner.seconds, deadline)
        self._check_offer(agreement, f"{request.what} was not sent")
        if not agreement.revision.stateless:
            self._check_tool(name, request)
            return self._start_core(request, ttl, manner, deadline)
        answer = self._rounds.settle(CallToolResult, request, manner, deadline)
        if isinstance(answer, ExtensionTask):
            return self._adopt(answer, request, manner, deadline)
        return _finished(self._extension_office, answer, request)

    def get(self, task_id: str, manner: Manner) -> Handle:
        """A task by its id, which somebody kept."""
        deadline = manner.deadline or Deadline.after(manner.seconds)
        what = f"tasks/get {short(check_text('task_id', task_id))!r}"
        agreement = self._calls.agreement(what, manner.seconds, deadline)
        self._check_offer(agreement, f"{what} was not sent", path="tasks")
        office = self._extension_office if agreement.revision.stateless else self._core_office
        task = office.dialect.get(task_id, structs.replace(manner, deadline=deadline))
        return TaskHandle(office, CallToolResult, task)

    def list_all(self, manner: Manner) -> list[Handle]:
        """All tasks that the server knows of us (2025-11-25)."""
        meta = self._enclosures.standing() or None
        pages = Pages(self._calls, "tasks/list", ListTasksResult, manner, meta=meta).collect()
        snapshots = [Snapshot.of_core(task) for page in pages for task in page.tasks]
        return [TaskHandle(self._core_office, CallToolResult, one) for one in snapshots]

    # Steps.

    def _start_core(self, request: Outgoing, ttl: float | None, manner: Manner, deadline: Deadline) -> Handle:
        # A progress token would outlive its request here; what is told of a task is its status message.
        how = Manner(manner.seconds, wait=manner.wait, deadline=deadline)
        result = self._calls.run(as_task(request, ttl), how)
        created = _created(result)
        if created is not None:
            return _begun(self._core_office, created, request)
        # MCP 2025-11-25, tasks: a server that cannot make a task of it runs it as if nobody had asked.
        answer = interpret(CallToolResult, result, request.what)
        if not isinstance(answer, CallToolResult):
            raise unasked(answer, request.what)
        return _finished(self._core_office, answer, request)

    def _adopt(self, task: ExtensionTask, request: Outgoing, manner: Manner, deadline: Deadline) -> Handle:
        agreement = self._calls.agreement(request.what, manner.seconds, deadline)
        if not self._extension or not agreement.revision.stateless:
            raise unasked(task, request.what)
        return _begun(self._extension_office, Snapshot.of_extension(task), request)

    def _see_through(self, handle: Handle, manner: Manner, deadline: Deadline) -> CallToolResult:
        try:
            return handle.result_by(manner.seconds, deadline, manner.on_progress)
        except errors.ForkedClient:
            # The parent still waits for it.
            raise
        except BaseException:
            # KeyboardInterrupt, the deadline, an error of the caller's own on_progress: nobody else knows of
            # this task.
            handle.withdraw()
            raise

    def _check_offer(self, agreement: Agreement, refusal: str, path: str = CORE_TASKS) -> None:
        revision, capabilities = agreement.revision, agreement.capabilities
        if revision.stateless:
            if not self._extension:
                raise errors.CapabilityMissing(
                    f"{refusal}: this client did not declare the extension {TASKS_EXTENSION}",
                    details={"extension": TASKS_EXTENSION},
                )
            if not extends(capabilities, TASKS_EXTENSION):
                raise errors.CapabilityMissing(
                    f"{refusal}: the server does not offer the extension {TASKS_EXTENSION}",
                    details={"extension": TASKS_EXTENSION},
                )
        elif "tasks/get" not in revision.requests:
            raise errors.CapabilityMissing(
                f"{refusal}: tasks exist since 2025-11-25, and the server speaks {revision}",
                details={"revision": revision.version},
            )
        elif not declares(capabilities, path):
            raise errors.CapabilityMissing(
                f"{refusal}: the server does not offer {path}", details={"capability": path}
            )

    def _check_tool(self, name: str, request: Outgoing) -> None:
        # A tool that was never listed is the server's to judge.
        tool = self._tool(name)
        if tool is not None and _support(tool) == "forbidden":
            raise errors.CapabilityMissing(
                f"{request.what} was not sent: by the last listing this tool does not run as a task "
                f"(execution.taskSupport is not 'optional' or 'required'); call_tool() calls it",
                details={"tool": name},
            )


def _support(tool: Tool) -> str:
    return "forbidden" if tool.execution is None else tool.execution.task_support


def _created(result: Raw) -> Snapshot | None:
    """The task of 2025-11-25 that an answer tells of; None if it is another answer."""
    try:
        return Snapshot.of_core(CreateTaskResult.parse(result).task)
    except ValueError:
        return None


def _begun(office: Office, task: Snapshot, request: Outgoing) -> Handle:
    return TaskHandle(office, CallToolResult, task, f"{request.what} (task {short(task.id)!r})")


def _finished(office: Office, answer: CallToolResult, request: Outgoing) -> Handle:
    task = Snapshot("", "failed" if answer.is_error else "completed", "", raw=answer.raw)
    return TaskHandle(office, CallToolResult, task, request.what).answered(answer)
