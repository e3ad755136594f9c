"""A shell and a toy world around the client machine: it carries actions out and notes what looks wrong."""

from __future__ import annotations

import json
from collections import Counter, defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count, cycle
from typing import Any

from mcp_actors.protocol import actions as A
from mcp_actors.protocol import events as E
from mcp_actors.protocol import jsonrpc
from mcp_actors.protocol.backlog import Backlog
from mcp_actors.protocol.connection import ConnectionMachine
from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.protocol.outcomes import Completed
from mcp_actors.protocol.pending import Caller
from mcp_actors.protocol.policy import Policy
from mcp_actors.protocol.states import State

GONE = Ending(EndKind.BROKEN, "the toy wire broke")


@dataclass
class Speech:
    """One frame of the toy server, and what the machine owes the world for it."""

    frame: bytes
    news: tuple[int, ...] = ()
    introduces: bool = False


@dataclass
class ToyWire:
    """One wire as a transport sees it."""

    number: int
    opened: bool = False
    broken: bool = False
    told_to_close: bool = False
    ended: bool = False
    permits: int = 0
    question: tuple[int, str] | None = None
    scans: list[A.Scan] = field(default_factory=list)
    line: deque[Speech] = field(default_factory=deque)

    @property
    def live(self) -> bool:
        """It can deliver and be written."""
        return self.opened and not (self.broken or self.told_to_close or self.ended)


class Model:
    """Feeds events, performs actions, and keeps the history that the invariants judge."""

    def __init__(self, policy: Policy, *, ever_ready: bool = False) -> None:
        self.policy = policy
        spread = cycle((0.0, 0.5, 0.999)).__next__
        self.machine = ConnectionMachine(
            policy, ids=count(1), wires=count(1), random=spread, ever_ready=ever_ready
        )
        self.state = State.STARTING
        self.wires: dict[int, ToyWire] = {}
        self.wire: ToyWire | None = None
        self.mood = "taking"
        self.timers: dict[E.Timer, float] = {}
        self.lane = Backlog(4, drop=not policy.block)
        self.lane_was_full = False
        self.replies: dict[Caller, list[object]] = {}
        self.owners: dict[int, Caller] = {}
        self.offered: list[int] = []
        self.refused: set[int] = set()
        self.accepted: Counter[int] = Counter()
        self.cancelled: Counter[int] = Counter()
        self.dispatched: list[int] = []
        self.promised: list[int] = []
        self.agreed_on: ToyWire | None = None
        self.halts = 0
        self.faults: defaultdict[str, list[object]] = defaultdict(list)
        self._queue: deque[E.Event] = deque()
        self._serials = count(1)

    # Events in.

    def feed(self, event: E.Event) -> list[A.Action]:
        """One event, and whatever the world answers to its actions at once. Returns the first actions."""
        first: list[A.Action] | None = None
        self._queue.append(event)
        while self._queue:
            actions = self.machine.handle(self._queue.popleft())
            first = actions if first is None else first
            for action in actions:
                self._perform(action)
        assert first is not None
        return first

    def call(self, *, method: str = "tools/call", progress: bool = False) -> Caller:
        """A new caller asks for something."""
        caller = f"caller {len(self.replies)}"
        self.replies[caller] = []
        params = json.dumps({"caller": caller}).encode()
        self.feed(E.Called(caller, method, params, b"{}", 30.0, progress))
        return caller

    def wait(self) -> Caller:
        """A new caller waits until the connection is ready."""
        caller = f"waiter {len(self.replies)}"
        self.replies[caller] = []
        self.feed(E.Awaited(caller, 5.0))
        return caller

    def open(self) -> None:
        """The wire asked for can be written."""
        assert self.wire is not None
        self.wire.opened = True
        self.feed(E.Opened(self.wire.number))

    def end(self, wire: ToyWire, ending: Ending) -> list[A.Action]:
        """A wire ends; its transport says so once."""
        wire.ended = True
        if wire is self.wire:
            self.wire = None
        return self.feed(E.Closed(wire.number, ending))

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
        self.feed(E.FramesArrived(wire.number, tuple(speech.frame for speech in speeches)))
        self._hold_to_account(wire)

    def scan(self, wire: ToyWire, n: int) -> None:
        """The pool finishes one of the scans of the wire in use."""
        scan = wire.scans.pop(n % len(wire.scans))
        self.feed(E.Scanned(wire.number, scan.place, jsonrpc.scan(scan.frame)))
        self._hold_to_account(wire)

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
            self.promised.extend(speech.news)

    # Actions out.

    def _perform(self, action: A.Action) -> None:
        if self.halts:
            self._note("after the halt", action, not isinstance(action, A.Reply))
        match action:
            case A.Open() | A.CloseWire() | A.Permit() | A.Send() | A.Scan():
                self._work_the_wire(action)
            case A.Reply(caller, outcome):
                self._reply(caller, outcome)
            case A.Progress(caller, _):
                self._note("progress after the end", caller, bool(self.replies[caller]))
            case A.Dispatch(notifications):
                self._dispatch(notifications)
            case A.SetTimer(event, seconds):
                self.timers[event] = seconds
            case A.CancelTimer(event):
                self.timers.pop(event, None)
            case _:
                self._take_note(action)

    def _work_the_wire(self, action: A.Open | A.CloseWire | A.Permit | A.Send | A.Scan) -> None:
        match action:
            case A.Open(number):
                leak = self.wire is not None and not self.wire.told_to_close
                self._note("a wire forgotten", number, leak)
                self.wire = self.wires[number] = ToyWire(number)
                self.mood = "taking"
            case A.CloseWire(number):
                self.wires[number].told_to_close = True
                self.wire = None if self.state is not State.CLOSING else self.wire
            case A.Permit(n):
                self._permit(n)
            case A.Send(data, token):
                self._send(data, token)
            case A.Scan(number, _, _):
                self.wires[number].scans.append(action)

    def _take_note(self, action: A.Action) -> None:
        if isinstance(action, A.Transition):
            self._note("a jump", action, action.before is not self.state)
            self.state = action.after
        elif isinstance(action, A.Agreed):
            self.agreed_on = self.wire
        elif isinstance(action, A.Halt):
            self.halts += 1

    def _permit(self, n: int) -> None:
        wire = self.wire
        if wire is None or not wire.opened or self.state in (State.BACKOFF, State.CLOSING) or n < 1:
            self.faults["misplaced permit"].append((self.state, n))
        else:
            wire.permits += n

    def _send(self, data: bytes, token: int | None) -> None:
        wire = self.wire
        if wire is None or not wire.opened or wire.told_to_close:
            self.faults["sent without a wire"].append(data)
            return
        message = json.loads(data)
        if "method" in message and "id" in message:
            self._offer(wire, message)
        elif message.get("method") == "notifications/cancelled":
            self.cancelled[message["params"]["requestId"]] += 1
        if token is not None and self.mood == "busy":
            self.refused.add(token)
            self._queue.append(E.SendRefused(token, data))
        elif token is not None and self.mood == "gone":
            wire.broken = True
            self._queue.append(E.SendFailed(token, GONE))

    def _offer(self, wire: ToyWire, message: dict[str, Any]) -> None:
        id_, caller = message["id"], message["params"].get("caller")
        if id_ in self.refused:
            self.refused.discard(id_)
        else:
            self._note("an id twice", id_, bool(self.offered) and id_ <= self.offered[-1])
            self.offered.append(id_)
        if caller is None:
            wire.question = (id_, message["method"])
        else:
            self.owners[id_] = caller
        if self.mood == "taking":
            self.accepted[id_] += 1

    def _reply(self, caller: Caller, outcome: object) -> None:
        self.replies[caller].append(outcome)
        if isinstance(outcome, Completed):
            owner = self.owners[json.loads(bytes(outcome.result))["for"]]
            self._note("somebody else's answer", (owner, caller), owner != caller)

    def _dispatch(self, notifications: tuple[jsonrpc.Notification, ...]) -> None:
        for item in notifications:
            assert item.params is not None
            self.dispatched.append(json.loads(bytes(item.params))["n"])
        if self.lane.push(notifications):
            self.lane_was_full = True
            self._queue.append(E.LaneFilled())

    def _note(self, fault: str, what: object, wrong: bool) -> None:
        if wrong:
            self.faults[fault].append(what)

    # What the invariants ask.

    def unanswered(self) -> set[Caller]:
        """The callers who have no outcome yet."""
        return {caller for caller, outcomes in self.replies.items() if not outcomes}

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
        machine, flow = self.machine, self.machine.flow
        flights = [(flight.id, flight.refused) for flight in machine.conversation.pending]
        moving = (flow.outstanding, flow.paused, flow.shedding, len(flow.arrivals))
        graves = len(machine.conversation.tombstones)
        return (machine.state, machine.wire, flights, list(machine.waiters), moving, graves, machine.cause)
