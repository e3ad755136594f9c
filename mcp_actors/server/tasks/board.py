"""TaskBoard: the tasks that a server runs, from their creation to the moment when they are forgotten."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Raw, Struct

from mcp_actors.protocol import jsonrpc
from mcp_actors.protocol.codec import JsonObject, encode
from mcp_actors.protocol.serving.questions import Answered, Unanswered, Verdict
from mcp_actors.runtime.deadline import Clock
from mcp_actors.runtime.slot import Slot
from mcp_actors.server.faults import Refusal
from mcp_actors.server.tasks import life
from mcp_actors.server.tasks.audience import Audience, Listener, Watcher
from mcp_actors.server.tasks.life import Dialect, KeyUsed, TaskRecord
from mcp_actors.server.tasks.store import Change, Page, TaskStore, TooManyTasks

__all__ = ["TaskBoard", "TaskFacts", "TaskLimits"]

_ID_BYTES: Final = 24
#: As much of a message as a status shows. Short enough for an error that fits wherever its task did.
_MESSAGE_CHARACTERS: Final = 500


class TaskFacts(Struct, frozen=True):
    """What a task is made of. ``stop(reason)`` tells what runs that nobody wants it any more; it is called at
    most once. ``tell(record)`` is called after each change, never with an older record than before. Both are
    called on any thread, and must not block."""

    method: str
    dialect: Dialect
    owner: str | None
    stop: Callable[[str], object]
    tell: Watcher | None = None


class TaskLimits(Struct, frozen=True):
    """For how long tasks are kept, and how often to look at them. All in milliseconds."""

    default_ttl: int = 600_000
    max_ttl: int = 3_600_000
    poll_interval: int = 1000


class TaskBoard:
    """Any thread. What happens to a task is decided in the store, by whoever is first there: hence one end,
    and one call of each listener. The clock must be that of all processes that share the store."""

    def __init__(
        self, store: TaskStore, clock: Clock, now_text: Callable[[], str], limits: TaskLimits | None = None
    ) -> None:
        self._store = store
        self._clock = clock
        self._now_text = now_text
        self._limits = limits or TaskLimits()
        # The tasks of this process that have not ended.
        self._audiences: dict[str, Audience] = {}
        self._watchers: dict[object, Watcher] = {}

    # ---- for what runs as a task

    def create(self, facts: TaskFacts, ttl: int | None = None) -> TaskRecord:
        """A new task, which ``get`` finds from now on.

        Raises:
            TooManyTasks: there is no room.
        """
        self.sweep()
        record = self._begun(facts, self._granted(ttl))
        # First this: whoever finds the task must find its audience.
        self._audiences[record.id] = Audience(facts.stop, self._watchers, facts.tell)
        try:
            self._store.create(record)
        except BaseException:
            del self._audiences[record.id]
            raise
        return record

    def describe(self, task_id: str, message: str) -> bool:
        """Say what the task is doing. False: it has ended."""
        at, said = self._now_text(), message[:_MESSAGE_CHARACTERS]
        return self._apply(task_id, lambda record: life.described(record, said, at=at))

    def finish(self, task_id: str, result: JsonObject) -> bool:
        """The task has its result. False: it has ended otherwise before, and nobody will see this one."""
        try:
            body = encode(result)
        except (TypeError, ValueError):
            return self.fail(task_id, Refusal(jsonrpc.INTERNAL_ERROR, "the result cannot be written as JSON"))
        at, is_error = self._now_text(), result.get("isError") is True
        try:
            return self._apply(task_id, lambda record: life.completed(record, body, is_error=is_error, at=at))
        except TooManyTasks:
            lost = Refusal(jsonrpc.INTERNAL_ERROR, f"there is no room for the result of {len(body)} bytes")
            return self.fail(task_id, lost)

    def fail(self, task_id: str, refusal: Refusal) -> bool:
        """The task ended with an error. False: it has ended otherwise before."""
        body, message = _error(refusal), refusal.message[:_MESSAGE_CHARACTERS]
        try:
            return self._fail(task_id, body, message)
        except TooManyTasks:
            # Without its data it fits: a store has room for the least end of each task.
            return self._fail(task_id, _error(Refusal(refusal.code, message)), message)

    def _fail(self, task_id: str, body: bytes, message: str) -> bool:
        at = self._now_text()
        return self._apply(task_id, lambda record: life.failed(record, body, message, at=at))

    def ask(self, task_id: str, key: str, request: JsonObject) -> Slot[Verdict]:
        """Ask the client. What becomes of the question is in the slot, at the latest when the task ends.

        Raises:
            KeyUsed: the task has asked under this key before.
            TooManyTasks: there is no room for the question.
        """
        slot: Slot[Verdict] = Slot()
        audience = self._audiences.get(task_id)
        if audience is None:
            slot.set(Unanswered("the task has ended"))
            return slot
        if audience.slots.setdefault(key, slot) is not slot:
            raise KeyUsed(f"task {task_id!r} has asked {key!r} before")
        self._ask(task_id, key, request, audience)
        return slot

    def _ask(self, task_id: str, key: str, request: JsonObject, audience: Audience) -> None:
        at = self._now_text()
        try:
            body = encode(request)
            asked = self._apply(task_id, lambda record: life.asked(record, key, body, at=at))
        except BaseException:
            audience.slots.pop(key, None)
            raise
        if asked:
            audience.ask(key, request)
        else:
            audience.settle(key, Unanswered("the task has ended"))

    def discard(self, task_id: str) -> None:
        """The task could not be started after all: it never was."""
        self._store.delete(task_id)
        self._end(task_id, None)

    # ---- for the client whose task it is

    def get(self, task_id: str, owner: str | None, dialect: Dialect) -> TaskRecord | None:
        """The task as it is now. To anybody else, and after its time, it does not exist."""
        record = self._store.get(task_id)
        if record is None or record.expires_at <= self._clock():
            return None
        # No comparison in constant time: an owner is no secret, and an id cannot be found by trying.
        return record if (record.owner, record.dialect) == (owner, dialect) else None

    def list(self, owner: str | None, cursor: str | None = None) -> Page:
        """A page of the tasks of one owner.

        Raises:
            BadCursor: the cursor is none of ours.
        """
        page, now = self._store.list(owner, cursor), self._clock()
        return Page([record for record in page.records if record.expires_at > now], page.cursor)

    def update(self, task_id: str, responses: Mapping[str, JsonObject]) -> None:
        """Answers to what the task asked. Those to other questions, or to answered ones, are ignored.

        Raises:
            TooManyTasks: there is no room for them.
        """
        self._answer(task_id, {key: Answered(Raw(encode(value))) for key, value in responses.items()})

    def answer(self, task_id: str, key: str, verdict: Verdict) -> None:
        """What became of a question that a listener put to the client."""
        self._answer(task_id, {key: verdict})

    def cancel(self, task_id: str, reason: str = "cancelled by the client") -> Change | None:
        """End the task and tell what runs. Nothing changes if it has ended. None: there is none."""
        at, audience = self._now_text(), self._audiences.get(task_id)
        change = self._store.update(task_id, lambda record: life.cancelled(record, reason, at=at))
        self._follow(change)
        if change is not None and change.ends and audience is not None:
            audience.stop(reason)
        return change

    def when_done(
        self,
        task_id: str,
        done: Callable[[TaskRecord | None], object],
        put: Callable[[str, JsonObject], object] | None = None,
    ) -> Callable[[], None]:
        """Have ``done(record)`` called once, when the task has ended: now, or later on another thread. None
        instead of a record: the task is gone. A task that runs in another process is not waited for.

        ``put(key, request)`` takes the task's questions to the client; the answer goes to ``answer``. The
        function returned forgets both, and has open questions put by others.
        """
        audience, listener = self._audiences.get(task_id), Listener(done, put)
        if audience is None:
            done(self._store.get(task_id))
            return _nothing
        audience.join(listener)
        return lambda: audience.leave(listener)

    # ---- for the server

    def on_status(self, watcher: Watcher) -> Callable[[], None]:
        """Call ``watcher(record)`` after each change of a task, never with an older record than before. The
        function returned ends it."""
        key = object()
        self._watchers[key] = watcher

        def forget() -> None:
            self._watchers.pop(key, None)

        return forget

    def next_expiry(self) -> float | None:
        """When to sweep next, by the board's clock; None: there is no task."""
        return self._store.next_expiry()

    def sweep(self) -> int:
        """Forget the tasks whose time is over; how many there were. Those that still run are told to stop."""
        expired = self._store.expire(self._clock())
        for record in expired:
            audience = self._end(record.id, None) if not record.ended else None
            if audience is not None:
                audience.stop("the task has expired")
        return len(expired)

    def close(self, reason: str = "the server is stopping") -> None:
        """Cancel what runs in this process."""
        for task_id in list(self._audiences):
            self.cancel(task_id, reason)

    # ---- within

    def _granted(self, ttl: int | None) -> int:
        return self._limits.default_ttl if ttl is None else max(0, min(ttl, self._limits.max_ttl))

    def _begun(self, facts: TaskFacts, ttl: int) -> TaskRecord:
        at = self._now_text()
        return TaskRecord(
            id=secrets.token_urlsafe(_ID_BYTES),
            owner=facts.owner,
            dialect=facts.dialect,
            method=facts.method,
            created_at=at,
            updated_at=at,
            ttl=ttl,
            expires_at=self._clock() + ttl / 1000,
            poll_interval=self._limits.poll_interval,
        )

    def _answer(self, task_id: str, verdicts: Mapping[str, Verdict]) -> None:
        at, audience = self._now_text(), self._audiences.get(task_id)
        change = self._store.update(task_id, lambda record: life.answered(record, verdicts, at=at))
        self._follow(change)
        if change is not None and audience is not None:
            for key in change.before.input_requests.keys() & verdicts.keys():
                audience.settle(key, verdicts[key])

    def _apply(self, task_id: str, step: Callable[[TaskRecord], TaskRecord]) -> bool:
        """Change a record and tell who is concerned. False: there is none, or it has ended."""
        change = self._store.update(task_id, step)
        self._follow(change)
        return change is not None and change.after is not change.before

    def _follow(self, change: Change | None) -> None:
        if change is None or change.after is change.before:
            return
        audience = self._audiences.get(change.after.id)
        if audience is not None:
            audience.change(change.after)
        if change.ends:
            self._end(change.after.id, change.after)

    def _end(self, task_id: str, record: TaskRecord | None) -> Audience | None:
        audience = self._audiences.pop(task_id, None)
        if audience is not None:
            audience.end(record)
        return audience


def _error(refusal: Refusal) -> bytes:
    told: JsonObject = {"code": refusal.code, "message": refusal.message}
    if refusal.data is not None:
        told["data"] = refusal.data
    try:
        return encode(told)
    except (TypeError, ValueError):
        return encode({"code": jsonrpc.INTERNAL_ERROR, "message": "the error cannot be written as JSON"})


def _nothing() -> None:
    """There is nobody to forget."""
