"""Peer: one client. The session machine's shell; it borrows the threads of those who bring it something."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextvars import Context as Variables
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from msgspec import Struct

from mcp_actors.protocol import jsonrpc
from mcp_actors.protocol.jsonrpc import Id
from mcp_actors.protocol.serving import actions as A
from mcp_actors.protocol.serving import events as E
from mcp_actors.protocol.serving import frames
from mcp_actors.protocol.serving.keepsake import Keepsake
from mcp_actors.protocol.serving.questions import Unanswered
from mcp_actors.protocol.serving.states import Phase
from mcp_actors.protocol.serving.terms import Refused, Terms
from mcp_actors.protocol.session import SessionMachine
from mcp_actors.runtime.turns import Turns
from mcp_actors.server.call import Call
from mcp_actors.server.loan import Loan
from mcp_actors.server.outlet import ClosesConnections, Outgoing, Outlet

if TYPE_CHECKING:
    from mcp_actors.server.authorization.principal import Principal
    from mcp_actors.server.host import Host

_BUSY: Final = frames.error_body(Refused(jsonrpc.INTERNAL_ERROR, "the server is busy"))

#: More than this waits only if several handlers talk faster than one thread can pass on.
_CROWD: Final = 64

logger: Final = logging.getLogger("mcp_actors.server")


class _Arrival(Struct, frozen=True):
    """A message with what only the wire knows about it."""

    event: E.Received
    principal: Principal | None
    variables: Variables
    loan: Loan | None


class _Delivery(Struct, frozen=True):
    """What a wire that lasts brings at once, and what it wants done when all of it is taken in."""

    messages: tuple[jsonrpc.Message, ...]
    then: Callable[[], None]


class _OfCall(Struct, frozen=True):
    """An event that a call brings about itself. The id alone does not tell whose it is: a client may use one
    again as soon as it has cancelled the request."""

    call: Call
    event: E.Concluded | E.Said | E.Asked


_Item: TypeAlias = E.Event | _Arrival | _Delivery | _OfCall


class Peer:
    """All methods may be called by any thread; none of them blocks or raises.

    ``agreed``: the client counts as greeted, for a wire where it cannot be asked to introduce itself.
    ``client``: peers of the same share the workers that one client may have; None: all may be its own.
    """

    def __init__(
        self,
        host: Host,
        outlet: Outlet,
        *,
        name: str,
        principal: Principal | None = None,
        agreed: Terms | None = None,
        client: str | None = None,
    ) -> None:
        self.client = client
        self.host = host
        self.name = name
        self.principal = principal
        self._outlet = outlet
        self._machine = SessionMachine(host.profile, host.policy, agreed=agreed)
        self._calls: dict[Id, Call] = {}
        self._burst: list[Call] = []
        self._arrival: _Arrival | None = None
        self._when_idle: list[Callable[[], object]] = []
        self._turns: Turns[_Item] = Turns(
            self._handle, rest=self._hand_out, failed=self._fail, discard=self._discard
        )

    # Any thread.

    def receive(
        self,
        message: jsonrpc.Message,
        principal: Principal | None = None,
        *,
        modern: bool = False,
        loan: Loan | None = None,
    ) -> None:
        """The client sent a message. ``modern``: the wire says that it is of 2026-07-28 or later.

        ``loan``: the calling thread waits for the answer, and does what the loan holds afterwards.

        A handler will see the context variables of this moment: on HTTP, those of the web framework.
        """
        event = E.Received(message, modern)
        self._turns.bring(_Arrival(event, principal or self.principal, copy_context(), loan))

    def receive_all(self, messages: tuple[jsonrpc.Message, ...], then: Callable[[], None]) -> None:
        """The client sent several messages. ``then()`` is called by whoever has the turn, after them."""
        self._turns.bring(_Delivery(messages, then))

    def bring(self, event: E.Event) -> None:
        """Something happened to this session."""
        self._turns.bring(event)

    def bring_for(self, call: Call, event: E.Concluded | E.Said | E.Asked) -> None:
        """Something came of a call. Nothing happens if it is over."""
        self._turns.bring(_OfCall(call, event))

    def resume(self, keepsake: Keepsake) -> None:
        """Go on where another process was."""
        self._turns.bring(E.Resumed(keepsake))

    def cancel(self, id_: Id, reason: str) -> None:
        """Nobody wants the answer to that request any more."""
        self._turns.bring(E.Dismissed(id_, reason))

    def gone(self, reason: str) -> None:
        """The wire is over: what runs is told to stop, and nothing is sent any more."""
        self._turns.bring(E.Gone(reason))

    def stop(self, grace: float = 5.0) -> None:
        """Take no more requests, let those that run end, end all streams, then close the wire."""
        self._turns.bring(E.StopAsked(grace))

    def close_connection(self, id_: Id) -> None:
        """Let go of the connection on which the answer to that request is awaited, if it can be resumed."""
        if isinstance(self._outlet, ClosesConnections):
            self._outlet.close_connection(id_)

    def forget(self) -> None:
        """In a forked child: this client is the parent's."""
        self._turns.forget()

    @property
    def state(self) -> str:
        """Where the conversation stands."""
        return self._machine.phase.value

    @property
    def closed(self) -> bool:
        """Whether it is over."""
        return self._machine.phase is Phase.CLOSED

    @property
    def busy(self) -> bool:
        """Whether requests run or streams are open."""
        return self._machine.busy

    @property
    def settled(self) -> bool:
        """Whether nothing would have to be ended if it were gone."""
        return self._machine.settled

    @property
    def crowded(self) -> bool:
        """Whether so much waits for its turn that news should, too."""
        return len(self._turns) >= _CROWD

    @property
    def owner(self) -> str | None:
        """What its tasks are bound to."""
        return None if self.principal is None else self.principal.binding

    def when_idle(self, callback: Callable[[], object]) -> None:
        """Call ``callback()`` as soon as nothing runs: now, or on the thread that sends the last answer."""
        self.receive_all((), lambda: self._wait_for_idle(callback))

    @property
    def running(self) -> int:
        """How many requests run or wait for a worker."""
        return len(self._machine.reception.running)

    @property
    def keepsake(self) -> Keepsake | None:
        """What another process would have to know to go on."""
        return self._machine.keepsake

    @property
    def version(self) -> str | None:
        """The revision that a handshake settled."""
        agreed = self._machine.agreed
        return None if agreed is None else agreed.revision.version

    # Whoever has the turn.

    def _handle(self, item: _Item) -> None:
        if isinstance(item, _Delivery):
            self._arrival = None
            for message in item.messages:
                self._carry_out(E.Received(message))
            item.then()
        elif isinstance(item, _Arrival):
            self._arrival = item
            self._carry_out(item.event)
        elif isinstance(item, _OfCall):
            if self._calls.get(item.call.job.id) is item.call:
                if isinstance(item.event, E.Concluded):
                    # Of an array only the first request is told as final, and that is told for all of them.
                    del self._calls[item.call.job.id]
                self._carry_out(item.event)
            else:
                self._discard(item)
        else:
            self._carry_out(item)

    def _carry_out(self, event: E.Event) -> None:
        for action in self._machine.handle(event):
            _PERFORM[type(action)](self, action)

    def _hand_out(self) -> None:
        """Give the workers what came together, together."""
        burst, self._burst = self._burst, []
        if not burst:
            return
        taken = self.host.employ([call.run for call in burst], self.client)
        for call in burst[taken:]:
            self.bring_for(call, E.Concluded(call.job.id, _BUSY, jsonrpc.INTERNAL_ERROR))

    def _send(self, action: A.Send) -> None:
        if action.final and action.about is not None:
            self._calls.pop(action.about, None)
        self._outlet.send(Outgoing(action.frame, action.about, action.final, action.code, action.news))

        if self._when_idle:
            self._tell_idle()

    def _wait_for_idle(self, callback: Callable[[], object]) -> None:
        self._when_idle.append(callback)
        self._tell_idle()

    def _tell_idle(self) -> None:
        if not self.running:
            waiting, self._when_idle = self._when_idle, []
            for callback in waiting:
                callback()

    def _run(self, action: A.Run) -> None:
        arrival = self._arrival
        principal, variables = (
            (self.principal, None) if arrival is None else (arrival.principal, arrival.variables)
        )
        call = Call(self, action.job, principal, variables)
        self._calls[action.job.id] = call
        if not self._lent(call):
            self._burst.append(call)

    def _lent(self, call: Call) -> bool:
        """Whether the thread that waits for the answer gives it itself: waking another would cost more."""
        loan = None if self._arrival is None else self._arrival.loan
        return loan is not None and self.host.is_brief(call.job) and loan.take(call.run)

    def _cancel_job(self, action: A.CancelJob) -> None:
        call = self._calls.pop(action.id, None)
        if call is not None:
            call.cancellation.cancel(action.reason)

    def _resolve(self, action: A.Resolve) -> None:
        action.caller.set(action.verdict)  # type: ignore[attr-defined]  # those who ask here wait on slots

    def _heard(self, action: A.Heard) -> None:
        self.host.heard(self, action.method, action.params)

    def _set_timer(self, action: A.SetTimer) -> None:
        event = action.event
        if self.host.stopping:
            # Nobody would wake us: the time is over.
            self.bring(event)
            return
        self.host.wake((id(self), event), action.seconds, lambda: self.bring(event))

    def _cancel_timer(self, action: A.CancelTimer) -> None:
        self.host.let_sleep((id(self), action.event))

    def _attend(self, action: A.Attend) -> None:
        self.host.attend(self, action.wanted)

    def _violation(self, action: A.Violation) -> None:
        self.host.violations += 1
        logger.debug("%s ! %s: %s", self.name, action.kind, action.detail)

    def _transition(self, action: A.Transition) -> None:
        logger.debug("%s = %s -> %s", self.name, action.before.value, action.after.value)

    def _end(self, action: A.End) -> None:
        self._outlet.end(action.reason)

    # A bug in a session ends that session.

    def _fail(self, error: BaseException) -> None:
        logger.error("%s crashed", self.name, exc_info=error)
        self.host.crashes += 1
        self.host.attend(self, False)
        for call in tuple(self._calls.values()):
            call.cancellation.cancel("the session crashed")
        for _, question in self._machine.asking.questions.take_all():
            question.caller.set(Unanswered("the session crashed"))  # type: ignore[attr-defined]
        self._outlet.end("the server failed")

    def _discard(self, item: _Item) -> None:
        event = item.event if isinstance(item, _OfCall) else item
        if isinstance(event, E.Asked):
            event.question.caller.set(Unanswered("the session is over"))  # type: ignore[attr-defined]


#: Once for all: at 2026-07-28 each POST is a peer.
_PERFORM: Final[dict[type, Callable[[Peer, Any], None]]] = {
    A.Send: Peer._send,
    A.Run: Peer._run,
    A.CancelJob: Peer._cancel_job,
    A.Resolve: Peer._resolve,
    A.Heard: Peer._heard,
    A.SetTimer: Peer._set_timer,
    A.CancelTimer: Peer._cancel_timer,
    A.Attend: Peer._attend,
    A.Violation: Peer._violation,
    A.Transition: Peer._transition,
    A.End: Peer._end,
}
