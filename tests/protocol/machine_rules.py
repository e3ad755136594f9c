"""Everything that can happen to the client machine, as rules for Hypothesis: callers, wire, server, time."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from mcp_actors.protocol import events as E
from mcp_actors.protocol import jsonrpc
from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.protocol.envelope import Identity
from mcp_actors.protocol.policy import Policy
from mcp_actors.protocol.states import State
from tests.protocol import toy_server as toy
from tests.protocol.machine_model import Model, Speech, ToyWire

LARGE = "x" * 400
REQUESTS = ("tools/call", "tools/list", "prompts/list", "resources/read")
SPEECHES = (
    "introduce", "answer", "answer", "large answer", "error", "unknown", "true", "text", "float", "two faces",
    "no version", "garbage", "batch", "progress", "large progress", "cancelled", "list_changed", "updated",
    "large news", "ping", "initialize", "strange request",
)  # fmt: skip
NEWS = ("updated", "list_changed", "large news")
PICK = st.integers(0, 7)


class World(RuleBasedStateMachine):
    """Each rule is an event that is possible now."""

    model: Model
    version: str
    settle: bool

    @initialize(
        start=st.sampled_from(("asleep", "begun", "opened", "ready", "ready", "ready")),
        choices=st.fixed_dictionaries(
            {"window": st.integers(1, 3), "block": st.booleans(), "max_failed_starts": st.integers(1, 3)}
        ),
        version=st.sampled_from((toy.MODERN, *toy.LEGACY)),
        habits=st.tuples(st.booleans(), st.sampled_from((False, False, True)), st.booleans()),
    )
    def set_out(
        self, start: str, choices: dict[str, Any], version: str, habits: tuple[bool, bool, bool]
    ) -> None:
        pinned, ever_ready, self.settle = habits
        policy = Policy(
            identity=Identity({"name": "client"}, {}),
            protocol=version if pinned else "auto",
            scan_above=300,
            max_scanning=2,
            max_held_bytes=1500,
            **choices,
        )
        self.version = version
        self.model = Model(policy, ever_ready=ever_ready)
        if start == "ready":
            self._walk_to_ready()
        if start in ("begun", "opened"):
            self._feed(E.Begun())
        if start == "opened":
            self.model.open()

    # Callers.

    @rule()
    def somebody_begins(self) -> None:
        parked = self._is(State.BACKOFF) and self.model.machine.attempts.parked
        self._feed(E.Begun())
        self.model.faults["still parked"] += [True] if parked and self._is(State.BACKOFF) else []

    @rule(method=st.sampled_from(REQUESTS), progress=st.booleans())
    def somebody_calls(self, method: str, progress: bool) -> None:
        self.model.call(method=method, progress=progress)

    @rule(n=st.integers(1, 4))
    def several_call(self, n: int) -> None:
        for _ in range(n):
            self.model.call(progress=True)

    @rule()
    def somebody_waits(self) -> None:
        self.model.wait()

    @precondition(lambda self: self.model.replies)
    @rule(n=PICK, times=st.integers(1, 3))
    def somebody_cancels(self, n: int, times: int) -> None:
        model = self.model
        caller = list(model.replies)[-1 - n % len(model.replies)]
        self._feed(E.CancelAsked(caller, "enough"))
        for _ in range(times - 1):
            before = model.snapshot()
            echo = self._feed(E.CancelAsked(caller, "enough"))
            model.faults["cancelled twice"] += [echo] if echo or model.snapshot() != before else []

    @rule()
    def somebody_notifies(self) -> None:
        self._feed(E.Notified("notifications/roots/list_changed", None))

    @rule(sure=st.integers(0, 12))
    def somebody_stops(self, sure: int) -> None:
        # Seldom, or most runs would end early.
        if sure == 12:
            self._feed(E.StopAsked())

    # The wire.

    @precondition(lambda self: self._opening() is not None)
    @rule()
    def the_wire_opens(self) -> None:
        self.model.open()

    @precondition(lambda self: self.model.wire is not None)
    @rule(kind=st.sampled_from(EndKind), unsent=st.booleans(), sure=st.integers(0, 3))
    def the_wire_ends(self, kind: EndKind, unsent: bool, sure: int) -> None:
        assert self.model.wire is not None
        if sure == 0 or self.model.wire.broken:
            lost = frozenset(self.model.offered[-2:]) if unsent else frozenset()
            self.model.end(self.model.wire, Ending(kind, "it ended", unsent=lost))

    @rule(mood=st.sampled_from(("taking", "taking", "busy", "gone")))
    def the_wire_becomes(self, mood: str) -> None:
        self.model.mood = mood

    @precondition(lambda self: any(wire is not self.model.wire for wire in self.model.wires.values()))
    @rule(n=PICK, what=st.sampled_from(("opens", "speaks", "scanned", "ends")))
    def an_old_wire_still_talks(self, n: int, what: str) -> None:
        model = self.model
        old = [wire for wire in model.wires.values() if wire is not model.wire]
        wire, before = old[n % len(old)], model.snapshot()
        message = jsonrpc.scan(toy.result(model.offered[-1] if model.offered else 1, {"for": 1}))
        talk: dict[str, E.Event] = {
            "opens": E.Opened(wire.number),
            "speaks": E.FramesArrived(wire.number, (toy.news("notifications/message", n=0),)),
            "scanned": E.Scanned(wire.number, 0, message),
            "ends": E.Closed(wire.number, Ending(EndKind.EXIT, "at last")),
        }
        echo = self._feed(talk[what])
        model.faults["an old wire"] += [echo] if echo or model.snapshot() != before else []

    # The server.

    @precondition(lambda self: self._readable() is not None)
    @rule(script=st.lists(st.tuples(st.sampled_from(SPEECHES), PICK), min_size=1, max_size=4))
    def the_server_speaks(self, script: list[tuple[str, int]]) -> None:
        self.model.deliver([self._speech(what, n) for what, n in script])

    @precondition(lambda self: self._readable() is not None)
    @rule(script=st.lists(st.sampled_from(NEWS), min_size=2, max_size=9))
    def the_server_floods(self, script: list[str]) -> None:
        self.model.deliver([self._speech(what, n) for n, what in enumerate(script)])

    @precondition(lambda self: self._question() is not None)
    @rule(n=PICK, before=st.booleans(), after=st.booleans())
    def the_server_introduces_itself(self, n: int, before: bool, after: bool) -> None:
        words = [("list_changed", 0)] * before + [("introduce", n)] + [("updated", 0)] * after
        self.model.deliver([self._speech(what, k) for what, k in words])

    @precondition(lambda self: self._question() is not None)
    @rule()
    def the_server_dies_on_the_question(self) -> None:
        assert self.model.wire is not None
        self.model.end(self.model.wire, Ending(EndKind.EXIT, "it died"))

    @precondition(lambda self: self.model.state not in (State.READY, State.CLOSING))
    @rule()
    def the_server_behaves(self) -> None:
        self._walk_to_ready()

    # The rest of the world.

    @precondition(lambda self: self._scanning() is not None)
    @rule(n=PICK)
    def a_scan_ends(self, n: int) -> None:
        wire = self._scanning()
        assert wire is not None
        self.model.scan(wire, n)

    @precondition(lambda self: self.model.timers)
    @rule(n=st.integers(0, 40))
    def a_timer_expires(self, n: int) -> None:
        timers = sorted(self.model.timers, key=repr)
        self.model.expire(timers[n % len(timers)])

    @precondition(lambda self: E.ProbeExpired() in self.model.timers)
    @rule()
    def the_probe_stays_unanswered(self) -> None:
        self.model.expire(E.ProbeExpired())

    @precondition(lambda self: E.PauseOver() in self.model.timers)
    @rule()
    def the_pause_does_not_help(self) -> None:
        self.model.expire(E.PauseOver())

    @rule(n=st.integers(1, 4))
    def the_handlers_run(self, n: int) -> None:
        self.model.handle_news(n)

    # Questions about the present.

    def _feed(self, event: E.Event) -> list[object]:
        return list(self.model.feed(event))

    def _is(self, state: State) -> bool:
        return self.model.machine.state is state

    def _opening(self) -> ToyWire | None:
        wire = self.model.wire
        return wire if wire and not (wire.opened or wire.told_to_close) else None

    def _readable(self) -> ToyWire | None:
        wire = self.model.wire
        return wire if wire and wire.live and wire.permits else None

    def _greeted(self) -> ToyWire | None:
        wire = self.model.wire
        return wire if wire and wire.live and self._is(State.INITIALIZING) else None

    def _question(self) -> tuple[int, str] | None:
        wire = self._readable()
        return wire.question if wire and self._is(State.INITIALIZING) else None

    def _scanning(self) -> ToyWire | None:
        wire = self.model.wire
        return wire if wire and wire.live and wire.scans else None

    def _taken(self) -> bool:
        return self._readable() is not None

    def _waits_for_time(self) -> bool:
        model = self.model
        if self._is(State.READY) or (self._is(State.BACKOFF) and model.machine.attempts.parked):
            return False
        if self._is(State.CLOSING):
            return not model.halts
        return self._is(State.BACKOFF) or model.wire is not None

    # Deeds made of several steps.

    def _walk_to_ready(self) -> None:
        for _ in range(20):
            if self._is(State.READY) or self._is(State.CLOSING):
                return
            self._one_step_on()

    def _one_step_on(self) -> None:
        model, wire = self.model, self.model.wire
        model.mood = "taking"
        if self._question():
            model.deliver([self._speech("introduce", 0)])
        elif self._opening():
            model.open()
        elif wire and wire.broken:
            model.end(wire, Ending(EndKind.BROKEN, "it broke"))
        elif self._scanning():
            self.a_scan_ends(0)
        elif model.lane_was_full:
            model.handle_news(10)
        elif E.StateExpired() in model.timers:
            model.expire(E.StateExpired())
        else:
            model.feed(E.Begun())

    def _speech(self, what: str, n: int) -> Speech:
        model = self.model
        if what == "introduce":
            return self._introduction(n)
        if what in ("list_changed", "updated", "large news", "cancelled"):
            return self._news(what, n)
        id_ = self._some_id(n)
        about = {"progressToken": id_, "n": model.serial()}
        frames = {
            "answer": toy.result(id_, {"for": id_}),
            "large answer": toy.result(id_, {"for": id_, "pad": LARGE}),
            "error": toy.error(id_, -32601),
            "unknown": toy.result(10_000 + n, {}),
            "true": toy.result(True, {}),
            "text": toy.result(str(id_), {}),
            "float": toy.result(float(id_), {}),
            "two faces": toy.frame(id=id_, result={}, error={}),
            "no version": b'{"id":%d,"result":{}}' % id_,
            "garbage": b'\xff\x00{"jsonrpc":',
            "batch": b"[%s,%s]" % (toy.result(id_, {"for": id_}), toy.error(None, -32700)),
            "progress": toy.news("notifications/progress", **about),
            "large progress": toy.news("notifications/progress", pad=LARGE, **about),
            "ping": toy.frame(id=id_, method="ping"),
            "initialize": toy.frame(id=id_, method="initialize", params={}),
            "strange request": toy.frame(id="q", method="no/such"),
        }
        # An answer with the id of an open question may end the handshake, whatever it was meant to be.
        return Speech(frames[what], introduces=True)

    def _news(self, what: str, n: int) -> Speech:
        serial = self.model.serial()
        frames = {
            "list_changed": toy.news("notifications/tools/list_changed", n=serial),
            "updated": toy.news("notifications/resources/updated", uri=f"toy:{n}", n=serial),
            "large news": toy.news("notifications/message", data=LARGE, n=serial),
            "cancelled": toy.news("notifications/cancelled", requestId=self._some_id(n), n=serial),
        }
        return Speech(frames[what], news=(serial,))

    def _introduction(self, n: int) -> Speech:
        # Also when it was answered before: an introduction may come twice, or late.
        wire = self.model.wire
        assert wire is not None
        assert wire.question is not None
        answers = toy.introductions(*wire.question, self.version)
        return Speech(answers[n % len(answers)], introduces=True)

    def _some_id(self, n: int) -> int:
        offered = self.model.offered
        return offered[-1 - n % len(offered)] if offered else 1
