"""TaskHandle: a task as its user holds it."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from msgspec import Struct, structs

from mcp_actors import errors
from mcp_actors.client.calls import Calls, Manner
from mcp_actors.client.enclosures import Enclosures
from mcp_actors.client.notifications import Progress, ProgressHandler
from mcp_actors.client.options import check_seconds
from mcp_actors.client.patience import Patience
from mcp_actors.client.tasks.dialects import Dialect, Wait, about, short
from mcp_actors.client.tasks.snapshot import Snapshot
from mcp_actors.protocol.backoff import spread
from mcp_actors.protocol.codec import JsonObject
from mcp_actors.protocol.types.results import Result
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.slot import Slot

R = TypeVar("R", bound=Result)

# So that many who wait do not all ask in the same moment.
_JITTER: Final = 0.1
#: The part of a wait after which a task is looked at once, even if it is not due.
_LAST_LOOK: Final = 0.9
#: How long the answer to a last word about a task is of interest.
_LAST_WORD_SECONDS: Final = 5.0


class Office(Struct, frozen=True):
    """What all tasks of one server have in common. ``seconds`` is the timeout where none is given."""

    calls: Calls
    dialect: Dialect
    seconds: float
    enclosures: Enclosures


class TaskHandle(Generic[R]):
    """A call that goes on at the server, whatever becomes of the connection or of this process.

    Keep `id` to find it again with ``client.get_task(id)``. It is empty if the server preferred to answer at
    once: then the task is done, and `result` returns what came. Threads may share a handle.
    """

    def __init__(self, office: Office, kind: type[R], task: Snapshot, what: str | None = None) -> None:
        self._office = office
        self._kind = kind
        self._what = what or f"task {short(task.id)!r}"
        self._result: R | None = None
        self._check: Callable[[R], R] | None = None
        self._claims: dict[str, object] = {}
        self._withdrawable = [True]
        self._task = task
        self._due = _next_look(task)

    # What is known.

    @property
    def id(self) -> str:
        """What the server calls the task."""
        return self._task.id

    @property
    def status(self) -> str:
        """As last heard: ``working``, ``input_required``, ``completed``, ``failed`` or ``cancelled``."""
        return self._task.status

    @property
    def status_message(self) -> str | None:
        """What the server said about the status."""
        return self._task.status_message

    @property
    def created_at(self) -> str:
        """When the server says that the task began, in ISO 8601."""
        return self._task.created_at

    @property
    def done(self) -> bool:
        """Whether the task was known to have ended when it was last heard of."""
        return self._task.ended

    @property
    def raw(self) -> JsonObject:
        """The last thing the server said about the task, unknown fields included."""
        return self._task.raw

    def __repr__(self) -> str:
        return f"<TaskHandle {short(self.id)!r} ({self.status})>"

    # What can be done.

    def refresh(self, timeout: float | None = None) -> str:
        """Ask how the task is; the status."""
        if not self.done:
            seconds = self._seconds(timeout)
            self._look(Manner(seconds, wait=True, replay=True, deadline=Deadline.after(seconds)))
        return self.status

    def result(self, timeout: float | None = None, on_progress: ProgressHandler | None = None) -> R:
        """Block until the task has ended, and return what it came to.

        ``on_progress`` runs on this thread whenever the status message has changed. `RequestTimeout` leaves
        the task running. A task that failed raises `RemoteError`; one that was cancelled, `Cancelled`.
        """
        if on_progress is not None and not callable(on_progress):
            raise TypeError(f"on_progress must be callable, not {type(on_progress).__name__}")
        seconds = self._seconds(timeout)
        return self.result_by(seconds, Deadline.after(seconds), on_progress)

    def cancel(self, timeout: float | None = None) -> None:
        """Ask the server to end the task. It may be some time before it has; `refresh` tells."""
        if self.done:
            return
        seconds = self._seconds(timeout)
        manner = Manner(seconds, wait=True, deadline=Deadline.after(seconds))
        task = self._office.dialect.cancel(self.id, manner)
        if task is not None:
            self._note(task)

    # For those who made it.

    def result_by(
        self,
        seconds: float,
        deadline: Deadline,
        on_progress: ProgressHandler | None,
        unwanted: Slot[None] | None = None,
    ) -> R:
        """`result`, within a deadline that began ``seconds`` before it ends.

        ``unwanted``: whoever waits has his place among the calls in flight, and sets this to give up.
        """
        if self._result is None:
            wait = Wait(self._what, seconds, deadline, self._claims, self._look, unwanted)
            try:
                self._result = self._await_end(wait, _Listener(on_progress))
                # Some results come before anybody said that the task has ended.
                self._note(structs.replace(self._task, status=_final(self._result)))
            except errors.Cancelled:
                # A question that has no answer: the task could only wait for it.
                self.withdraw()
                raise
            except errors.RequestTimeout as late:
                raise errors.RequestTimeout(
                    f"{self._what} did not end within {seconds:g} s (status: {self.status})",
                    details={"seconds": seconds, "task_id": self.id, "status": self.status},
                    crash_report=late.crash_report,
                ) from late
        return self._result if self._check is None else self._check(self._result)

    def withdraw(self) -> None:
        """Have the server told, at most once, that nobody wants the task any more. Does not wait."""
        if self.done:
            return
        try:
            # list.pop is atomic: of several who give up, one says so.
            self._withdrawable.pop()
        except IndexError:
            return
        with contextlib.suppress(errors.McpError):
            # A last word is always said, however many calls are in flight.
            manner = Manner(_LAST_WORD_SECONDS, vouched=True)
            request = self._office.enclosures.enclose(about("tasks/cancel", self.id))
            self._office.calls.submit(request, manner, lambda _result: None)

    def checked(self, check: Callable[[R], R]) -> TaskHandle[R]:
        """Have the result checked before it is given out."""
        self._check = check
        return self

    def answered(self, result: R) -> TaskHandle[R]:
        """The handle of a call that was answered at once."""
        self._result = result
        return self

    # Steps.

    def _await_end(self, wait: Wait, listener: _Listener) -> R:
        tree = self._office.calls.tree(f"{wait.what} was not waited for")
        patience = Patience(tree, wait.what, wait.unwanted)
        # One look before the deadline, however seldom the server wants to be asked.
        last = Deadline.after(_LAST_LOOK * wait.deadline.remaining())
        while True:
            listener.hear(self.status_message)
            result = self._office.dialect.conclude(self._kind, self._task, wait)
            if result is not None:
                return result
            if last.expired and wait.deadline.remaining() <= self._due.remaining():
                patience.pause(wait.deadline)
                raise errors.RequestTimeout("its task goes on")
            patience.pause(min(self._due, self._due if last.expired else last, key=Deadline.remaining))
            self._look(wait.manner)

    def _look(self, manner: Manner) -> Snapshot:
        task = self._office.dialect.get(self.id, manner)
        self._note(task)
        return task

    def _note(self, task: Snapshot) -> None:
        # An end is final: a look that was overtaken by another must not undo it.
        if not self.done:
            self._task = task
            self._due = _next_look(task)

    def _seconds(self, timeout: float | None) -> float:
        return self._office.seconds if timeout is None else check_seconds("timeout", timeout)


def _final(result: Result) -> str:
    return "failed" if getattr(result, "is_error", False) else "completed"


def _next_look(task: Snapshot) -> Deadline:
    return Deadline.after(spread(task.poll, _JITTER, random.random))


class _Listener:
    """Tells a callback what is new in the status message. Belongs to the thread that waits."""

    def __init__(self, on_progress: ProgressHandler | None) -> None:
        self._on_progress = on_progress
        self._last: str | None = None
        self._count = 0

    def hear(self, message: str | None) -> None:
        """What the message is now."""
        if self._on_progress is None or message is None or message == self._last:
            return
        self._last = message
        self._count += 1
        self._on_progress(Progress(float(self._count), message=message))
