"""The client machine: five states, every event, one table. Events in, actions out; no thread, no clock.

``handle`` looks the event up in ``TABLE`` and runs the cell it finds. A cell appends actions and returns the
next state. The table is total: "nothing happens" is written down as ``ignore``. An arrow that is not in
``EDGES`` is a bug in this file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from mcp_actors.protocol import events as E
from mcp_actors.protocol import jsonrpc
from mcp_actors.protocol.actions import (
    Action,
    CancelTimer,
    CloseWire,
    Halt,
    Open,
    Permit,
    Reply,
    SetTimer,
    Transition,
)
from mcp_actors.protocol.attempts import Attempts
from mcp_actors.protocol.conversation import Conversation
from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.protocol.flow import Flow
from mcp_actors.protocol.handshake import Failed, candidates
from mcp_actors.protocol.introduction import Introduced, Introduction, Verdict
from mcp_actors.protocol.outcomes import Cause, NotReady, Parked, Ready, Stopped, TimedOut
from mcp_actors.protocol.pending import Caller
from mcp_actors.protocol.policy import Policy
from mcp_actors.protocol.revisions import Era
from mcp_actors.protocol.states import EDGES, State
from mcp_actors.protocol.waiters import Waiters

_CLOSED_BY_US: Final = Ending(EndKind.CLOSED, "the client ended the connection")


class ConnectionMachine:
    """The life of one client connection. Not thread-safe: it belongs to the Connection actor's thread.

    ``ids`` and ``wires`` are counters that outlive the machine, so that no id or wire number is used twice;
    ``random`` gives numbers in [0, 1).
    """

    def __init__(
        self,
        policy: Policy,
        *,
        ids: Iterator[int],
        wires: Iterator[int],
        random: Callable[[], float],
        ever_ready: bool = False,
    ) -> None:
        self._policy = policy
        self._candidates = candidates(policy.protocol)
        self._ids = ids
        self._wires = wires
        self._out: list[Action] = []
        self._introduction: Introduction | None = None
        # What we know of the server's era; `_shy` says that it hung up on the probe.
        self._era: Era | None = None
        self._shy = False
        self._delay: float | None = None
        self._doomed = False
        self.state = State.STARTING
        self.wire: int | None = None
        self.cause: Cause | None = None
        self.waiters = Waiters(self._out)
        self.attempts = Attempts(policy, random, ever_ready=ever_ready)
        self.flow = Flow(policy)
        self.conversation = Conversation(policy, ids, random, self._out)

    def handle(self, event: E.Event) -> list[Action]:
        """One event in, what to do about it out."""
        before = self.state
        after = self.state = TABLE[before][type(event)](self, event)
        out = self._out[:]
        self._out.clear()
        if after is not before:
            assert after in EDGES[before], (before, after)
            # A state's timer dies with the state, so this precedes whatever timer the new state set.
            out[:0] = (
                Transition(before, after, self.cause, self._delay if after is State.BACKOFF else None),
                CancelTimer(E.StateExpired()),
            )
        return out

    def callers(self) -> list[Caller]:
        """Everybody who still waits for an answer."""
        return [*self.waiters, *(flight.caller for flight in self.conversation.pending)]

    @property
    def unsaid(self) -> tuple[Action, ...]:
        """What a cell wanted done before it failed. Empty unless a bug ended `handle`."""
        return tuple(self._out)

    # Cells every state shares.

    def ignore(self, _event: E.Event) -> State:
        return self.state

    def refuse(self, event: E.Called) -> State:
        self._out.append(Reply(event.caller, NotReady(self.state.value, self.cause)))
        return self.state

    def dismiss(self, event: E.Called | E.Awaited) -> State:
        self._out.append(Reply(event.caller, Stopped()))
        return self.state

    def wait(self, event: E.Awaited) -> State:
        if self.attempts.parked:
            self._out.append(Reply(event.caller, Parked(self.attempts.failed_starts, self.cause)))
        else:
            self.waiters.add(event)
        return self.state

    def stop_waiting(self, event: E.WaitExpired) -> State:
        self.waiters.expire(event)
        return self.state

    def cancel(self, event: E.CancelAsked) -> State:
        self.waiters.withdraw(event.caller, event.reason)
        self.conversation.cancel(event.caller, event.reason)
        return self.state

    def sweep(self, _event: E.SweepDue) -> State:
        self.conversation.sweep()
        return self.state

    def ease(self, event: E.LaneEased | E.PauseOver) -> State:
        # PauseOver: waiting did not help, so the lane drops its oldest from now on.
        self.flow.resume(shedding=isinstance(event, E.PauseOver))
        self._out.append(CancelTimer(E.PauseOver()))
        # A wire that is still being opened gets its permits when it is greeted.
        if self.state is State.READY or self._introduction is not None:
            self._replenish()
        return self.state

    # Opening.

    def begin(self, event: E.Begun) -> State:
        # Whoever comes second finds the wire already asked for.
        return self.open(event) if self.wire is None else self.state

    def open(self, _event: E.Begun | E.StateExpired) -> State:
        self.wire = next(self._wires)
        self._out.append(Open(self.wire))
        self._out.append(SetTimer(E.StateExpired(), self._policy.init_timeout))
        return State.STARTING if self.state is State.STARTING else State.INITIALIZING

    def unpark(self, event: E.Begun) -> State:
        if not self.attempts.parked:
            return self.state
        self.attempts.unpark()
        return self.open(event)

    def greet(self, event: E.Opened) -> State:
        if event.wire != self.wire:
            return self.state
        if self.state is State.STARTING:
            self._out.append(SetTimer(E.StateExpired(), self._policy.init_timeout))
        self._introduction = Introduction(
            self._policy, self._candidates, self._ids, self.conversation, self._out
        )
        self._replenish()
        probe = self._era is not Era.HANDSHAKE and not self._shy
        return self._advance(self._introduction.begin(probe=probe), State.INITIALIZING)

    def fall_back(self, _event: E.ProbeExpired) -> State:
        if self._introduction is None:
            return self.state
        return self._advance(self._introduction.silent(), self.state)

    def time_out(self, _event: E.StateExpired) -> State:
        return self._retreat(TimedOut(self._policy.init_timeout))

    # Traffic.

    def deliver(self, event: E.FramesArrived) -> State:
        if event.wire != self.wire:
            return self.state
        self.flow.used()
        return self._hear(self.flow.arrivals.take_in(event, self._out))

    def scanned(self, event: E.Scanned) -> State:
        if event.wire != self.wire:
            return self.state
        self.flow.arrivals.fill(event.place, event.message)
        return self._hear(self.flow.arrivals.ready())

    def call(self, event: E.Called) -> State:
        self.conversation.call(event)
        return self.state

    def notify(self, event: E.Notified) -> State:
        self.conversation.notify(event.method, event.params)
        return self.state

    def welcome(self, event: E.Awaited) -> State:
        if self._doomed:
            return self.wait(event)
        self._out.append(Reply(event.caller, Ready()))
        return self.state

    def expire(self, event: E.RequestExpired) -> State:
        self.conversation.expire(event.id)
        return self.state

    def retry(self, event: E.RetryDue) -> State:
        self.conversation.retry(event.id)
        return self.state

    def refused(self, event: E.SendRefused) -> State:
        self.conversation.refused(event)
        return self.state

    def failed(self, event: E.SendFailed) -> State:
        # The wire's end is still to come, after what the server had said; until then nobody is sent into it.
        self._doomed = True
        self.conversation.failed(event)
        return self.state

    def pause(self, _event: E.LaneFilled) -> State:
        if self.flow.pause() and not self._policy.block:
            self._out.append(SetTimer(E.PauseOver(), self._policy.pause))
        return self.state

    def prosper(self, _event: E.UptimeReached) -> State:
        self.attempts.prospered()
        return self.state

    # Endings.

    def lose(self, event: E.Closed) -> State:
        if event.wire != self.wire:
            return self.state
        self.wire = None
        if self._hung_up_on_probe():
            return self._try_without_probe(event.ending)
        return self._retreat(event.ending)

    def close(self, _event: E.StopAsked) -> State:
        self._forget_wire()
        self.conversation.stop()
        self.waiters.dismiss(Stopped())
        self._out.append(SetTimer(E.StateExpired(), self._policy.drain))
        if self.wire is None:
            self._out[-1:] = [Halt()]
        else:
            self._out.append(CloseWire(self.wire))
        return State.CLOSING

    def finish(self, event: E.Closed) -> State:
        if event.wire == self.wire:
            self.wire = None
            self._out.extend((CancelTimer(E.StateExpired()), Halt()))
        return self.state

    def halt(self, _event: E.StateExpired) -> State:
        # The wire took too long; if it ends after all, nobody is here to be told.
        self.wire = None
        self._out.append(Halt())
        return self.state

    # Steps the cells share.

    def _hear(self, messages: Iterator[jsonrpc.Message]) -> State:
        state = self.state
        for message in messages:
            state = self._understand(message, state)
            if state is State.BACKOFF:
                break
        # What came before the frame that ended the wire is news all the same.
        self.conversation.flush()
        if state is not State.BACKOFF:
            self._replenish()
        return state

    def _understand(self, message: jsonrpc.Message, state: State) -> State:
        if self._introduction is not None and isinstance(message, jsonrpc.Answer | jsonrpc.Failure):
            verdict = self._introduction.receive(message)
            if verdict is not None:
                return self._advance(verdict, state)
        self.conversation.receive(message)
        return state

    def _advance(self, verdict: Verdict, state: State) -> State:
        match verdict:
            case Introduced():
                return self._arrive()
            case Failed(cause):
                return self._retreat(cause)
            case _:
                return state

    def _arrive(self) -> State:
        assert self.conversation.agreement is not None
        self._era = self.conversation.agreement.revision.era
        self._introduction = None
        self.attempts.succeeded()
        self.cause = None
        self._out.append(SetTimer(E.UptimeReached(), self._policy.sustained_uptime))
        self.waiters.dismiss(Ready())
        return State.READY

    def _retreat(self, cause: Cause) -> State:
        """Give the wire up and wait before the next try, or park."""
        self.cause = cause
        if self._introduction is not None:
            # What we believed about the server's era may be why it failed.
            self._era, self._shy = None, False
        self._forget_wire()
        self.conversation.lose(cause if isinstance(cause, Ending) else _CLOSED_BY_US)
        if self.wire is not None:
            self._out.append(CloseWire(self.wire))
            self.wire = None
        self.attempts.failed(cause)
        if self.attempts.parked:
            return self._park()
        self._delay = self.attempts.next_delay()
        self._out.append(SetTimer(E.StateExpired(), self._delay))
        return State.BACKOFF

    def _park(self) -> State:
        self._delay = None
        self.waiters.dismiss(Parked(self.attempts.failed_starts, self.cause))
        return State.BACKOFF

    def _hung_up_on_probe(self) -> bool:
        probing = self._introduction is not None and self._introduction.probing
        return probing and self._era is None and not self._shy and len(self._candidates) > 1

    def _try_without_probe(self, ending: Ending) -> State:
        # Nothing says what a server of the handshake era does with an unknown first request. Some exit.
        self.cause = ending
        self._shy = True
        self._forget_wire()
        self.attempts.failed(ending)
        return self._park() if self.attempts.parked else self.open(E.Begun())

    def _forget_wire(self) -> None:
        if self._introduction is not None:
            self._introduction.abandon()
            self._introduction = None
        self._doomed = False
        self.flow.restart()
        self._out.extend((CancelTimer(E.UptimeReached()), CancelTimer(E.PauseOver())))

    def _replenish(self) -> None:
        n = self.flow.grant()
        if n:
            self._out.append(Permit(n))


Cell: TypeAlias = Callable[[ConnectionMachine, Any], State]
C = ConnectionMachine

# One row per event, one column per state. Absent from the table = impossible.
# fmt: off
_GRID: Final[tuple[tuple[type, Cell, Cell, Cell, Cell, Cell], ...]] = (
    # event           starting        initializing    ready           backoff         closing
    (E.Begun,         C.begin,        C.ignore,       C.ignore,       C.unpark,       C.ignore),
    (E.Opened,        C.greet,        C.greet,        C.ignore,       C.ignore,       C.ignore),
    (E.FramesArrived, C.ignore,       C.deliver,      C.deliver,      C.ignore,       C.ignore),
    (E.Scanned,       C.ignore,       C.scanned,      C.scanned,      C.ignore,       C.ignore),
    (E.Closed,        C.lose,         C.lose,         C.lose,         C.ignore,       C.finish),
    (E.SendRefused,   C.ignore,       C.ignore,       C.refused,      C.ignore,       C.ignore),
    (E.SendFailed,    C.ignore,       C.ignore,       C.failed,       C.ignore,       C.ignore),
    (E.Called,        C.refuse,       C.refuse,       C.call,         C.refuse,       C.dismiss),
    (E.Awaited,       C.wait,         C.wait,         C.welcome,      C.wait,         C.dismiss),
    (E.CancelAsked,   C.cancel,       C.cancel,       C.cancel,       C.cancel,       C.ignore),
    (E.Notified,      C.ignore,       C.ignore,       C.notify,       C.ignore,       C.ignore),
    (E.StopAsked,     C.close,        C.close,        C.close,        C.close,        C.ignore),
    (E.LaneFilled,    C.ignore,       C.pause,        C.pause,        C.ignore,       C.ignore),
    (E.LaneEased,     C.ease,         C.ease,         C.ease,         C.ease,         C.ignore),
    (E.PauseOver,     C.ignore,       C.ease,         C.ease,         C.ignore,       C.ignore),
    (E.StateExpired,  C.time_out,     C.time_out,     C.ignore,       C.open,         C.halt),
    (E.ProbeExpired,  C.ignore,       C.fall_back,    C.ignore,       C.ignore,       C.ignore),
    (E.RequestExpired, C.ignore,      C.ignore,       C.expire,       C.ignore,       C.ignore),
    (E.RetryDue,      C.ignore,       C.ignore,       C.retry,        C.ignore,       C.ignore),
    (E.WaitExpired,   C.stop_waiting, C.stop_waiting, C.stop_waiting, C.stop_waiting, C.ignore),
    (E.UptimeReached, C.ignore,       C.ignore,       C.prosper,      C.ignore,       C.ignore),
    (E.SweepDue,      C.sweep,        C.sweep,        C.sweep,        C.sweep,        C.ignore),
)
# fmt: on

TABLE: Final[Mapping[State, Mapping[type, Cell]]] = {
    state: {row[0]: row[column] for row in _GRID} for column, state in enumerate(State, start=1)
}
