"""Calls whose answer is fetched later: real `concurrent.futures.Future`s that can be cancelled upstream."""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from functools import partial
from typing import Any, TypeVar

from msgspec import Raw

from mcp_actors import errors
from mcp_actors.client.notifications import DirectedProgress, ProgressHandler
from mcp_actors.protocol import codec
from mcp_actors.protocol.events import Awaited, Called, CancelAsked
from mcp_actors.protocol.outcomes import CallOutcome, NotReady, Ready, WaitOutcome, was_not_sent
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
        self._cancellable = [True]

    def cancel(self) -> bool:
        """Take the call back; False only if it is done."""
        if not super().cancel():
            return False
        try:
            # list.pop is atomic: of several who cancel, one tells the others.
            self._cancellable.pop()
        except IndexError:
            return True
        # Never "running" for the standard library, so that it may be cancelled; who waits must be told.
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


class Settlements:
    """Futures to be finished. Their callbacks are user code, so a worker of the pool does it; what a pool has
    left undone is done after its restart, or by whoever ends the tree. Any thread."""

    def __init__(self) -> None:
        self._jobs: deque[Callable[[], None]] = deque()

    def add(self, job: Callable[[], None], pool: Ref | None) -> None:
        """Have a future finished."""
        self._jobs.append(job)
        self.resume(pool)

    def resume(self, pool: Ref | None) -> None:
        """Have a worker of ``pool`` finish what is left."""
        if self._jobs and pool is not None:
            pool.tell(Run(object(), self.finish_all, vouched=True))

    def finish_all(self) -> None:
        """Finish what is left, on this thread."""
        while True:
            try:
                # Whoever pops it does it.
                job = self._jobs.popleft()
            except IndexError:
                return
            job()


class FutureCaller:
    """Stands in the connection for a thread that waits: it awaits readiness, sends, and finishes the future.

    `set` runs on the Connection actor's thread; decoding and the future's callbacks run in the pool.
    """

    def __init__(
        self,
        future: CallFuture[Any],
        called: Callable[[FutureCaller, float], Called],
        finish: Callable[[CallOutcome | WaitOutcome, bool], Any],
        deadline: Deadline,
        settlements: Settlements,
    ) -> None:
        self._future = future
        self._called = called
        self._finish = finish
        self._deadline = deadline
        self._settlements = settlements
        self._sent = False
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
            return self._call() or self.set_unsent(NotReady("starting"))
        if was_not_sent(outcome) and self.wait and not self._deadline.expired:
            return self._await() or self.set_unsent(outcome)
        return self._settle(lambda: self._finish(outcome, self._sent))

    def set_unsent(self, outcome: CallOutcome | WaitOutcome) -> bool:
        """Nobody was there to send it."""
        return self._settle(lambda: self._finish(outcome, False))

    def directed(self, params: dict[str, Any]) -> DirectedProgress:
        """Progress on its way to this call's own callback."""
        raw = codec.encode(params)
        assert self.on_progress is not None
        return DirectedProgress("notifications/progress", Raw(raw), len(raw), self.on_progress)

    def _await(self) -> bool:
        assert self._connection is not None
        self._sent = False
        return self._connection.tell(Awaited(self, self._deadline.remaining()))

    def _call(self) -> bool:
        assert self._connection is not None
        try:
            called = self._called(self, self._deadline.remaining())
        except errors.CapabilityMissing as missing:
            return self._settle(partial(_raise, missing))
        self._sent = True
        return self._connection.tell(called)

    def _settle(self, produce: Callable[[], Any]) -> bool:
        self._settlements.add(lambda: self._future.settle(produce), self._pool)
        return True


def _raise(error: errors.McpError) -> None:
    raise error
