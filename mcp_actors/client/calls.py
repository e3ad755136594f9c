"""The way of a request from a caller's thread to the connection and back: blocking, with one deadline."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from functools import partial
from random import random
from typing import Any, Final, TypeAlias, TypeVar

from msgspec import Raw, Struct

from mcp_actors import errors
from mcp_actors.client.failures import Circumstances, broken_down, error_from, late
from mcp_actors.client.futures import CallFuture, FutureCaller, Handover, Onward, Route
from mcp_actors.client.gate import check_passage, offers_core_tasks
from mcp_actors.client.notifications import Progress, ProgressHandler
from mcp_actors.client.outgoing import Outgoing, as_task
from mcp_actors.client.post_mortem import crash_report, secrets_of
from mcp_actors.client.tree import Tree
from mcp_actors.client.trees import Trees
from mcp_actors.protocol import outcomes
from mcp_actors.protocol.agreement import Agreement
from mcp_actors.protocol.backoff import Backoff
from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.protocol.events import INTERRUPTED, Awaited, Begun, Called, CalledTogether, CancelAsked
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
from mcp_actors.runtime.actor import StartFailure
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.lazy import Spent
from mcp_actors.runtime.ref import Ref
from mcp_actors.runtime.slot import ForkedSlot, ProgressSlot, Slot, SlotTimeout, WorkSlot
from mcp_actors.transports.contract import Authorizes, Transport

T = TypeVar("T")

#: What becomes of a raw result: a value, another request to send first, or somebody who finds out the value.
Decode: TypeAlias = Callable[[Raw], T | Onward | Handover]

#: The machine answers at the deadline; this much later the caller stops believing in the machine.
_GRACE: Final = 1.0
#: How long to wait before a request is repeated.
_REPEATS: Final = Backoff(base=0.05, cap=1.0)
#: Methods are few, except of a caller who makes them up.
_PASSED_KEPT: Final = 64
#: Whoever was to wait for us had ended; that says nothing about the server.
_NOBODY: Final = Lost(Ending(EndKind.BROKEN, "the connection was being restarted"), "not_sent")


class Manner(Struct, frozen=True):
    """How a caller wants its call made. ``deadline`` is that of a larger task; else it is ``seconds`` off.

    ``vouched``: it is a part of a call that has its place among those in flight, and needs none of its own.
    """

    seconds: float
    on_progress: ProgressHandler | None = None
    wait: bool = False
    replay: bool = False
    deadline: Deadline | None = None
    vouched: bool = False


class Calls:
    """Shared by all threads that use a client."""

    def __init__(self, trees: Trees, max_frame_bytes: int) -> None:
        self._trees = trees
        self._max_frame_bytes = max_frame_bytes
        # What may go out by the agreement of the moment: it is the same for every call of a method.
        self._passed: tuple[Agreement | None, frozenset[str]] = (None, frozenset())

    def tree(self, refusal: str) -> Tree:
        """The running tree, started now if need be; ``refusal`` says what comes to nothing without one."""
        try:
            return self._trees.get()
        except Spent:
            raise errors.ClientClosed(f"{refusal}: the client is closed") from None
        except StartFailure as failure:
            raise errors.StartFailed(f"{refusal}: this client cannot run: {failure}") from failure

    def run(self, request: Outgoing, manner: Manner, deadline: Deadline | None = None) -> Raw:
        """Send a request and block until its result is there; raises what went wrong instead."""
        self.check_size(request)
        deadline = deadline or manner.deadline or Deadline.after(manner.seconds)
        # Mostly it is there; the words for when it is not need not be made.
        tree = self._trees.value
        if tree is None or self._trees.spent:
            tree = self.tree(f"{request.what} was not sent")
        place = object()
        try:
            try:
                if not manner.vouched:
                    self._enter(tree, request, place, deadline if manner.wait else None)
                return self._run(tree, request, manner, deadline)
            finally:
                tree.admission.leave(place)
        except ForkedSlot as error:
            raise errors.ForkedClient(
                f"{request.what} was made before a fork; its answer will not come"
            ) from error
        except BaseException:
            # An interrupt may have come before the place was left.
            tree.admission.leave(place)
            raise

    def await_ready(self, what: str, seconds: float, deadline: Deadline) -> None:
        """Block until the connection is ready; raises why it is not. ``what`` is the call that waits."""
        tree = self.tree(f"{what} was not sent" if what else "there is no connection to wait for")
        self._require_ready(tree, what, seconds, deadline)

    def agreement(self, what: str, seconds: float, deadline: Deadline) -> Agreement:
        """What was agreed with the server, as soon as it was ready once; raises why it never was."""
        tree = self.tree(f"{what} was not sent")
        if not tree.wiring.board.ever_ready:
            self._require_ready(tree, what, seconds, deadline)
        agreement = tree.wiring.board.agreement
        assert agreement is not None
        return agreement

    def submit(self, request: Outgoing, manner: Manner, decode: Decode[T]) -> CallFuture[T]:
        """Send a request and return at once; the future gets the decoded result or the error."""
        self.check_size(request)
        tree = self.tree(f"{request.what} was not sent")
        future, caller = self._caller(tree, request, manner, decode)
        try:
            if not manner.vouched:
                self._enter(tree, request, future, None)
            self._set_out(tree, caller)
        except BaseException:
            # There is no room, or KeyboardInterrupt: nobody will ever hold this future.
            future.cancel()
            raise
        return future

    def submit_together(self, requests: Sequence[tuple[Outgoing, Manner, Decode[T]]]) -> list[CallFuture[T]]:
        """Send several requests in one step and return at once. There is room for all, or none is sent."""
        for request, _, _ in requests:
            self.check_size(request)
        tree = self.tree("a batch was not sent")
        made = [self._caller(tree, *one) for one in requests]
        try:
            for (request, _, _), (future, _) in zip(requests, made, strict=True):
                self._enter(tree, request, future, None)
            self._set_out_together(tree, [caller for _, caller in made])
        except BaseException:
            for future, _ in made:
                future.cancel()
            raise
        return [future for future, _ in made]

    def check_size(self, request: Outgoing) -> None:
        """Raise ValueError if the request is larger than a frame may be."""
        size = len(request.params) + len(request.meta)
        if size > self._max_frame_bytes:
            raise ValueError(
                f"{request.what} has {size} bytes of arguments, more than max_frame_bytes "
                f"({self._max_frame_bytes})"
            )

    def error(
        self, tree: Tree, what: str, outcome: CallOutcome | WaitOutcome, *, waiting: bool = False
    ) -> errors.McpError:
        """The error for what became of a call, as of now. ``waiting``: it was never sent."""
        wiring = tree.wiring
        told = not isinstance(outcome, outcomes.Rejected | outcomes.Withdrawn | outcomes.Stopped)
        about = Circumstances(
            what,
            wiring.transport.label,
            tree.state.value,
            wiring.board.retry_after,
            crash_report(wiring, outcome.ending if isinstance(outcome, Lost) else None) if told else None,
            secrets_of(wiring),
        )
        unsent = waiting or isinstance(outcome, NotReady)
        if unsent and told and tree.failure is not None:
            return broken_down(tree.failure, about)
        if waiting and isinstance(outcome, TimedOut):
            return late(_held(outcome, wiring.transport), wiring.board.cause, about)
        return error_from(outcome, about)

    # Futures.

    def _caller(
        self, tree: Tree, request: Outgoing, manner: Manner, decode: Decode[T]
    ) -> tuple[CallFuture[T], FutureCaller]:
        future: CallFuture[T] = CallFuture()
        future.add_done_callback(tree.admission.leave)

        def called(caller: FutureCaller, seconds: float) -> Called:
            self._check_passage(tree, caller.request)
            sent = _as_task_if_need_be(tree, caller.request)
            # A progress token would outlive a request that becomes a task.
            progress = manner.on_progress is not None and sent is caller.request
            return _called(caller, sent, seconds, progress)

        def finish(outcome: CallOutcome | WaitOutcome, sent: bool) -> T | Onward | Handover:
            if isinstance(outcome, Completed):
                return decode(outcome.result)
            if isinstance(outcome, NotReady) and tree.wiring.closing:
                outcome = outcomes.Stopped()
            raise self.error(tree, request.what, _in_full(outcome, manner), waiting=not sent)

        route = Route(called, finish, partial(self._set_out, tree))
        deadline = Deadline.after(manner.seconds)
        caller = FutureCaller(future, request, route, deadline, tree.wiring.settlements)
        caller.on_progress, caller.wait = manner.on_progress, manner.wait
        return future, caller

    def _set_out(self, tree: Tree, caller: FutureCaller) -> None:
        connection, pool = tree.connection, tree.pool
        first = not tree.wiring.board.ever_ready
        if connection is None or pool is None or not caller.send(connection, pool, first=first):
            caller.set_unsent(_nobody_there(tree))
            # A connection that was restarted meanwhile has not seen this one among what is left to finish.
            tree.wiring.settlements.resume(pool)
        self._settle_here_if_nobody_else_can(tree, pool)

    def _set_out_together(self, tree: Tree, callers: list[FutureCaller]) -> None:
        connection, pool = tree.connection, tree.pool
        if connection is None or pool is None or not tree.wiring.board.ever_ready:
            for caller in callers:
                self._set_out(tree, caller)
            return
        tickets = [(caller, caller.ticket(connection, pool)) for caller in callers]
        sent = [(caller, called) for caller, called in tickets if called is not None]
        if sent and not connection.tell(CalledTogether(tuple(called for _, called in sent))):
            for caller, _ in sent:
                caller.set_unsent(_nobody_there(tree))
            tree.wiring.settlements.resume(pool)
        self._settle_here_if_nobody_else_can(tree, pool)

    def _settle_here_if_nobody_else_can(self, tree: Tree, pool: Ref | None) -> None:
        if pool is None or not pool.is_alive:
            # Nobody else may be left to do it, and this is a thread of the user's.
            tree.wiring.settlements.work_off()

    # Blocking calls.

    def _run(self, tree: Tree, request: Outgoing, manner: Manner, deadline: Deadline) -> Raw:
        repeated = 0
        while True:
            if not tree.wiring.board.ever_ready:
                self._require_ready(tree, request.what, manner.seconds, deadline)
            self._check_passage(tree, request)
            outcome = self._exchange(tree, request, manner, deadline)
            if type(outcome) is Completed:
                return outcome.result
            if not _may_repeat(outcome, manner) or deadline.expired:
                raise self.error(tree, request.what, _in_full(outcome, manner))
            _pause(tree, repeated, deadline)
            repeated += 1
            self._require_ready(tree, request.what, manner.seconds, deadline)

    def _exchange(self, tree: Tree, request: Outgoing, manner: Manner, deadline: Deadline) -> CallOutcome:
        progress, departures = manner.on_progress, tree.wiring.board.departures
        # Whoever wants news meanwhile has other things to do than to run the exchange.
        slot = _slot(news=progress is not None, work=departures is not None)
        remaining = deadline.remaining()
        connection = tree.connection
        called = _called(slot, request, remaining, progress is not None)
        if connection is None:
            return _nobody_there(tree)
        limit = deadline.later(_GRACE)
        # Telling is inside, too: an interrupt may come right after it.
        try:
            departed = None
            if departures is not None and isinstance(slot, WorkSlot):
                departed = departures.depart(called, slot)
            if not connection.tell(departed or called):
                slot.set(_nobody_there(tree))
            if isinstance(slot, ProgressSlot) and progress is not None:
                outcome: CallOutcome = slot.wait(limit, lambda params: progress(Progress.of(params)))
                return outcome
            return slot.wait(limit)
        except SlotTimeout:
            connection.tell(CancelAsked(slot, "timeout"))
            return TimedOut(manner.seconds)
        except BaseException:
            # KeyboardInterrupt, or an error of the caller's own on_progress: the server need not go on.
            slot.set(outcomes.Withdrawn("caller", INTERRUPTED))
            connection.tell(CancelAsked(slot, INTERRUPTED))
            raise

    def _require_ready(self, tree: Tree, what: str, seconds: float, deadline: Deadline) -> None:
        """Wait until the connection is ready, also through a restart of its actors; raise why it is not."""
        outcome = self._await_ready(tree, deadline)
        while isinstance(outcome, Lost) and tree.await_restart(deadline):
            outcome = self._await_ready(tree, deadline)
        if isinstance(outcome, Ready):
            return
        if isinstance(outcome, TimedOut | Lost):
            hindrance = outcome.hindrance if isinstance(outcome, TimedOut) else None
            outcome = outcomes.Stopped() if tree.wiring.closing else TimedOut(seconds, hindrance)
        raise self.error(tree, what, outcome, waiting=True)

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
            connection.tell(CancelAsked(slot, INTERRUPTED))
            raise

    def _enter(self, tree: Tree, request: Outgoing, caller: object, deadline: Deadline | None) -> None:
        if not tree.admission.enter(caller, deadline):
            limit = tree.admission.limit
            raise errors.Backpressure(
                f"{request.what} was not sent: max_in_flight ({limit}) is reached",
                details={"max_in_flight": limit},
            )

    def _check_passage(self, tree: Tree, request: Outgoing) -> None:
        agreement = tree.wiring.board.agreement
        passed_under, methods = self._passed
        if agreement is None or (agreement is passed_under and request.method in methods):
            return
        check_passage(request, agreement, tree.wiring.transport.label)
        # Replaced whole, so any thread may read. What is lost in a race is only looked up once more.
        known = methods if agreement is passed_under else frozenset[str]()
        self._passed = (agreement, known | {request.method} if len(known) < _PASSED_KEPT else known)


def unpark(tree: Tree) -> None:
    """Have a parked connection try again."""
    connection = tree.connection
    if connection is not None:
        connection.tell(Begun())


def _slot(*, news: bool, work: bool) -> Slot[CallOutcome]:
    """What a caller waits on, who wants news meanwhile, or may do the work itself."""
    if news:
        return ProgressSlot()
    return WorkSlot() if work else Slot()


def _nobody_there(tree: Tree) -> NotReady | outcomes.Stopped:
    return outcomes.Stopped() if tree.wiring.closing else NotReady(tree.state.value)


def _called(caller: Any, request: Outgoing, seconds: float, progress: bool) -> Called:
    return Called(caller, request.method, request.params, request.meta, seconds, progress, request.session)


def _as_task_if_need_be(tree: Tree, request: Outgoing) -> Outgoing:
    agreement = tree.wiring.board.agreement
    if not request.task or agreement is None or not offers_core_tasks(agreement):
        return request
    return as_task(request, None)


def _may_repeat(outcome: CallOutcome, manner: Manner) -> bool:
    return (was_not_sent(outcome) and manner.wait) or (isinstance(outcome, Lost) and manner.replay)


def _pause(tree: Tree, repeated: int, deadline: Deadline) -> None:
    """Wait a little before a request is repeated: over HTTP it can fail alone, time and again, and fast."""
    seconds = min(_REPEATS.delay(repeated, random), deadline.remaining())
    with contextlib.suppress(SlotTimeout):
        # A client that is closed meanwhile wakes us.
        tree.wiring.halted.wait(Deadline.after(seconds))


def _in_full(outcome: Any, manner: Manner) -> Any:
    """A deadline is told as the caller gave it, not as the part of it that was left for the last step."""
    return TimedOut(manner.seconds, outcome.hindrance) if isinstance(outcome, TimedOut) else outcome


def _held(outcome: TimedOut, transport: Transport) -> TimedOut:
    """Whoever has sent nothing yet is held up by a login in whatever phase of the connection."""
    if outcome.hindrance is None and isinstance(transport, Authorizes):
        return TimedOut(outcome.seconds, transport.hindrance())
    return outcome
