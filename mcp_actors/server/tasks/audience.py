"""Audience: those who wait for one running task, put its questions to the client, or watch its status."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TypeAlias

from msgspec import Struct

from mcp_actors.protocol.codec import JsonObject
from mcp_actors.protocol.serving.questions import Unanswered, Verdict
from mcp_actors.runtime.slot import Slot
from mcp_actors.runtime.turns import Turns
from mcp_actors.server.tasks.life import TaskRecord

__all__ = ["Audience", "Listener", "Watcher"]

logger = logging.getLogger("mcp_actors.server")

Watcher: TypeAlias = Callable[[TaskRecord], object]


class Listener:
    """One who waits for the end of a task: ``done`` is called once with its last record, None if the task is
    gone. ``put``, if given, takes its questions to the client: ``put(key, request)``. Neither may block."""

    __slots__ = ("done", "put")

    def __init__(
        self,
        done: Callable[[TaskRecord | None], object],
        put: Callable[[str, JsonObject], object] | None = None,
    ) -> None:
        self.done = done
        self.put = put


class _Joined(Struct, frozen=True):
    listener: Listener


class _Left(Struct, frozen=True):
    listener: Listener


class _Asked(Struct, frozen=True):
    key: str
    request: JsonObject


class _Settled(Struct, frozen=True):
    key: str


class _Changed(Struct, frozen=True):
    record: TaskRecord


class _Ended(Struct, frozen=True):
    record: TaskRecord | None


_Event: TypeAlias = _Joined | _Left | _Asked | _Settled | _Changed | _Ended


class Audience:
    """The listeners of one task. Any thread; whoever brings news calls those concerned, one thread at a time.

    A question is put by one listener at a time: by another one if that leaves before the answer is there.
    ``herald`` tells the session that the task belongs to. ``slots`` holds what the task's own threads wait
    on, by the key of the question.
    """

    def __init__(
        self,
        stop: Callable[[str], object],
        watchers: Mapping[object, Watcher],
        herald: Watcher | None = None,
    ) -> None:
        self.stop = stop
        self.slots: dict[str, Slot[Verdict]] = {}
        self._watchers = watchers
        self._herald = herald
        # An interrupt that hits the thread at work must not leave anybody waiting: the work goes on.
        self._turns = Turns[_Event](self._handle, failed=self._carry_on, discard=self._handle)
        # From here on: only in turn.
        self._listeners: dict[Listener, None] = {}
        self._questions: dict[str, JsonObject] = {}
        self._holders: dict[str, Listener] = {}
        self._told = 0
        self._end: _Ended | None = None

    def join(self, listener: Listener) -> None:
        """Tell the listener of the end, and have it put the open questions."""
        self._turns.bring(_Joined(listener))

    def leave(self, listener: Listener) -> None:
        """Tell it nothing more."""
        self._turns.bring(_Left(listener))

    def ask(self, key: str, request: JsonObject) -> None:
        """Have one listener put a question, as soon as there is one."""
        self._turns.bring(_Asked(key, request))

    def settle(self, key: str, verdict: Verdict) -> None:
        """A question needs no more asking: wake who waits for the answer."""
        slot = self.slots.get(key)
        if slot is not None:
            slot.set(verdict)
        self._turns.bring(_Settled(key))

    def change(self, record: TaskRecord) -> None:
        """Tell the watchers, unless they know of something later already."""
        self._turns.bring(_Changed(record))

    def end(self, record: TaskRecord | None) -> None:
        """Tell everybody that there is nothing more to wait for."""
        reason = "the task is gone" if record is None else f"the task is {record.status}"
        # A slot that is added from now on belongs to a question that is not asked any more.
        for slot in list(self.slots.values()):
            slot.set(Unanswered(reason))
        self._turns.bring(_Ended(record))

    def _handle(self, event: _Event) -> None:
        match event:
            case _Joined(listener):
                self._welcome(listener)
            case _Left(listener):
                self._dismiss(listener)
            case _Asked(key, request):
                self._questions[key] = request
                self._put_questions()
            case _Settled(key):
                self._questions.pop(key, None)
                self._holders.pop(key, None)
            case _Changed(record):
                self._tell(record)
            case _Ended():
                self._end = self._end or event
                self._tell_end()

    def _welcome(self, listener: Listener) -> None:
        self._listeners[listener] = None
        if self._end is not None:
            self._tell_end()
        else:
            self._put_questions()

    def _dismiss(self, listener: Listener) -> None:
        self._listeners.pop(listener, None)
        self._holders = {key: holder for key, holder in self._holders.items() if holder is not listener}
        self._put_questions()

    def _put_questions(self) -> None:
        holder = next((listener for listener in self._listeners if listener.put is not None), None)
        if holder is None or holder.put is None:
            return
        for key, request in list(self._questions.items()):
            if key not in self._holders and not self.slots[key].is_set:
                self._holders[key] = holder
                _call(holder.put, key, request)

    def _tell(self, record: TaskRecord) -> None:
        # Two changes may be brought in the other order than that in which they were made.
        if record.revision > self._told:
            self._told = record.revision
            for watcher in list(self._watchers.values()):
                _call(watcher, record)
            if self._herald is not None:
                _call(self._herald, record)

    def _tell_end(self) -> None:
        assert self._end is not None
        while self._listeners:
            listener = next(iter(self._listeners))
            # First this: whatever happens to the call, there is no second one.
            del self._listeners[listener]
            _call(listener.done, self._end.record)

    def _carry_on(self, _error: BaseException) -> None:
        if self._end is not None:
            self._tell_end()


def _call(callback: Callable[..., object], *args: object) -> None:
    """Call it; a mistake in it harms nobody else."""
    try:
        callback(*args)
    except Exception:
        logger.exception("a listener of a task failed")
