"""Calls whose answer is fetched later: real `concurrent.futures.Future`s that can be cancelled upstream."""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from functools import partial
from typing import Any, TypeVar

from msgspec import Raw, Struct

from mcp_actors import errors
from mcp_actors.client.notifications import DirectedProgress, ProgressHandler
from mcp_actors.client.outgoing import Outgoing
from mcp_actors.protocol import codec
from mcp_actors.protocol.events import Awaited, Called, CancelAsked
from mcp_actors.protocol.outcomes import CallOutcome, NotReady, Ready, TimedOut, WaitOutcome, was_not_sent
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

    def fulfil(self, value: T) -> None:
        """Finish with a value, unless it is finished. On a worker's thread: it may run user callbacks."""
        with contextlib.suppress(InvalidStateError):
            self.set_result(value)

    def fail(self, error: BaseException) -> None:
        """Finish with an error, unless it is finished. On a worker's thread, too."""
        with contextlib.suppress(InvalidStateError):
            self.set_exception(error)

    def _refuse_after_fork(self) -> None:
        if self._pid != os.getpid() and not self.done():
            raise errors.ForkedClient(
                f"this future was made in process {self._pid}, before a fork; its answer will never reach "
                f"process {os.getpid()}"
            )


class Onward(Struct, frozen=True):
    """What an answer is decoded to if it is not the last: there is another request to send.

    ``resolve(wanted)`` makes it, on a worker's thread, and may take its time; ``wanted()`` tells it whether
    anybody still waits. None: nobody does.
    """

    resolve: Callable[[Callable[[], bool]], Outgoing | None]


class Handover(Struct, frozen=True):
    """What an answer is decoded to if the result will be found out elsewhere: the call became a task.

    ``begin(future, deadline)`` sees to it that the future is finished. On a worker's thread.
    """

    begin: Callable[[CallFuture[Any], Deadline], None]


class Settlements:
    """Futures to be finished. Their callbacks are user code, so a worker of the pool does it; what a pool has
    left undone is done after its restart, or by whoever ends the tree. Any thread."""

    def __init__(self) -> None:
        self._jobs: deque[Callable[[], None]] = deque()
        self._held: dict[FutureCaller, None] = {}
        self._ended = False

    def add(self, job: Callable[[], None], pool: Ref | None) -> None:
        """Have a future finished."""
        self._jobs.append(job)
        self.resume(pool)

    def resume(self, pool: Ref | None) -> None:
        """Have a worker of ``pool`` finish what is left."""
        if self._jobs and pool is not None:
            pool.tell(Run(object(), self.work_off, vouched=True))

    def work_off(self) -> None:
        """Finish what is left, on this thread."""
        while True:
            try:
                # Whoever pops it does it.
                job = self._jobs.popleft()
            except IndexError:
                return
            job()

    def finish_all(self) -> None:
        """The tree has ended: finish what is left, and what handlers still think about, on this thread."""
        self._ended = True
        self.work_off()
        for caller in list(self._held):
            caller.abandon()

    def hold(self, caller: FutureCaller) -> bool:
        """Handlers are about to think about this one; False if the tree has ended."""
        self._held[caller] = None
        # Looked at after it was put there: whoever ends the tree either finds it or is found.
        return not self._ended

    def release(self, caller: FutureCaller) -> None:
        """The handlers are done with it."""
        self._held.pop(caller, None)


class Route(Struct, frozen=True):
    """The steps of a call that are known only to whoever made it."""

    called: Callable[[FutureCaller, float], Called]
    """The request as the connection takes it, with so many seconds left."""
    finish: Callable[[CallOutcome | WaitOutcome, bool], Any]
    """What an outcome comes to: a value, `Onward`, `Handover`, or an error that it raises. The flag: it was
    sent."""
    set_out: Callable[[FutureCaller], None]
    """Send it, by the connection of the moment."""


class FutureCaller:
    """Stands in the connection for a thread that waits: it awaits readiness, sends, and finishes the future.

    `set` runs on the Connection actor's thread; decoding, the handlers of what a server asks back, and the
    future's callbacks run in the pool.
    """

    def __init__(
        self,
        future: CallFuture[Any],
        request: Outgoing,
        route: Route,
        deadline: Deadline,
        settlements: Settlements,
    ) -> None:
        self._future = future
        self._route = route
        self._deadline = deadline
        self._settlements = settlements
        self._sent = False
        self._connection: Ref | None = None
        self._pool: Ref | None = None
        self.request = request
        self.on_progress: ProgressHandler | None = None
        self.wait = False

    def send(self, connection: Ref, pool: Ref, *, first: bool) -> bool:
        """Set out; with `first`, only after the connection became ready. False if nobody is there."""
        self._go_by(connection, pool)
        return self._await() if first else self._call()

    def ticket(self, connection: Ref, pool: Ref) -> Called | None:
        """The request, for whoever sends it together with others; None if it came to an end already."""
        self._go_by(connection, pool)
        return self._ticket()

    def set(self, outcome: CallOutcome | WaitOutcome) -> bool:
        """What became of it."""
        if isinstance(outcome, Ready):
            return self._call_unless_cancelled() or self.set_unsent(NotReady("starting"))
        if was_not_sent(outcome) and self.wait and not self._deadline.expired:
            return self._await() or self.set_unsent(outcome)
        return self._settle(outcome, self._sent)

    def set_unsent(self, outcome: CallOutcome | WaitOutcome) -> bool:
        """Nobody was there to send it."""
        return self._settle(outcome, False)

    def abandon(self) -> None:
        """The tree has ended while handlers were thinking: nobody waits for them any more. Any thread."""
        self._conclude(NotReady("closing"), False)

    def directed(self, params: dict[str, Any]) -> DirectedProgress:
        """Progress on its way to this call's own callback."""
        raw = codec.encode(params)
        assert self.on_progress is not None
        return DirectedProgress("notifications/progress", Raw(raw), len(raw), self.on_progress)

    # Sending.

    def _go_by(self, connection: Ref, pool: Ref) -> None:
        self._connection, self._pool = connection, pool
        self._future.on_cancel(self._withdraw)

    def _withdraw(self) -> None:
        assert self._connection is not None
        self._connection.tell(CancelAsked(self, "cancelled by the caller"))

    def _await(self) -> bool:
        assert self._connection is not None
        self._sent = False
        return self._connection.tell(Awaited(self, self._deadline.remaining()))

    def _call(self) -> bool:
        assert self._connection is not None
        called = self._ticket()
        return called is None or self._connection.tell(called)

    def _call_unless_cancelled(self) -> bool:
        called = self._call()
        # A cancellation that came before the request found nothing to take back.
        if self._future.cancelled():
            self._withdraw()
        return called

    def _ticket(self) -> Called | None:
        try:
            called = self._route.called(self, self._deadline.remaining())
        except errors.CapabilityMissing as missing:
            self._settlements.add(partial(self._future.fail, missing), self._pool)
            return None
        self._sent = True
        return called

    # Settling, on a worker's thread.

    def _settle(self, outcome: CallOutcome | WaitOutcome, sent: bool) -> bool:
        self._settlements.add(lambda: self._conclude(outcome, sent), self._pool)
        return True

    def _conclude(self, outcome: CallOutcome | WaitOutcome, sent: bool) -> None:
        try:
            value = self._route.finish(outcome, sent)
            if isinstance(value, Onward):
                self._go_on(value)
                return
            if isinstance(value, Handover):
                self._hand_over(value)
                return
        except BaseException as error:  # noqa: BLE001 - it is raised again, by result()
            self._future.fail(error)
        else:
            self._future.fulfil(value)

    def _hand_over(self, handover: Handover) -> None:
        # Whoever ends the tree finishes it, unless it is finished before.
        held = self._settlements.hold(self)
        self._future.add_done_callback(lambda _: self._settlements.release(self))
        if held:
            handover.begin(self._future, self._deadline)
        else:
            self.abandon()

    def _go_on(self, onward: Onward) -> None:
        held = self._settlements.hold(self)
        try:
            request = onward.resolve(lambda: not self._future.done()) if held else None
        finally:
            self._settlements.release(self)
        if not held:
            self.abandon()
        if request is None or self._future.done():
            return
        if self._deadline.expired:
            self._conclude(TimedOut(0.0), True)
            return
        self.request = request
        self._route.set_out(self)
        if self._future.cancelled():
            self._withdraw()
