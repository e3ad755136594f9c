"""Calls whose answer is fetched later: real `concurrent.futures.Future`s that can be cancelled upstream."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from typing import Any, TypeVar

from msgspec import Raw

from mcp_actors import errors
from mcp_actors.client.notifications import DirectedProgress, ProgressHandler
from mcp_actors.protocol import codec
from mcp_actors.protocol.events import Awaited, Called, CancelAsked
from mcp_actors.protocol.outcomes import CallOutcome, NotReady, Ready, TimedOut, WaitOutcome
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.ref import Ref
from mcp_actors.runtime.tasks import Run

T = TypeVar("T")


class CallFuture(Future[T]):
    """The answer to come. `cancel` takes the request back upstream; a forked child cannot wait for it."""

    def __init__(self) -> None:
        super().__init__()
        self._pid = os.getpid()
        self._withdraw: Callable[[], object] | None = None

    def cancel(self) -> bool:
        """Take the call back; False only if it is done."""
        if not super().cancel():
            return False
        # Never "running" for the standard library, so that it may be cancelled; but those who wait must be told.
        with contextlib.suppress(RuntimeError, InvalidStateError):
            self.set_running_or_notify_cancel()
        if self._withdraw is not None:
            self._withdraw()
        return True

    def result(self, timeout: float | None = None) -> T:
        """The answer, or the error of the call; `TimeoutError` if neither came in time."""
        self._refuse_after_fork()
        return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """The error of the call, or None if it succeeded."""
        self._refuse_after_fork()
        return super().exception(timeout)

    def on_cancel(self, withdraw: Callable[[], object]) -> None:
        """What takes the request back upstream."""
        self._withdraw = withdraw

    def settle(self, produce: Callable[[], T]) -> None:
        """Finish with what `produce` returns or raises. On a worker's thread: it may run user callbacks."""
        try:
            value = produce()
        except BaseException as error:  # noqa: BLE001 - it is raised again, by result()
            with contextlib.suppress(InvalidStateError):
                self.set_exception(error)
        else:
            with contextlib.suppress(InvalidStateError):
                self.set_result(value)

    def _refuse_after_fork(self) -> None:
        if self._pid != os.getpid() and not self.done():
            raise errors.ForkedClient(
                f"this future was made in process {self._pid}, before a fork; its answer will never reach "
                f"process {os.getpid()}"
            )


class FutureCaller:
    """Stands in the connection for a thread that waits: it awaits readiness, sends, and finishes the future.

    `set` runs on the Connection actor's thread; decoding and the future's callbacks run in the pool.
    """

    def __init__(
        self,
        future: CallFuture[Any],
        called: Callable[[FutureCaller, float], Called],
        finish: Callable[[CallOutcome | WaitOutcome], Any],
        deadline: Deadline,
    ) -> None:
        self._future = future
        self._called = called
        self._finish = finish
        self._deadline = deadline
        self._connection: Ref | None = None
        self._pool: Ref | None = None
        self.on_progress: ProgressHandler | None = None
        self.wait = False

    def send(self, connection: Ref, pool: Ref, *, first: bool) -> bool:
        """Set out; with `first`, only after the connection became ready. False if nobody is there."""
        self._connection, self._pool = connection, pool
        self._future.on_cancel(lambda: connection.tell(CancelAsked(self, "cancelled by the caller")))
        return self._await() if first else self._call()

    def set(self, outcome: CallOutcome | WaitOutcome) -> bool:
        """What became of it."""
        if isinstance(outcome, Ready):
            return self._call() or self._settle(NotReady("starting"))
        if isinstance(outcome, NotReady) and self.wait and not self._deadline.expired:
            return self._await() or self._settle(outcome)
        return self._settle(outcome)

    def directed(self, params: dict[str, Any]) -> DirectedProgress:
        """Progress on its way to this call's own callback."""
        raw = codec.encode(params)
        assert self.on_progress is not None
        return DirectedProgress("notifications/progress", Raw(raw), len(raw), self.on_progress)

    def _await(self) -> bool:
        assert self._connection is not None
        return self._connection.tell(Awaited(self, self._deadline.remaining()))

    def _call(self) -> bool:
        assert self._connection is not None
        remaining = self._deadline.remaining()
        if remaining <= 0.0:
            return self._settle(TimedOut(0.0))
        return self._connection.tell(self._called(self, remaining))

    def _settle(self, outcome: CallOutcome | WaitOutcome) -> bool:
        def job() -> None:
            self._future.settle(lambda: self._finish(outcome))

        # Only a pool that has stopped refuses; then the client is closing and nobody else is left to do it.
        if self._pool is None or not self._pool.tell(Run(self, job, vouched=True)):
            job()
        return True
