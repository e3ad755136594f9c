"""A shell and a toy world around the client machine: it carries actions out and notes what looks wrong."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from itertools import count, cycle
from typing import Any, Literal

from mcp_actors.protocol import actions as A
from mcp_actors.protocol import events as E
from mcp_actors.protocol import jsonrpc
from mcp_actors.protocol.backlog import Backlog
from mcp_actors.protocol.connection import ConnectionMachine
from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.protocol.insistence import INSISTED
from mcp_actors.protocol.pending import Caller
from mcp_actors.protocol.policy import Policy
from mcp_actors.protocol.standing import Standing
from mcp_actors.protocol.states import State
from tests.protocol.machine_history import History
from tests.protocol.machine_wire import CANCELLED, Duty, Speech, ToyWire

GONE = Ending(EndKind.BROKEN, "the toy wire broke")
LOST = "the connection was lost"


class Model:
    """Feeds events, performs actions, and keeps the history that the invariants judge."""

    def __init__(self, policy: Policy, standing: Standing, *, ever_ready: bool = False) -> None:
        self.policy = policy
        self.history = History(standing)
        spread = cycle((0.0, 0.5, 0.999)).__next__
        self.ids = count(1)
        self.under_way: list[E.Departed] = []
        self.machine = ConnectionMachine(
            policy, ids=self.ids, wires=count(1), random=spread, standing=standing, ever_ready=ever_ready
        )
        self.state = State.STARTING
        self.ever_ready = ever_ready
        self.wires: dict[int, ToyWire] = {}
        self.wire: ToyWire | None = None
        self.agreed_on: ToyWire | None = None
        self.mood = "taking"
        self.timers: dict[E.Timer, float] = {}
        self.lane = Backlog(4, drop=not policy.block)
        self.lane_was_full = False
        self.heard = False
        self.quiet = 0
        self.halts = 0
        self._queue: deque[E.Event] = deque()
        self._serials = count(1)

    # Events in.

    def feed(self, event: E.Event) -> list[A.Action]:
        """One event, and whatever the world answers to its actions at once. Returns the first actions."""
        first: list[A.Action] | None = None
        self._queue.append(event)
        while self._queue:
            event = self._queue.popleft()
            self._expect(event)
            actions = self.machine.handle(event)
            self._judge(event, actions)
            first = actions if first is None else first
            for action in actions:
                self._perform(action)
        assert first is not None
        return first

    def call(self, *, method: str = "tools/call", progress: bool = False, **params: Any) -> None:
        """A new caller asks for something."""
        self.feed(self.called(method, progress=progress, **params))

    def called(self, method: str, *, progress: bool = False, **params: Any) -> E.Called:
        """What a new caller asks for."""
        history = self.history
        caller = f"caller {len(history.replies)}"
        history.replies[caller] = []
        history.wishes[caller] = (method, params)
        meta = json.dumps({"caller": caller}).encode()
        return E.Called(caller, method, json.dumps(params).encode(), meta, 30.0, progress)

    def set_out(self, method: str) -> None:
        """A caller's own thread begins an exchange. The machine has yet to hear of it."""
        wire, talk, id_ = self.wire, self.machine.conversation, next(self.ids)
        assert wire is not None
        assert talk.envelopes is not None
        caller = f"departed {id_}"
        called = E.Called(caller, method, b"{}", json.dumps({"caller": caller}).encode(), 30.0)
        frame = talk.envelopes.call(id_, called, talk.standing.level)
        self.under_way.append(E.Departed(caller, id_, wire.number, method, frame, 30.0))

    def hear_of_departure(self, n: int = -1) -> None:
        """The machine hears of it, whatever has happened meanwhile."""
        event, history = self.under_way.pop(n), self.history
        history.replies[event.caller] = []
        history.wishes[event.caller] = (event.method, {})
        goes_on = self.state is State.READY and self.wire is self.wires[event.wire]
        noted = any(isinstance(action, A.Underway) for action in self.feed(event))
        history.note("a departure misjudged", event, noted != goes_on)
        unsent = event.id in self.wires[event.wire].unsent
        denied = any(getattr(one, "outcome", "") == "not_sent" for one in history.replies[event.caller])
        history.note("said not to be sent", event, denied and not unsent)

    def wait(self) -> Caller:
        """A new caller waits until the connection is ready."""
        caller = f"waiter {len(self.history.replies)}"
        self.history.replies[caller] = []
        self.feed(E.Awaited(caller, 5.0))
        return caller

    def open(self) -> None:
        """The wire asked for can be written."""
        assert self.wire is not None
        self.wire.opened = True
        self.feed(E.Opened(self.wire.number))

    def end(self, wire: ToyWire, ending: Ending) -> list[A.Action]:
        """A wire ends; its transport says so once."""
        wire.ended, wire.unsent = True, ending.unsent
        if wire is self.wire:
            self.wire = None
        return self.feed(E.Closed(wire.number, ending))

    def lose_one(self, id_: int, outcome: Literal["unknown", "not_sent"]) -> None:
        """A wire with an exchange for each request loses one of them."""
        wire = self.wire
        assert wire is not None
        self.feed(E.ExchangeLost(wire.number, id_, GONE, outcome))
        wire.pings.discard(id_)
        if id_ in wire.streaming:
            wire.streams[id_].over = True

    def expire(self, timer: E.Timer) -> None:
        """A timer that was set is due."""
        del self.timers[timer]
        self.feed(timer)

    def deliver(self, speeches: Sequence[Speech]) -> None:
        """The server's frames arrive in one delivery."""
        wire = self.wire
        assert wire is not None
        assert wire.permits > 0
        wire.permits -= 1
        wire.line.extend(speeches)
        for speech in speeches:
            wire.speak(speech.frame)
        self.heard = True
        self.feed(E.FramesArrived(wire.number, tuple(speech.frame for speech in speeches)))
        self._hold_to_account(wire)

    def fetch(self, frame: bytes) -> None:
        """A caller's own thread brings the answer to its request."""
        wire = self.wire
        assert wire is not None
        wire.speak(frame)
        self.heard = True
        message = jsonrpc.scan(frame)
        self.feed(E.AnswerFetched(wire.number, frame, message))
        caller = self.history.owners.get(getattr(message, "id", None) or 0)
        self.history.note("a fetched answer waits", caller, caller in self.history.unanswered())

    def scan(self, wire: ToyWire, n: int) -> None:
        """The pool finishes one of the scans of the wire in use."""
        scan = wire.scans.pop(n % len(wire.scans))
        self.feed(E.Scanned(wire.number, scan.place, jsonrpc.scan(scan.frame)))
        self._hold_to_account(wire)

    def serve(self, duty: Duty) -> None:
        """The desk has an answer, whether or not anybody still wants it."""
        if duty.state == "open" and self.wire is not None and self.wire.number == duty.wire:
            duty.state = "answered"
        frame = jsonrpc.result_frame(duty.id, json.dumps({"serial": duty.serial}).encode())
        self.feed(E.Served(duty.wire, duty.id, frame))

    def handle_news(self, n: int) -> None:
        """The handlers work off part of their lane."""
        for _ in range(n):
            self.lane.pop()
        if self.lane_was_full and self.lane.eased:
            self.lane_was_full = False
            self.feed(E.LaneEased())

    def serial(self) -> int:
        """A number for the next notification, so that each can be told from the others."""
        return next(self._serials)

    def _hold_to_account(self, wire: ToyWire) -> None:
        waiting = {id(scan.frame) for scan in wire.scans}
        while wire.line and id(wire.line[0].frame) not in waiting:
            speech = wire.line.popleft()
            # An answer may end the handshake and the wire; what came after it is then nobody's.
            if speech.introduces and not wire.live:
                return
            wire.understood(speech)
            self.history.promised.extend(speech.news)

    # What one event must lead to.

    def _expect(self, event: E.Event) -> None:
        if isinstance(event, E.PulseDue):
            deaf = self.wire is None or not self.wire.permits
            idle = not (deaf or self.heard or self.history.calls())
            self.quiet = self.quiet + 1 if idle else 0
            self.heard = False

    def _judge(self, event: E.Event, actions: list[A.Action]) -> None:
        note = self.history.note
        if isinstance(event, E.PulseDue):
            dead = self.machine.state is State.BACKOFF
            note("a pulse misjudged", self.quiet, dead != (self.quiet > self.policy.keep_alive_misses))
        ready = self.machine.state is State.READY is not self.state
        said = [action for action in actions if isinstance(action, A.Missed) and action.reason == LOST]
        note("a gap told wrongly", said, len(said) != (ready and self.ever_ready))
        if ready:
            assert self.wire is not None
            assert self.machine.conversation.agreement is not None
            stateless = self.machine.conversation.agreement.revision.stateless
            forgotten = self.history.forgotten(self.wire, streams=stateless)
            note("not asked for again", forgotten, bool(forgotten) and self.ever_ready)
            self.ever_ready, self.heard, self.quiet = True, False, 0

    # Actions out.

    def _perform(self, action: A.Action) -> None:
        self.history.note("after the halt", action, self.halts > 0 and not isinstance(action, A.Reply))
        match action:
            case A.Send(data, token):
                self._send(data, token)
            case A.SendTogether(frames):
                self._send_together(frames)
            case A.Open() | A.CloseWire() | A.Permit() | A.Scan() | A.Serve() | A.Underway():
                self._work_the_wire(action)
            case A.Reply(caller, outcome):
                self.history.reply(self.wire, caller, outcome)
            case A.Dispatch(notifications):
                self._dispatch(notifications)
            case A.SetTimer(event, seconds):
                self.timers[event] = seconds
            case A.CancelTimer(event):
                self.timers.pop(event, None)
            case _:
                self._take_note(action)

    def _work_the_wire(self, action: A.Open | A.CloseWire | A.Permit | A.Scan | A.Serve | A.Underway) -> None:
        match action:
            case A.Underway(data, id_):
                assert self.wire is not None
                self.history.lent.add(id_)
                self.history.ask(self.wire, json.loads(data), written=True)
            case A.Open(number):
                leak = self.wire is not None and not self.wire.told_to_close
                self.history.note("a wire forgotten", number, leak)
                self.wire = self.wires[number] = ToyWire(number)
                self.mood = "taking"
            case A.CloseWire(number):
                self.wires[number].told_to_close = True
                self.wire = None if self.state is not State.CLOSING else self.wire
            case A.Permit(n):
                self._permit(n)
            case A.Scan(number, _, _):
                self.wires[number].scans.append(action)
            case A.Serve(request):
                assert self.wire is not None
                duty = Duty(self.wire.number, request.id, self.serial())
                self.wire.duties.append(duty)
                self.history.duties[duty.serial] = duty

    def _take_note(self, action: A.Action) -> None:
        match action:
            case A.Transition(before, after):
                self.history.note("a jump", action, before is not self.state)
                self.state = after
            case A.Agreed():
                self.agreed_on = self.wire
            case A.Missed(_, lost):
                self.history.lose(lost)
            case A.Unmatched(id_) if self.wire is not None:
                self.wire.unmatched[id_] += 1
            case A.Progress(caller, _):
                self.history.note("progress after the end", caller, bool(self.history.replies[caller]))
            case A.Halt():
                self.halts += 1

    def _permit(self, n: int) -> None:
        wire = self.wire
        closed = wire is None or not wire.opened or self.state in (State.BACKOFF, State.CLOSING)
        self.history.note("misplaced permit", (self.state, n), closed or n < 1)
        if wire is not None:
            wire.permits += n

    def _send_together(self, frames: tuple[tuple[int, bytes], ...]) -> None:
        agreement = self.machine.conversation.agreement
        understood = agreement is not None and agreement.revision.has_batching
        self.history.note("a strange array", frames, len(frames) < 2 or not understood)
        for token, data in frames:
            self._send(data, token)

    def _send(self, data: bytes, token: int | None) -> None:
        wire = self.wire
        if wire is None or not wire.opened or wire.told_to_close:
            self.history.note("sent without a wire", data, True)
            return
        # Where there is no token, a frame that is not written is dropped without a word.
        mood = "gone" if wire.broken else self.mood
        if mood == "busy" and token is not None:
            self._queue.append(E.SendRefused(token, data))
        elif mood == "gone" and token is not None:
            wire.broken = True
            self._queue.append(E.SendFailed(token, GONE))
        self._read(wire, json.loads(data), mood == "taking", again=mood == "busy" and token is not None)

    def _read(self, wire: ToyWire, message: dict[str, Any], written: bool, *, again: bool) -> None:
        if "id" in message and "method" in message:
            self.history.ask(wire, message, written=written)
            self.history.refused |= {message["id"]} if again else set()
        elif "id" in message and written:
            self.history.answer(wire, message)
        elif message.get("method") == CANCELLED and not again and not wire.broken:
            self.history.take_back(wire, message["params"]["requestId"])

    def _dispatch(self, notifications: tuple[jsonrpc.Notification, ...]) -> None:
        for item in notifications:
            assert item.params is not None
            self.history.dispatched.append(json.loads(bytes(item.params))["n"])
        if self.lane.push(notifications):
            self.lane_was_full = True
            self._queue.append(E.LaneFilled())

    # What the invariants ask.

    @property
    def insisting(self) -> bool:
        """Frames of the machine's own wait for a busy wire."""
        return E.RetryDue(INSISTED) in self.timers

    def held_back(self) -> bool:
        """Permits are withheld for a good reason."""
        flow, policy = self.machine.flow, self.policy
        scanning = flow.arrivals.scanning >= policy.max_scanning
        return flow.paused or scanning or flow.arrivals.held_bytes > policy.max_held_bytes

    def timers_of(self, kind: type[E.RequestExpired] | type[E.RetryDue]) -> set[int]:
        """The ids with a timer of this kind."""
        return {timer.id for timer in self.timers if isinstance(timer, kind)}

    def snapshot(self) -> tuple[object, ...]:
        """Everything an old wire must not change."""
        machine, flow, talk = self.machine, self.machine.flow, self.machine.conversation
        flights = [(flight.id, flight.refused) for flight in talk.pending]
        moving = (flow.outstanding, flow.paused, flow.shedding, len(flow.arrivals))
        kept = (len(talk.tombstones), len(talk.duties), talk.subscriptions.streams, list(talk.standing.uris))
        return (machine.state, machine.wire, flights, list(machine.waiters), moving, kept, machine.cause)
