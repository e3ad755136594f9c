"""The Connection actor: the machine's shell. It carries out actions and decides nothing."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any, Final

from mcp_actors.client.cache import OUTDATING
from mcp_actors.client.departures import Departures
from mcp_actors.client.failures import describe
from mcp_actors.client.futures import FutureCaller
from mcp_actors.client.notifications import GapNoticed, decoded
from mcp_actors.client.serving import Serving
from mcp_actors.client.spans import Spans
from mcp_actors.client.wiring import Wiring
from mcp_actors.protocol import actions as A
from mcp_actors.protocol import events as E
from mcp_actors.protocol import jsonrpc
from mcp_actors.protocol.backlog import Backlog
from mcp_actors.protocol.connection import ConnectionMachine
from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.protocol.outcomes import CallOutcome, Lost, Stopped
from mcp_actors.protocol.states import State
from mcp_actors.runtime.actor import Actor
from mcp_actors.runtime.lane import Lane
from mcp_actors.runtime.mailbox import TimerFired
from mcp_actors.runtime.ref import Crashed, Reason, Ref
from mcp_actors.runtime.tasks import Done, Finished, Run
from mcp_actors.telemetry import events as T
from mcp_actors.telemetry.logs import logger_for
from mcp_actors.transports.actor import Close, Open
from mcp_actors.transports.contract import Authorizes, SendVerdict

#: Two deliveries may be on their way when the lane says that it is full.
_RESERVE: Final = 0.25
_METHOD: Final = attrgetter("method")
_UPDATED: Final = "notifications/resources/updated"
_GONE: Final = Ending(EndKind.BROKEN, "the connection closed before the request was written")


class ConnectionActor(Actor):
    """Everything in here runs on this actor's thread, except `undelivered`."""

    patient = True

    def __init__(self, wiring: Wiring, *, transport: Ref, pool: Ref, **actor: Any) -> None:
        super().__init__(**actor)
        self._wiring = wiring
        self._board = wiring.board
        self._bus = wiring.bus
        self._links = wiring.links
        self._transport = transport
        self._pool = pool
        self._log = logger_for(wiring.name)
        self._spans = Spans(wiring.bus, wiring.name)
        self._followups: deque[E.Event] = deque()
        # What the machine wanted done and is not done yet.
        self._actions: Iterator[A.Action] = iter(())
        self._arrived = False
        self._replies: deque[A.Reply] = deque()
        self._scans: dict[tuple[int, int], bytes] = {}
        self._serving = Serving(wiring.desk, pool, self.ref)
        self.backlog = Backlog(drop=not wiring.policy.block, reserve=_RESERVE)
        self.lane = Lane(pool, self.backlog, wiring.handlers.hear, self._eased, f"{wiring.name} handlers")
        self.machine = ConnectionMachine(
            wiring.policy,
            ids=wiring.ids,
            wires=wiring.wires,
            random=wiring.random,
            standing=wiring.standing,
            ever_ready=wiring.board.ever_ready,
        )
        self._board.machine, self._board.lane, self._board.backlog = self.machine, self.lane, self.backlog
        self._perform = self._performers()

    def init(self) -> None:
        self._wiring.settlements.resume(self._pool)
        # A new incarnation never inherits a half-read stream: the transport closes the old wire first.
        # While the client is being closed no server is started any more.
        if not self._wiring.closing:
            self.handle(E.Begun())

    def _performers(self) -> dict[type, Callable[[Any], None]]:
        return {
            A.Open: self._open,
            A.CloseWire: self._close_wire,
            A.Permit: self._permit,
            A.Send: self._send,
            A.SendTogether: self._send_together,
            A.Underway: self._underway,
            A.Serve: self._serve,
            A.Reply: self._replies.append,
            A.Progress: self._progress,
            A.Dispatch: self._dispatch,
            A.Scan: self._scan,
            A.SetTimer: self._set_timer,
            A.CancelTimer: self._cancel_timer,
            A.BreakOff: self._break_off,
            A.Agreed: self._agreed,
            A.Relisted: self._relisted,
            A.Missed: self._missed,
            A.Transition: self._transition,
            A.Violation: self._violation,
            A.Unmatched: self._unmatched,
            A.Halt: self._halt,
        }

    def handle(self, message: Any) -> object:
        event = self._event(message)
        perform = self._perform
        self._actions = iter(self.machine.handle(event))
        for action in self._actions:
            perform[type(action)](action)
        while self._followups:
            self._actions = iter(self.machine.handle(self._followups.popleft()))
            for action in self._actions:
                perform[type(action)](action)
        if self._arrived:
            self._let_callers_in()
        # Answers go out last: a caller that wakes up finds the GIL free that much sooner.
        while self._replies:
            self._answer(self._replies.popleft())
        if type(message) is E.NewsWanted and self._board.departures is not None:
            self._board.departures.go_on(message)
        return None

    def terminate(self, reason: Reason) -> None:
        """Whoever still waits gets an answer, also when a bug ended this actor."""
        # For the machine these calls are over: nobody else knows of them any more.
        undone = (*self._replies, *self._actions, *self.machine.unsaid)
        for action in undone:
            if isinstance(action, A.Reply):
                self._answer(action)
        self.lane.close()
        self._board.departures = None
        if self._wiring.closing:
            self._wiring.halted.set(None)
        else:
            # Until the next incarnation has got somewhere.
            self._board.state = State.STARTING
        waiting = set(self.machine.waiters)
        for caller in self.machine.callers():
            outcome = "not_sent" if caller in waiting else "unknown"
            self._answer(A.Reply(caller, self._farewell(reason, outcome)))

    def undelivered(self, message: Any) -> None:
        """A request that came too late was certainly not sent, unless by its caller. Any thread."""
        if isinstance(message, E.Called | E.Departed | E.Awaited):
            outcome = "unknown" if isinstance(message, E.Departed) else "not_sent"
            message.caller.set(self._farewell(self.ref.reason, outcome))  # type: ignore[attr-defined]
        elif isinstance(message, E.CalledTogether):
            for call in message.calls:
                self.undelivered(call)
        elif isinstance(message, E.StopAsked):
            self._wiring.halted.set(None)

    def _farewell(self, reason: Reason | None, outcome: Any) -> CallOutcome:
        if self._wiring.closing:
            return Stopped()
        why = f": {type(reason.error).__name__}: {reason.error}" if isinstance(reason, Crashed) else ""
        return Lost(Ending(EndKind.BROKEN, f"this client had to restart a part of itself{why}"), outcome)

    def _event(self, message: Any) -> E.Event:
        """What the machine calls this message; what is published about the wire is published on the way."""
        kind = type(message)
        if kind is E.FramesArrived:
            self._received(message.frames)
        elif kind is TimerFired:
            return message.key  # type: ignore[no-any-return]  # every key we set is a timer event
        elif kind is Finished:
            return self._scanned(message)
        elif kind is E.AnswerFetched:
            self._received((message.frame,))
        elif kind is E.Opened:
            self._board.opened(self._links.of(message.wire))
        elif kind is E.Closed:
            self._board.ended(message.ending)
        return message  # type: ignore[no-any-return]  # the rest are the machine's own events

    def _received(self, frames: tuple[bytes, ...]) -> None:
        log = self._board.frames
        # The log keeps the last few; the others of a full delivery would only push each other out.
        for frame in frames[-5:]:
            log.received(frame)
        if self._bus.active:
            size = sum(map(len, frames))
            self._bus.emit(T.TransportIo(self._wiring.name, "in", len(frames), size))

    # The wire.

    def _open(self, action: A.Open) -> None:
        options = self._wiring.options
        self._transport.tell(Open(action.wire, self.ref, options.window, options.frames_per_permit))

    def _close_wire(self, action: A.CloseWire) -> None:
        self._transport.tell(Close(action.wire))

    def _permit(self, action: A.Permit) -> None:
        if self._board.link is not None:
            self._board.link.permits.grant(action.n)

    def _send(self, action: A.Send) -> None:
        frame, token = action.frame, action.token
        if self._bus.active:
            self._announce(frame, token)
        link = self._board.link
        verdict = SendVerdict.CLOSED if link is None else link.send(frame, token)
        if verdict is SendVerdict.SENT:
            self._board.frames.sent(frame)
        elif verdict is SendVerdict.QUEUED:
            self._board.frames.sent(frame)
            assert link is not None
            link.flush()
        elif token is not None:
            busy = verdict is SendVerdict.BUSY
            self._followups.append(E.SendRefused(token, frame) if busy else E.SendFailed(token, _GONE))

    def _underway(self, action: A.Underway) -> None:
        if self._bus.active:
            self._announce(action.frame, action.token, action.began)
        self._board.frames.sent(action.frame)

    def _send_together(self, action: A.SendTogether) -> None:
        # What does not go out as one goes out piece by piece, by the way of every refused frame.
        frame = b"[%s]" % b",".join(frame for _, frame in action.frames)
        link = self._board.link
        verdict = SendVerdict.CLOSED if link is None else link.send(frame, action.frames[0][0])
        if self._bus.active:
            for token, part in action.frames:
                self._announce(part, token)
        if verdict in (SendVerdict.SENT, SendVerdict.QUEUED):
            self._board.frames.sent(frame)
            if verdict is SendVerdict.QUEUED and link is not None:
                link.flush()
            return
        busy = verdict is SendVerdict.BUSY
        for token, part in action.frames:
            self._followups.append(E.SendRefused(token, part) if busy else E.SendFailed(token, _GONE))

    def _serve(self, action: A.Serve) -> None:
        wire, agreement = self.machine.wire, self.machine.conversation.agreement
        assert wire is not None
        assert agreement is not None
        self._serving.serve(wire, action.request, agreement.revision)

    def _announce(self, frame: bytes, token: int | None, began: float | None = None) -> None:
        self._bus.emit(T.TransportIo(self._wiring.name, "out", 1, len(frame)))
        flight = self.machine.conversation.pending.get(token)
        if flight is not None and flight.attempts == 1:
            self._spans.begin(flight, began)

    # The callers.

    def _answer(self, action: A.Reply) -> None:
        self._spans.end(action.caller, action.outcome)
        action.caller.set(action.outcome)  # type: ignore[attr-defined]  # our callers are slots

    def _break_off(self, _action: A.BreakOff) -> None:
        transport = self._wiring.transport
        if isinstance(transport, Authorizes):
            transport.break_off()

    def _progress(self, action: A.Progress) -> None:
        caller: Any = action.caller
        if isinstance(caller, FutureCaller):
            self._offer((caller.directed(action.params),))
        else:
            caller.offer(action.params)

    # The handlers.

    def _dispatch(self, action: A.Dispatch) -> None:
        if self._bus.active:
            for notification in action.notifications:
                self._bus.emit(T.NotificationReceived(self._wiring.name, notification.method))
        self._outdate(action.notifications)
        if self._wiring.handlers:
            self._offer(action.notifications)
        else:
            self._board.unheard += len(action.notifications)

    def _outdate(self, notifications: tuple[jsonrpc.Notification, ...]) -> None:
        """What the cache must not give out any more. Here, not on the lane: handlers may be slow."""
        if OUTDATING.keys().isdisjoint(map(_METHOD, notifications)):
            return  # nearly always, and in a flood it counts
        for notification in notifications:
            method = notification.method
            if method in OUTDATING:
                uri = decoded(notification).get("uri") if method == _UPDATED else None
                self._wiring.cache.heard(method, uri if isinstance(uri, str) else None)

    def _missed(self, action: A.Missed) -> None:
        self._log.debug("! news may have been missed: %s", action.reason)
        self._wiring.cache.clear()
        if self._wiring.handlers:
            self._offer((GapNoticed.of(action.reason, action.lost),))

    def _offer(self, notifications: tuple[jsonrpc.Notification, ...]) -> None:
        dropped, merged = self.backlog.dropped, self.backlog.merged
        if self.lane.offer(notifications):
            self._followups.append(E.LaneFilled())
        if self.backlog.dropped > dropped:
            self._warn_of_drops(self.backlog.dropped - dropped, self.backlog.merged - merged, dropped == 0)

    def _warn_of_drops(self, dropped: int, merged: int, first: bool) -> None:
        level = logging.WARNING if first else logging.DEBUG
        self._log.log(level, "! handlers do not keep up: %d notifications dropped", dropped)
        if self._bus.active:
            self._bus.emit(T.NotificationsDropped(self._wiring.name, dropped, merged))

    def _eased(self) -> None:
        """On a worker's thread."""
        self.ref.tell(E.LaneEased())

    # Large frames.

    def _scan(self, action: A.Scan) -> None:
        key = (action.wire, action.place)
        self._scans[key] = frame = action.frame
        if not self._pool.tell(Run(key, lambda: jsonrpc.scan(frame), self.ref)):
            self._followups.append(E.Scanned(action.wire, action.place, jsonrpc.scan(self._scans.pop(key))))

    def _scanned(self, finished: Finished) -> E.Event:
        key: Any = finished.task_id
        frame = self._scans.pop(key)
        wire, place = key
        outcome = finished.outcome
        # A pool that is full or stopping has not scanned it; the frame is not lost for that.
        message: Any = outcome.value if isinstance(outcome, Done) else jsonrpc.scan(frame)
        return E.Scanned(wire, place, message)

    # Timers and news.

    def _set_timer(self, action: A.SetTimer) -> None:
        self.set_timer(action.event, action.seconds)

    def _cancel_timer(self, action: A.CancelTimer) -> None:
        self.cancel_timer(action.event)

    def _agreed(self, action: A.Agreed) -> None:
        self._board.agreement = action.agreement

    def _relisted(self, action: A.Relisted) -> None:
        self._wiring.relisted(action.method, action.result, action.first)

    def _transition(self, action: A.Transition) -> None:
        board, attempts = self._board, self.machine.attempts
        reason = describe(action.cause)
        board.cause = action.cause
        board.parked = attempts.parked
        board.attempts = attempts.failed_starts
        board.retry_at = None if action.delay is None else time.monotonic() + action.delay
        board.departures = None
        self._arrived = action.after is State.READY
        if self._arrived:
            board.times_ready += 1
        elif action.after is State.BACKOFF:
            board.lost(reason)
            self._wiring.cache.clear()
        # Last, because whoever sees the new state may look at the rest.
        board.state = action.after
        level = logging.WARNING if action.after is State.BACKOFF else logging.DEBUG
        self._log.log(level, "= %s -> %s %s", action.before.value, action.after.value, reason)
        if self._bus.active:
            news = (action.before.value, action.after.value, reason)
            self._bus.emit(T.ConnectionTransition(self._wiring.name, *news))

    def _let_callers_in(self) -> None:
        """Where the wire lends, they send their requests themselves, and do not wait for this thread. So only
        when all is on its way that the handshake had to say.
        """
        self._arrived = False
        link, wiring, talk = self._board.link, self._wiring, self.machine.conversation
        if link is not None and link.lend is not None:
            assert talk.envelopes is not None
            ours = (self.ref, link, talk.envelopes, wiring.standing, wiring.ids)
            self._board.departures = Departures(*ours)
        self._board.ever_ready = True

    def _violation(self, action: A.Violation) -> None:
        self._board.violations += 1
        self._log.debug("! %s: %r", action.kind, action.detail)
        if self._bus.active:
            self._bus.emit(T.ProtocolViolation(self._wiring.name, action.kind, action.detail))

    def _unmatched(self, action: A.Unmatched) -> None:
        if action.late:
            self._board.late_responses += 1
        else:
            self._board.unknown_responses += 1
        self._log.debug("! nobody waits for answer %r", action.id)
        if self._bus.active:
            self._bus.emit(T.UnknownResponse(self._wiring.name, action.id, action.late))

    def _halt(self, _action: A.Halt) -> None:
        self._wiring.halted.set(None)
