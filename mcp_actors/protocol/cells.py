"""What the client machine does: one method for each cell of its table, and the steps that cells share.

A cell appends actions and returns the next state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from mcp_actors.protocol import events as E
from mcp_actors.protocol import jsonrpc
from mcp_actors.protocol.actions import (
    Action,
    CancelTimer,
    CloseWire,
    Halt,
    Missed,
    Open,
    Permit,
    Reply,
    SetTimer,
)
from mcp_actors.protocol.attempts import Attempts
from mcp_actors.protocol.conversation import Conversation
from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.protocol.flow import Flow
from mcp_actors.protocol.handshake import Failed, candidates
from mcp_actors.protocol.introduction import Introduced, Introduction, Verdict
from mcp_actors.protocol.outcomes import Cause, Parked, Ready, Stopped, TimedOut
from mcp_actors.protocol.policy import Policy
from mcp_actors.protocol.pulse import Beat, Pulse, silence
from mcp_actors.protocol.reception import Reception
from mcp_actors.protocol.revisions import Era
from mcp_actors.protocol.standing import Standing
from mcp_actors.protocol.states import State
from mcp_actors.protocol.waiters import Waiters

_CLOSED_BY_US: Final = Ending(EndKind.CLOSED, "the client ended the connection")


class Cells(Reception):
    """The members of the machine and everything that happens to them.

    ``ids`` and ``wires`` are counters that outlive the machine, so that no id or wire number is used twice;
    ``standing`` outlives it, too, so that nothing agreed is forgotten; ``random`` gives numbers in [0, 1).
    """

    def __init__(
        self,
        policy: Policy,
        *,
        ids: Iterator[int],
        wires: Iterator[int],
        random: Callable[[], float],
        standing: Standing | None = None,
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
        self.pulse = Pulse(policy.keep_alive_misses)
        self.conversation = Conversation(policy, ids, random, self._out, standing or Standing())

    # Cells every state shares.

    def ignore(self, _event: E.Event) -> State:
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
        # Before it was opened, the end of an earlier wire may have been waited for: no fault of this server.
        self._out.append(SetTimer(E.StateExpired(), self._policy.init_timeout))
        self._introduction = Introduction(
            self._policy,
            self._candidates,
            self._ids,
            self.conversation,
            self._out,
            session=event.wire,
            again=self.attempts.ever_ready,
        )
        self._replenish()
        probe = self._era is not Era.HANDSHAKE and not self._shy
        return self._advance(self._introduction.begin(probe=probe), State.INITIALIZING)

    def fall_back(self, _event: E.ProbeExpired) -> State:
        if self._introduction is None:
            return self.state
        return self._advance(self._introduction.silent(), self.state)

    def time_out(self, _event: E.StateExpired) -> State:
        return self._retreat(TimedOut(self._policy.init_timeout, self._hindrance))

    # Traffic.

    def deliver(self, event: E.FramesArrived) -> State:
        if event.wire != self.wire:
            return self.state
        self.flow.used()
        self.pulse.heard = True
        return self._hear(self.flow.arrivals.take_in(event, self._out))

    def scanned(self, event: E.Scanned) -> State:
        if event.wire != self.wire:
            return self.state
        self.flow.arrivals.fill(event.place, event.message)
        return self._hear(self.flow.arrivals.ready())

    def settle(self, event: E.AnswerFetched) -> State:
        if event.wire != self.wire:
            return self.state
        self.pulse.heard = True
        # Others may be held up behind a large frame; an answer that came by a way of its own is not.
        return self._hear(iter((event.message,)))

    def miss(self, event: E.NewsMissed) -> State:
        # Whoever is only being introduced hears of it at the end of that.
        if event.wire == self.wire:
            self._out.append(Missed(event.reason))
        return self.state

    def call(self, event: E.Called) -> State:
        self.conversation.call(event)
        return self.state

    def depart(self, event: E.Departed) -> State:
        if event.wire != self.wire:
            return self.strand(event)
        self.conversation.depart(event)
        return self.state

    def call_together(self, event: E.CalledTogether) -> State:
        self.conversation.call_together(event)
        return self.state

    def serve(self, event: E.Served) -> State:
        if event.wire == self.wire:
            self.conversation.serve(event.id, event.frame)
        return self.state

    def listen(self, _event: E.NewsWanted | E.ListenDue) -> State:
        self.conversation.listen()
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

    def lose_one(self, event: E.ExchangeLost) -> State:
        if event.wire != self.wire:
            return self.state
        if self._introduction is not None and self._introduction.asks(event.id):
            return self._retreat(event.ending)
        self.conversation.lose_one(event)
        if self._introduction is not None:
            return self._advance(self._introduction.overheard(), self.state)
        return self.state

    def pause(self, _event: E.LaneFilled) -> State:
        if self.flow.pause() and not self._policy.block:
            self._out.append(SetTimer(E.PauseOver(), self._policy.pause))
        return self.state

    def feel_pulse(self, _event: E.PulseDue) -> State:
        assert self._policy.keep_alive is not None
        # Without a permit out nothing can be heard.
        deaf = self.flow.outstanding == 0
        beat = self.pulse.beat(busy=deaf or len(self.conversation.pending) > 0)
        if beat is Beat.DEAD:
            return self._retreat(silence(self._policy.keep_alive_misses, self._policy.keep_alive))
        if beat is Beat.ASK:
            self.conversation.ask_for_life()
        self._out.append(SetTimer(E.PulseDue(), self._policy.keep_alive))
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
        state, receive = self.state, self.conversation.receive
        for message in messages:
            if isinstance(message, jsonrpc.Batch):
                state = self._hear_all(message, state)
            elif self._introduction is None:
                # As `_understand` would, for the many that come once the wire is ready.
                receive(message)
            else:
                state = self._understand(message, state)
            if state is State.BACKOFF:
                break
        # What came before the frame that ended the wire is news all the same.
        self.conversation.flush()
        if state is not State.BACKOFF:
            self._replenish()
        return state

    def _hear_all(self, batch: jsonrpc.Batch, state: State) -> State:
        for message in self.conversation.unpack(batch):
            if state is not State.BACKOFF:
                state = self._understand(message, state)
        return state

    def _understand(self, message: jsonrpc.Single, state: State) -> State:
        introduction = self._introduction
        if introduction is None:
            self.conversation.receive(message)
            return state
        if isinstance(message, jsonrpc.Answer | jsonrpc.Failure):
            verdict = introduction.receive(message)
            if verdict is not None:
                return self._advance(verdict, state)
        self.conversation.receive(message)
        return self._advance(introduction.overheard(), state)

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
        revision = self.conversation.agreement.revision
        self._era = revision.era
        self._introduction = None
        self.attempts.succeeded()
        self.cause = None
        self._out.append(SetTimer(E.UptimeReached(), self._policy.sustained_uptime))
        self.pulse.restart()
        if self._policy.keep_alive is not None and revision.has_ping:
            self._out.append(SetTimer(E.PulseDue(), self._policy.keep_alive))
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
        for timer in (E.UptimeReached(), E.PauseOver(), E.PulseDue()):
            self._out.append(CancelTimer(timer))

    def _replenish(self) -> None:
        n = self.flow.grant()
        if n:
            self._out.append(Permit(n))
