"""The way of a request from a caller's thread to the connection and back: blocking, with one total deadline."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from msgspec import Raw, Struct

from mcp_actors import errors
from mcp_actors.client.failures import Circumstances, error_from
from mcp_actors.client.futures import CallFuture, FutureCaller
from mcp_actors.client.notifications import Progress, ProgressHandler
from mcp_actors.client.post_mortem import crash_report
from mcp_actors.client.tree import Tree
from mcp_actors.protocol import codec, outcomes
from mcp_actors.protocol.events import Awaited, Begun, Called, CancelAsked
from mcp_actors.protocol.outcomes import CallOutcome, Completed, NotReady, Ready, TimedOut, WaitOutcome
from mcp_actors.protocol.revisions import capability_for
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.lazy import Lazy, Spent
from mcp_actors.runtime.slot import ForkedSlot, ProgressSlot, Slot, SlotTimeout

T = TypeVar("T")

#: The machine answers at the deadline; this much later the caller stops believing in the machine.
_GRACE = 1.0


class Outgoing(Struct, frozen=True):
    """A request ready to go. ``params`` and ``meta`` are encoded objects; ``what`` names it in errors."""

    what: str
    method: str
    params: bytes = b"{}"
    meta: bytes = b"{}"


class Manner(Struct, frozen=True):
    """How a caller wants its call made."""

    seconds: float
    on_progress: ProgressHandler | None = None
    wait: bool = False
    replay: bool = False


def outgoing(method: str, params: Mapping[str, Any] | None, *, what: str | None = None) -> Outgoing:
    """Encode a request. What cannot be said in JSON is the caller's TypeError or ValueError, here and now."""
    given = dict(params or {})
    meta = given.pop("_meta", None)
    if meta is not None and not isinstance(meta, Mapping):
        raise TypeError(f"_meta must be an object, not {type(meta).__name__}")
    return Outgoing(
        what or method,
        method,
        codec.encode(given) if given else b"{}",
        codec.encode(dict(meta)) if meta else b"{}",
    )


class Calls:
    """Shared by all threads that use a client."""

    def __init__(self, trees: Lazy[Tree], max_frame_bytes: int) -> None:
        self._trees = trees
        self._max_frame_bytes = max_frame_bytes

    def tree(self, what: str) -> Tree:
        """The running tree, started now if need be."""
        try:
            return self._trees.get()
        except Spent:
            raise errors.ClientClosed(f"{what} was not sent: the client is closed") from None

    def run(self, request: Outgoing, manner: Manner) -> Raw:
        """Send a request and block until its result is there; raises what went wrong instead."""
        self._check_size(request)
        deadline = Deadline.after(manner.seconds)
        tree = self.tree(request.what)
        self._enter(tree, request, deadline if manner.wait else None)
        try:
            return self._run(tree, request, manner, deadline)
        except ForkedSlot as error:
            raise errors.ForkedClient(
                f"{request.what} was made before a fork; its answer will not come"
            ) from error
        finally:
            tree.admission.leave()

    def await_ready(self, what: str, seconds: float) -> Tree:
        """Block until the connection is ready; raises why it is not."""
        tree = self.tree(what)
        outcome = self._await_ready(tree, Deadline.after(seconds), seconds)
        if not isinstance(outcome, Ready):
            raise self._error(tree, what, outcome)
        return tree

    def submit(self, request: Outgoing, manner: Manner, decode: Callable[[Raw], T]) -> CallFuture[T]:
        """Send a request and return at once; the future gets the decoded result or the error."""
        self._check_size(request)
        tree = self.tree(request.what)
        self._enter(tree, request, None)
        future: CallFuture[T] = CallFuture()
        future.add_done_callback(lambda _: tree.admission.leave())
        caller = FutureCaller(
            future,
            lambda caller, seconds: _called(caller, request, seconds, manner.on_progress is not None),
            lambda outcome: decode(self._result(tree, request, outcome)),
            Deadline.after(manner.seconds),
        )
        caller.on_progress, caller.wait = manner.on_progress, manner.wait
        connection, pool = tree.connection, tree.pool
        gone = connection is None or pool is None
        if gone or not caller.send(connection, pool, first=not tree.wiring.board.ever_ready):  # type: ignore[arg-type]
            caller.set(NotReady(tree.wiring.board.state.value))
        return future

    # Steps.

    def _run(self, tree: Tree, request: Outgoing, manner: Manner, deadline: Deadline) -> Raw:
        while True:
            if not tree.wiring.board.ever_ready:
                ready = self._await_ready(tree, deadline, manner.seconds)
                if not isinstance(ready, Ready):
                    raise self._error(tree, request.what, ready)
            self._check_capability(tree, request)
            outcome = self._exchange(tree, request, manner, deadline)
            if type(outcome) is Completed:
                return outcome.result
            again = (isinstance(outcome, NotReady) and manner.wait) or (
                manner.replay and isinstance(outcome, outcomes.Lost)
            )
            if not again or not self._ready_again(tree, deadline, manner.seconds):
                raise self._error(tree, request.what, outcome)

    def _exchange(self, tree: Tree, request: Outgoing, manner: Manner, deadline: Deadline) -> CallOutcome:
        progress = manner.on_progress
        slot: Slot[CallOutcome] = Slot() if progress is None else ProgressSlot[CallOutcome]()
        remaining = deadline.remaining()
        connection = tree.connection
        called = _called(slot, request, remaining, progress is not None)
        if connection is None or not connection.tell(called):
            return NotReady(tree.wiring.board.state.value)
        limit = Deadline.after(remaining + _GRACE)
        try:
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

    def _await_ready(self, tree: Tree, deadline: Deadline, seconds: float) -> CallOutcome | WaitOutcome:
        slot: Slot[WaitOutcome] = Slot()
        connection = tree.connection
        remaining = deadline.remaining()
        if connection is None or not connection.tell(Awaited(slot, remaining)):
            return NotReady(tree.wiring.board.state.value)
        try:
            outcome = slot.wait(Deadline.after(remaining + _GRACE))
        except SlotTimeout:
            return TimedOut(seconds)
        except BaseException:
            connection.tell(CancelAsked(slot, "interrupted"))
            raise
        return TimedOut(seconds) if isinstance(outcome, TimedOut) else outcome

    def _ready_again(self, tree: Tree, deadline: Deadline, seconds: float) -> bool:
        return not deadline.expired and isinstance(self._await_ready(tree, deadline, seconds), Ready)

    def _enter(self, tree: Tree, request: Outgoing, deadline: Deadline | None) -> None:
        if not tree.admission.enter(deadline):
            limit = tree.admission.limit
            raise errors.Backpressure(
                f"{request.what} was not sent: {limit} calls are in flight already (max_in_flight)",
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

    def _result(self, tree: Tree, request: Outgoing, outcome: CallOutcome | WaitOutcome) -> Raw:
        if isinstance(outcome, Completed):
            return outcome.result
        raise self._error(tree, request.what, outcome)

    def _error(self, tree: Tree, what: str, outcome: CallOutcome | WaitOutcome) -> errors.McpError:
        wiring = tree.wiring
        if tree.failure is not None:
            return errors.Unavailable(
                f"{what} was not sent: the connection's own actors failed too often: {tree.failure}",
                state=wiring.board.state.value,
                details={"failure": str(tree.failure)},
            )
        told = not isinstance(outcome, outcomes.Rejected | outcomes.Withdrawn | outcomes.Stopped)
        about = Circumstances(
            what,
            wiring.transport.label,
            wiring.board.state.value,
            wiring.board.retry_after,
            crash_report(wiring) if told else None,
        )
        return error_from(outcome, about)


def unpark(tree: Tree) -> None:
    """Have a parked connection try again."""
    connection = tree.connection
    if connection is not None:
        connection.tell(Begun())


def _called(caller: Any, request: Outgoing, seconds: float, progress: bool) -> Called:
    return Called(caller, request.method, request.params, request.meta, seconds, progress)
