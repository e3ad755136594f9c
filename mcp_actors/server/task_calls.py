"""Task calls: tool calls that go on after their request is answered."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from mcp_actors.protocol import jsonrpc
from mcp_actors.protocol.codec import JsonObject
from mcp_actors.protocol.serving.events import Asked, Forgone, Published
from mcp_actors.protocol.serving.news import News
from mcp_actors.protocol.serving.profile import TASKS
from mcp_actors.protocol.serving.questions import Question, Unanswered, Unreadable, Verdict
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.fork_border import ForkBorder
from mcp_actors.runtime.slot import SlotTimeout
from mcp_actors.server.asking import Asker, answer_of
from mcp_actors.server.call import LATER, Call, Later
from mcp_actors.server.conditions import TIMEOUT, in_time
from mcp_actors.server.context import ASK_SECONDS
from mcp_actors.server.faults import InvalidAnswer, NoAnswer, Refusal, RequestCancelled
from mcp_actors.server.registry.entries import ToolEntry
from mcp_actors.server.tasks import handlers, wire
from mcp_actors.server.tasks.board import TaskBoard, TaskFacts
from mcp_actors.server.tasks.herald import Herald
from mcp_actors.server.tasks.life import Dialect, TaskRecord
from mcp_actors.server.tasks.store import TooManyTasks

if TYPE_CHECKING:
    from mcp_actors.server.host import Host

_SWEEP: Final = "tasks"
_SWEEP_SECONDS: Final = 30.0

logger: Final = logging.getLogger("mcp_actors.server")


class TaskAsker:
    """Questions of a task: they wait in its record until the client looks."""

    def __init__(self, board: TaskBoard, task_id: str) -> None:
        self._board = board
        self._task_id = task_id

    def ask(self, requests: Mapping[str, JsonObject], seconds: float) -> dict[str, JsonObject]:
        deadline = Deadline.after(seconds)
        slots = {key: self._board.ask(self._task_id, key, request) for key, request in requests.items()}
        given = {}
        for key, slot in slots.items():
            try:
                verdict = slot.wait(deadline)
            except SlotTimeout:
                raise NoAnswer(f"the client did not answer {key!r} in time") from None
            given[key] = answer_of(verdict, requests[key]["method"])
        return given

    def misfit(self, words: str) -> Exception:
        return InvalidAnswer(words)


class TimeLimit(Struct, frozen=True):
    """How long a task may take, and its result if it takes longer."""

    seconds: float
    result: JsonObject


class TaskCalls:
    """Makes tasks of tool calls, and answers the requests about them. On workers' threads."""

    def __init__(self, board: TaskBoard) -> None:
        self._board = board

    def becomes_task(self, call: Call, entry: ToolEntry) -> bool:
        """Whether this call is to be a task.

        Raises:
            Refusal: the tool and the client do not agree on that.
        """
        support, terms = entry.task_support, call.job.terms
        if terms.revision.stateless:
            declared = terms.extension(TASKS)
            if support == "required" and not declared:
                raise handlers.undeclared()
            return declared and support in ("optional", "required")
        if "tasks" not in terms.revision.server_capability_keys:
            return False
        wanted = "task" in call.job.params
        if wanted and support == "forbidden":
            raise Refusal(jsonrpc.METHOD_NOT_FOUND, f"tool {entry.key!r} does not run as a task")
        if support == "required" and not wanted:
            raise Refusal(jsonrpc.METHOD_NOT_FOUND, f"tool {entry.key!r} runs only as a task")
        return wanted

    def knows_tasks(self, call: Call) -> bool:
        """Whether a tool can go on as a task for this client, who did not ask for one."""
        terms = call.job.terms
        offered = call.peer.host.profile().offers("tasks/get", terms.revision)
        return offered and terms.revision.stateless and terms.extension(TASKS)

    def start(
        self, call: Call, work: Callable[[Asker], JsonObject], limit: TimeLimit | None = None
    ) -> JsonObject:
        """Make a task and have it run: ``work`` gives its result. The answer that tells of it."""
        herald = Herald(lambda record: call.peer.bring(Published(status_news(record))))
        # The extension's news go to whoever listens for them.
        tell = herald.tell if _dialect(call) == "core" else None
        facts = TaskFacts(call.job.method, _dialect(call), call.owner, call.cancellation.cancel, tell)
        asked = call.job.params.get("task")
        ttl = None if asked is None or facts.dialect == "extension" else handlers.requested_ttl(asked)
        try:
            record = self._board.create(facts, ttl)
        except TooManyTasks as error:
            raise Refusal(jsonrpc.INTERNAL_ERROR, f"no more tasks: {error}") from None
        host, job = call.peer.host, partial(self._work, call, record, work, limit)
        if not host.employ_for_long(lambda: host.engagements.run(job), call.peer.client):
            self._board.discard(record.id)
            raise Refusal(jsonrpc.INTERNAL_ERROR, "the server is busy")
        call.answered = herald.begin
        self._sweep_later(host)
        return wire.created(record)

    def _sweep_later(self, host: Host) -> None:
        host.wake(_SWEEP, _SWEEP_SECONDS, lambda: self._have_swept(host))

    def _have_swept(self, host: Host) -> None:
        """On the timekeeper's thread, which has no time for a store that takes its own."""
        if not host.employ([lambda: self._sweep(host)]):
            self._sweep_later(host)

    def _sweep(self, host: Host) -> None:
        again = True
        try:
            self._board.sweep()
            again = self._board.next_expiry() is not None
        finally:
            # A store that fails may do better the next time.
            if again:
                self._sweep_later(host)

    def _work(
        self, call: Call, record: TaskRecord, work: Callable[[Asker], JsonObject], limit: TimeLimit | None
    ) -> None:
        """On another worker: what the task is about."""
        if call.cancellation:
            # It ended before its turn came.
            return
        asker = TaskAsker(self._board, record.id)
        try:
            with ForkBorder():
                if limit is None:
                    result = work(asker)
                else:
                    late = partial(self._finish_late, call, record, limit)
                    result = in_time(call, limit.seconds, lambda: work(asker), late)
            self._board.finish(record.id, result)
        except Refusal as refusal:
            self._board.fail(record.id, refusal)
        except RequestCancelled:
            if limit is not None and call.cancellation.reason == TIMEOUT:
                self._board.finish(record.id, limit.result)
            else:
                self._board.cancel(record.id)
        except BaseException:
            logger.exception("%s: a task failed", call.peer.name)
            self._board.fail(record.id, Refusal(jsonrpc.INTERNAL_ERROR, "the server failed"))

    def _finish_late(self, call: Call, record: TaskRecord, limit: TimeLimit) -> None:
        """On the timekeeper's thread, which has no time for a store that takes its own."""

        def finish() -> None:
            self._board.finish(record.id, limit.result)

        if not call.peer.host.employ([finish]):
            finish()


class TaskDesk:
    """Answers ``tasks/*``. On workers' threads."""

    def __init__(self, board: TaskBoard) -> None:
        self._board = board

    def answer(self, call: Call) -> JsonObject | Later:
        """The answer to a request about a task."""
        params, owner, dialect = call.job.params, call.owner, _dialect(call)
        if dialect == "extension" and not call.job.terms.extension(TASKS):
            raise handlers.undeclared()
        match call.job.method:
            case "tasks/get":
                return handlers.get(self._board, params, owner, dialect)
            case "tasks/list":
                return handlers.list_tasks(self._board, params, owner, dialect)
            case "tasks/cancel":
                return handlers.cancel(self._board, params, owner, dialect)
            case "tasks/update":
                return handlers.update(self._board, params, owner, dialect)
            case _:
                return self._result(call, handlers.result(self._board, params, owner, dialect))

    def _result(self, call: Call, found: JsonObject | handlers.Deferred) -> JsonObject | Later:
        if not isinstance(found, handlers.Deferred):
            return found
        give_up = found.begin(
            call.conclude,
            lambda refusal: call.refuse(refusal.refused()),
            lambda key, method, params: self._put(call, key, method, params),
        )
        call.cancellation.on_cancel(give_up)
        return LATER

    def _put(self, call: Call, key: str, method: str, params: JsonObject) -> None:
        task_id = call.job.params["taskId"]

        def answer(verdict: Verdict) -> None:
            # Who does not wait any more leaves the question to whoever asks for the result next.
            if not isinstance(verdict, Unanswered) or verdict.expired:
                # This is a turn of the session, which a store must neither hold up nor end.
                call.peer.host.employ([partial(self._keep, task_id, key, verdict)])

        asker = _Forward(answer)
        call.peer.bring_for(call, Asked(Question(asker, method, params, call.job.id, ASK_SECONDS)))
        call.cancellation.on_cancel(lambda: call.peer.bring(Forgone(asker)))

    def _keep(self, task_id: str, key: str, verdict: Verdict) -> None:
        """On a worker."""
        try:
            self._board.answer(task_id, key, verdict)
        except TooManyTasks as error:
            # There is always room for a few words.
            self._board.answer(task_id, key, Unreadable(f"it cannot be kept: {error}"))


class RunningTasks:
    """What a server that is closed must not wait for: they are told to stop."""

    def __init__(self, board: TaskBoard) -> None:
        self._board = board

    def stop(self, deadline: Deadline) -> None:
        """Cancel them."""
        del deadline
        self._board.close()

    def join(self, deadline: Deadline) -> bool:
        """The workers are waited for by their keeper."""
        del deadline
        return True

    def lose(self) -> None:
        """Cancel them: nobody works on them any more."""
        self._board.close()


class _Forward:
    """Asks on behalf of a task."""

    def __init__(self, set_: Callable[[Verdict], object]) -> None:
        self.set = set_


def status_news(record: TaskRecord) -> News:
    """What is told about a change of a task."""
    _, params = wire.notification(record)
    return News("task", record.id, params, core=record.dialect == "core", owner=record.owner)


def _dialect(call: Call) -> Dialect:
    return "extension" if call.job.terms.revision.stateless else "core"
