"""The way of a request from a caller's thread to the connection and back: blocking, with one deadline."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from msgspec import Raw, Struct

from mcp_actors import errors
from mcp_actors.client.failures import Circumstances, broken_down, error_from, late
from mcp_actors.client.futures import CallFuture, FutureCaller
from mcp_actors.client.notifications import Progress, ProgressHandler
from mcp_actors.client.outgoing import Outgoing
from mcp_actors.client.post_mortem import crash_report
from mcp_actors.client.tree import Tree
from mcp_actors.client.trees import Trees
from mcp_actors.protocol import outcomes
from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.protocol.events import Awaited, Begun, Called, CancelAsked
from mcp_actors.protocol.outcomes import (
    CallOutcome,
    Completed,
    Lost,
    NotReady,
    Ready,
    TimedOut,
    WaitOutcome,
    was_not_sent,
)
from mcp_actors.protocol.revisions import capability_for
from mcp_actors.runtime.actor import StartFailure
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.lazy import Spent
from mcp_actors.runtime.slot import ForkedSlot, ProgressSlot, Slot, SlotTimeout

T = TypeVar("T")

#: The machine answers at the deadline; this much later the caller stops believing in the machine.
_GRACE: Final = 1.0
#: Whoever was to wait for us had ended; that says nothing about the server.
_NOBODY: Final = Lost(Ending(EndKind.BROKEN, "the connection was being restarted"), "not_sent")


class Manner(Struct, frozen=True):
    """How a caller wants its call made. ``deadline`` is that of a larger task; else it is ``seconds`` off."""

    seconds: float
    on_progress: ProgressHandler | None = None
    wait: bool = False
    replay: bool = False
    deadline: Deadline | None = None


class Calls:
    """Shared by all threads that use a client."""

    def __init__(self, trees: Trees, max_frame_bytes: int) -> None:
        self._trees = trees
        self._max_frame_bytes = max_frame_bytes

    def tree(self, refusal: str) -> Tree:
        """The running tree, started now if need be; ``refusal`` says what comes to nothing without one."""
        try:
            return self._trees.get()
        except Spent:
            raise errors.ClientClosed(f"{refusal}: the client is closed") from None
        except StartFailure as failure:
            raise errors.StartFailed(f"{refusal}: this client cannot run: {failure}") from failure

    def run(self, request: Outgoing, manner: Manner) -> Raw:
        """Send a request and block until its result is there; raises what went wrong instead."""
        self._check_size(request)
        deadline = manner.deadline or Deadline.after(manner.seconds)
        tree = self.tree(f"{request.what} was not sent")
        self._enter(tree, request, deadline if manner.wait else None)
        try:
            return self._run(tree, request, manner, deadline)
        except ForkedSlot as error:
            raise errors.ForkedClient(
                f"{request.what} was made before a fork; its answer will not come"
            ) from error
        finally:
            tree.admission.leave()

    def await_ready(self, what: str, seconds: float, deadline: Deadline) -> None:
        """Block until the connection is ready; raises why it is not. ``what`` is the call that waits."""
        tree = self.tree(f"{what} was not sent" if what else "there is no connection to wait for")
        self._require_ready(tree, what, seconds, deadline)

    def submit(self, request: Outgoing, manner: Manner, decode: Callable[[Raw], T]) -> CallFuture[T]:
        """Send a request and return at once; the future gets the decoded result or the error."""
        self._check_size(request)
        tree = self.tree(f"{request.what} was not sent")
        self._enter(tree, request, None)
        future: CallFuture[T] = CallFuture()
        future.add_done_callback(lambda _: tree.admission.leave())

        def call(caller: FutureCaller, seconds: float) -> Called:
            self._check_capability(tree, request)
            return _called(caller, request, seconds, manner.on_progress is not None)

        def finish(outcome: CallOutcome | WaitOutcome, sent: bool) -> T:
            if isinstance(outcome, Completed):
                return decode(outcome.result)
            raise self._error(tree, request.what, _in_full(outcome, manner), waiting=not sent)

        caller = FutureCaller(future, call, finish, Deadline.after(manner.seconds), tree.wiring.settlements)
        caller.on_progress, caller.wait = manner.on_progress, manner.wait
        try:
            self._set_out(tree, caller)
        except BaseException:
            # KeyboardInterrupt: nobody will ever hold this future.
            future.cancel()
            raise
        return future

    # Steps.

    def _set_out(self, tree: Tree, caller: FutureCaller) -> None:
        connection, pool = tree.connection, tree.pool
        first = not tree.wiring.board.ever_ready
        if connection is None or pool is None or not caller.send(connection, pool, first=first):
            caller.set_unsent(_nobody_there(tree))
            # A connection that was restarted meanwhile has not seen this one among what is left to finish.
            tree.wiring.settlements.resume(pool)
        if pool is None or not pool.is_alive:
            # Nobody else may be left to do it, and this is a thread of the user's.
            tree.wiring.settlements.finish_all()

    def _run(self, tree: Tree, request: Outgoing, manner: Manner, deadline: Deadline) -> Raw:
        while True:
            if not tree.wiring.board.ever_ready:
                self._require_ready(tree, request.what, manner.seconds, deadline)
            self._check_capability(tree, request)
            outcome = self._exchange(tree, request, manner, deadline)
            if type(outcome) is Completed:
                return outcome.result
            if not _may_repeat(outcome, manner) or deadline.expired:
                raise self._error(tree, request.what, _in_full(outcome, manner))
            self._require_ready(tree, request.what, manner.seconds, deadline)

    def _exchange(self, tree: Tree, request: Outgoing, manner: Manner, deadline: Deadline) -> CallOutcome:
        progress = manner.on_progress
        slot: Slot[CallOutcome] = Slot() if progress is None else ProgressSlot[CallOutcome]()
        remaining = deadline.remaining()
        connection = tree.connection
        called = _called(slot, request, remaining, progress is not None)
        if connection is None:
            return _nobody_there(tree)
        limit = Deadline.after(remaining + _GRACE)
        # Telling is inside, too: an interrupt may come right after it.
        try:
            if not connection.tell(called):
                return _nobody_there(tree)
            if isinstance(slot, ProgressSlot) and progress is not None:
                outcome: CallOutcome = slot.wait(limit, lambda params: progress(Progress.of(params)))
                return outcome
            return slot.wait(limit)
        except SlotTimeout:
            connection.tell(CancelAsked(slot, "timeout"))
            return TimedOut(manner.seconds)
        except BaseException:
            # KeyboardInterrupt, or an error of the caller's own on_progress: the server need not go on.
            connection.tell(CancelAsked(slot, "interrupted"))
            raise

    def _require_ready(self, tree: Tree, what: str, seconds: float, deadline: Deadline) -> None:
        """Wait until the connection is ready, also through a restart of its actors; raise why it is not."""
        outcome = self._await_ready(tree, deadline)
        while isinstance(outcome, Lost) and tree.await_restart(deadline):
            outcome = self._await_ready(tree, deadline)
        if isinstance(outcome, Ready):
            return
        if isinstance(outcome, TimedOut | Lost):
            outcome = outcomes.Stopped() if tree.wiring.closing else TimedOut(seconds)
        raise self._error(tree, what, outcome, waiting=True)

    def _await_ready(self, tree: Tree, deadline: Deadline) -> CallOutcome | WaitOutcome:
        slot: Slot[CallOutcome | WaitOutcome] = Slot()
        connection = tree.connection
        remaining = deadline.remaining()
        if connection is None:
            return _NOBODY
        try:
            if not connection.tell(Awaited(slot, remaining)):
                return _NOBODY
            return slot.wait(Deadline.after(remaining + _GRACE))
        except SlotTimeout:
            return TimedOut(remaining)
        except BaseException:
            connection.tell(CancelAsked(slot, "interrupted"))
            raise

    def _enter(self, tree: Tree, request: Outgoing, deadline: Deadline | None) -> None:
        if not tree.admission.enter(deadline):
            limit = tree.admission.limit
            raise errors.Backpressure(
                f"{request.what} was not sent: max_in_flight ({limit}) is reached",
                details={"max_in_flight": limit},
            )

    def _check_size(self, request: Outgoing) -> None:
        size = len(request.params) + len(request.meta)
        if size > self._max_frame_bytes:
            raise ValueError(
                f"{request.what} has {size} bytes of arguments, more than max_frame_bytes "
                f"({self._max_frame_bytes})"
            )

    def _check_capability(self, tree: Tree, request: Outgoing) -> None:
        agreement = tree.wiring.board.agreement
        if agreement is None:
            return
        path = capability_for(request.method, agreement.revision)
        if path is None:
            return
        offered: Any = agreement.capabilities
        for key in path.split("."):
            offered = offered.get(key) if isinstance(offered, dict) else None
        if offered is None or offered is False:
            raise errors.CapabilityMissing(
                f"{request.what} was not sent: {tree.wiring.transport.label} does not offer {path}",
                details={"capability": path},
            )

    def _error(
        self, tree: Tree, what: str, outcome: CallOutcome | WaitOutcome, *, waiting: bool = False
    ) -> errors.McpError:
        wiring = tree.wiring
        told = not isinstance(outcome, outcomes.Rejected | outcomes.Withdrawn | outcomes.Stopped)
        about = Circumstances(
            what,
            wiring.transport.label,
            tree.state.value,
            wiring.board.retry_after,
            crash_report(wiring) if told else None,
        )
        unsent = waiting or isinstance(outcome, NotReady)
        if unsent and told and tree.failure is not None:
            return broken_down(tree.failure, about)
        if waiting and isinstance(outcome, TimedOut):
            return late(outcome.seconds, wiring.board.cause, about)
        return error_from(outcome, about)


def unpark(tree: Tree) -> None:
    """Have a parked connection try again."""
    connection = tree.connection
    if connection is not None:
        connection.tell(Begun())


def _nobody_there(tree: Tree) -> NotReady | outcomes.Stopped:
    return outcomes.Stopped() if tree.wiring.closing else NotReady(tree.state.value)


def _called(caller: Any, request: Outgoing, seconds: float, progress: bool) -> Called:
    return Called(caller, request.method, request.params, request.meta, seconds, progress)


def _may_repeat(outcome: CallOutcome, manner: Manner) -> bool:
    return (was_not_sent(outcome) and manner.wait) or (isinstance(outcome, Lost) and manner.replay)


def _in_full(outcome: Any, manner: Manner) -> Any:
    """A deadline is told as the caller gave it, not as the part of it that was left for the last step."""
    return TimedOut(manner.seconds) if isinstance(outcome, TimedOut) else outcome
