"""Everything that can happen to the client machine, as rules for Hypothesis: callers, wire, server, time."""

from __future__ import annotations

from typing import Any, Literal

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from mcp_actors.protocol import actions as A
from mcp_actors.protocol import events as E
from mcp_actors.protocol import jsonrpc
from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.protocol.envelope import Identity
from mcp_actors.protocol.offer import Offer
from mcp_actors.protocol.policy import Policy
from mcp_actors.protocol.standing import SET_LEVEL, SUBSCRIBE, UNSUBSCRIBE, Standing
from mcp_actors.protocol.states import State
from tests.protocol import toy_server as toy
from tests.protocol.machine_model import GONE, Model
from tests.protocol.machine_speech import DUTIES, NEWS, SPEECHES, STREAMS, URIS, Voice
from tests.protocol.machine_stage import Stage
from tests.protocol.machine_wire import Speech

REQUESTS = ("tools/call", "tools/list", "prompts/list", "resources/read")
TOOLS = "notifications/tools/list_changed"
EVERYTHING = Offer(roots=True, sampling=True, elicitation=("form",))
VERSIONS = st.sampled_from((toy.MODERN, toy.MODERN, toy.MODERN, "2025-03-26", *toy.LEGACY))
URI = st.sampled_from(URIS)
DEMANDS = st.sampled_from(("duty", "duty", "retraction"))
# Most often as it is.
MOOD = st.sampled_from((None, None, None, "busy", "taking"))
OFTEN = st.sampled_from((True, True, True, False))
PICK = st.integers(0, 7)
LOGIN = Ending(EndKind.UNAUTHORIZED, "a login is open", passing=True, person=True)
LOOKING = Ending(EndKind.UNAUTHORIZED, "a token is being renewed", passing=True)


class World(Stage):
    """Each rule is an event that is possible now."""

    pinned: bool
    settle: bool

    @initialize(
        start=st.sampled_from(("asleep", "begun", "opened", "ready", "ready", "ready")),
        choices=st.fixed_dictionaries(
            {
                "window": st.integers(1, 3),
                "block": st.booleans(),
                "max_failed_starts": st.integers(1, 3),
                "max_duties": st.integers(1, 3),
                "keep_alive": st.sampled_from((30.0, 30.0, None)),
            }
        ),
        version=VERSIONS,
        n=PICK,
        habits=st.tuples(st.booleans(), OFTEN, st.sampled_from((False, False, True)), st.booleans()),
    )
    def set_out(
        self, start: str, choices: dict[str, Any], version: str, n: int, habits: tuple[bool, bool, bool, bool]
    ) -> None:
        self.pinned, offers, ever_ready, self.settle = habits
        policy = Policy(
            identity=Identity({"name": "client"}, EVERYTHING if offers else Offer()),
            protocol=version if self.pinned else "auto",
            scan_above=300,
            max_scanning=2,
            max_held_bytes=1500,
            keep_alive_misses=2,
            **choices,
        )
        self.listens: set[str] = set()
        standing = Standing(lambda: self.listens)
        if ever_ready:
            # The actor before us died of a bug; what it had agreed still stands.
            standing.uris, standing.level, standing.listed = {URIS[0]: None}, "info", {"tools/list"}
        self.model = Model(policy, standing, ever_ready=ever_ready)
        self.voice = Voice(self.model, version)
        if start == "ready":
            self._walk_to_ready(n)
        if start in ("begun", "opened"):
            self._feed(E.Begun())
        if start == "opened":
            self.model.open()

    # Callers.

    @rule()
    def somebody_begins(self) -> None:
        parked = self._is(State.BACKOFF) and self.model.machine.attempts.parked
        self._feed(E.Begun())
        self.model.history.note("still parked", True, parked and self._is(State.BACKOFF))

    @rule(method=st.sampled_from(REQUESTS), progress=st.booleans(), served=st.booleans())
    def somebody_calls(self, method: str, progress: bool, served: bool) -> None:
        self.model.call(method=method, progress=progress)
        self._serve(1 if served else 0)

    @precondition(lambda self: self._is(State.READY))
    @rule(method=st.sampled_from(REQUESTS), at_once=OFTEN)
    def somebody_sets_out(self, method: str, at_once: bool) -> None:
        self.model.set_out(method)
        if at_once:
            self.model.hear_of_departure()

    @precondition(lambda self: self.model.under_way)
    @rule(n=PICK)
    def a_departure_is_heard_of(self, n: int) -> None:
        self.model.hear_of_departure(n % len(self.model.under_way))

    @rule(n=st.integers(1, 4), apart=st.booleans(), change=st.sampled_from((None, SUBSCRIBE, UNSUBSCRIBE)))
    def several_call(self, n: int, apart: bool, change: str | None) -> None:
        model = self.model
        calls = [model.called("tools/call", progress=True) for _ in range(n)]
        if change is not None:
            calls.append(model.called(change, uri=URIS[n % 3]))
        for event in calls if apart else [E.CalledTogether(tuple(calls))]:
            model.feed(event)

    @rule(
        method=st.sampled_from((SUBSCRIBE, SUBSCRIBE, UNSUBSCRIBE)), uri=URI, served=st.booleans(), mood=MOOD
    )
    def somebody_subscribes(self, method: str, uri: str, served: bool, mood: str | None) -> None:
        self.model.mood = mood or self.model.mood
        self.model.call(method=method, uri=uri)
        self._serve(1 if served else 0)

    @rule(level=st.sampled_from(("info", "error")), served=st.booleans())
    def somebody_sets_the_level(self, level: str, served: bool) -> None:
        self.model.call(method=SET_LEVEL, level=level)
        self._serve(1 if served else 0)

    @rule(method=st.sampled_from((TOOLS, TOOLS, "notifications/message")), mood=MOOD)
    def a_listener_comes_or_goes(self, method: str, mood: str | None) -> None:
        self.listens ^= {method}
        self.model.mood = mood or self.model.mood
        self._feed(E.NewsWanted())

    @rule()
    def somebody_waits(self) -> None:
        self.model.wait()

    @precondition(lambda self: self.model.history.replies)
    @rule(n=PICK, times=st.integers(1, 3), reason=st.sampled_from(("enough", E.INTERRUPTED)))
    def somebody_cancels(self, n: int, times: int, reason: str) -> None:
        model = self.model
        caller = list(model.history.replies)[-1 - n % len(model.history.replies)]
        self._feed(E.CancelAsked(caller, reason))
        for _ in range(times - 1):
            before = model.snapshot()
            echo = self._feed(E.CancelAsked(caller, reason))
            model.history.note("cancelled twice", echo, bool(echo) or model.snapshot() != before)

    @rule()
    def somebody_notifies(self) -> None:
        self._feed(E.Notified("notifications/roots/list_changed", None))

    @precondition(lambda self: self.model.history.duties)
    @rule(n=PICK, times=st.integers(1, 2), mood=MOOD)
    def the_desk_answers(self, n: int, times: int, mood: str | None) -> None:
        """Also for a wire that is gone, or a second time."""
        duties = list(self.model.history.duties.values())
        self.model.mood = mood or self.model.mood
        for _ in range(times):
            self.model.serve(duties[(n - 4) % len(duties)])

    @rule(sure=st.integers(0, 60))
    def somebody_stops(self, sure: int) -> None:
        # Seldom, or most runs would end early.
        if sure == 17:
            self._feed(E.StopAsked())

    # The wire.

    @precondition(lambda self: self._opening() is not None)
    @rule()
    def the_wire_opens(self) -> None:
        self.model.open()

    @precondition(lambda self: self.model.wire is not None)
    @rule(kind=st.sampled_from(EndKind), unsent=st.booleans(), sure=st.integers(0, 3))
    def the_wire_ends(self, kind: EndKind, unsent: bool, sure: int) -> None:
        wire = self.model.wire
        assert wire is not None
        if sure == 0 or wire.broken:
            # A wire knows nothing of what set out over another.
            own = [event.id for event in self.model.under_way if event.wire == wire.number]
            last = [*self.model.history.offered, *own][-2:]
            lost = frozenset(last) if unsent else frozenset()
            self.model.end(wire, Ending(kind, "it ended", unsent=lost))

    @precondition(lambda self: self.model.wire is not None and self._is(State.READY))
    @rule(n=PICK)
    def the_wire_ends_and_another_is_there(self, n: int) -> None:
        assert self.model.wire is not None
        self.model.end(self.model.wire, Ending(EndKind.EOF, "it ended"))
        self._walk_to_ready(n)

    @precondition(lambda self: self._talking() and self._written())
    @rule(n=PICK, hindrance=st.sampled_from((LOGIN, LOOKING, None)))
    def one_exchange_is_held_back(self, n: int, hindrance: Ending | None) -> None:
        assert self.model.wire is not None
        ids = self._written()
        echo = self._feed(E.ExchangeHeld(self.model.wire.number, ids[-1 - n % len(ids)], hindrance))
        self.model.history.note("a hindrance did something", echo, bool(echo))

    @precondition(lambda self: self._talking() and self._written())
    @rule(n=PICK, outcome=st.sampled_from(("unknown", "not_sent")))
    def one_exchange_is_lost(self, n: int, outcome: Literal["unknown", "not_sent"]) -> None:
        ids = self._written()
        self.model.lose_one(ids[-1 - n % len(ids)], outcome)

    @precondition(lambda self: self._fetchable())
    @rule(n=PICK, what=st.sampled_from(("answer", "answer", "error", "two faces")), large=st.booleans())
    def somebody_fetches_an_answer(self, n: int, what: str, large: bool) -> None:
        """Also one that comes too late, or a second time; and while a large frame holds up the others."""
        ids = self._fetchable()
        id_ = ids[-1 - n % len(ids)]
        if large and self._readable():
            self.model.deliver([self.voice.speech("large news", n)])
        frames = {
            "answer": toy.result(id_, {"for": id_}),
            "error": toy.error(id_, -32603),
            "two faces": toy.frame(id=id_, result={}, error={}),
        }
        self.model.fetch(frames[what])

    @precondition(lambda self: self.model.wire is not None)
    @rule()
    def news_are_missed(self) -> None:
        assert self.model.wire is not None
        echo = self._feed(E.NewsMissed(self.model.wire.number, "its stream broke"))
        told = [A.Missed("its stream broke")] if self._is(State.READY) else []
        self.model.history.note("missed news", echo, echo != told)

    @rule(mood=st.sampled_from(("taking", "taking", "busy", "gone")))
    def the_wire_becomes(self, mood: str) -> None:
        self.model.mood = mood

    @precondition(lambda self: any(wire is not self.model.wire for wire in self.model.wires.values()))
    @rule(n=PICK)
    def an_old_wire_still_talks(self, n: int) -> None:
        """It says everything that a wire can say."""
        model = self.model
        old = [wire for wire in model.wires.values() if wire is not model.wire]
        wire, before = old[n % len(old)], model.snapshot()
        offered = model.history.offered
        frame = toy.result(offered[-1] if offered else 1, {"for": 1})
        message = jsonrpc.scan(frame)
        for event in (
            E.Opened(wire.number),
            E.FramesArrived(wire.number, (toy.news("notifications/message", n=0),)),
            E.Scanned(wire.number, 0, message),
            E.ExchangeLost(wire.number, offered[-1] if offered else 1, GONE, "unknown"),
            E.ExchangeHeld(wire.number, offered[-1] if offered else 1, LOGIN),
            E.AnswerFetched(wire.number, frame, message),
            E.NewsMissed(wire.number, "its stream broke"),
            E.Closed(wire.number, Ending(EndKind.EXIT, "at last")),
        ):
            echo = self._feed(event)
            model.history.note("an old wire", echo, bool(echo) or model.snapshot() != before)

    # The server.

    @precondition(lambda self: self._readable() is not None)
    @rule(script=st.lists(st.tuples(st.sampled_from(SPEECHES), PICK), min_size=1, max_size=4))
    def the_server_speaks(self, script: list[tuple[str, int]]) -> None:
        self.model.deliver([self.voice.speech(what, n) for what, n in script])

    @precondition(lambda self: self._readable() is not None)
    @rule(script=st.lists(st.sampled_from(NEWS), min_size=2, max_size=9))
    def the_server_floods(self, script: list[str]) -> None:
        self.model.deliver([self.voice.speech(what, n) for n, what in enumerate(script)])

    @precondition(lambda self: self._question() is not None)
    @rule(n=PICK, before=st.booleans(), after=st.booleans())
    def the_server_introduces_itself(self, n: int, before: bool, after: bool) -> None:
        words = [("list_changed", 0)] * before + [("introduce", n)] + [("updated", 0)] * after
        self.model.deliver([self.voice.speech(what, k) for what, k in words])

    @precondition(lambda self: self._question() is not None)
    @rule()
    def the_server_dies_on_the_question(self) -> None:
        assert self.model.wire is not None
        self.model.end(self.model.wire, Ending(EndKind.EXIT, "it died"))

    @precondition(lambda self: self.model.state not in (State.READY, State.CLOSING))
    @rule()
    def the_server_behaves(self) -> None:
        self._walk_to_ready()

    @precondition(lambda self: not self.pinned)
    @rule(version=VERSIONS)
    def the_server_is_replaced(self, version: str) -> None:
        self.voice.version = version

    @rule(n=st.integers(1, 5))
    def the_server_does_as_it_is_asked(self, n: int) -> None:
        self._serve(n)

    @precondition(lambda self: self._streams())
    @rule(script=st.lists(st.tuples(st.sampled_from(STREAMS), st.integers(0, 3)), min_size=1, max_size=3))
    def the_server_minds_its_streams(self, script: list[tuple[str, int]]) -> None:
        self.model.deliver([self.voice.speech(what, n) for what, n in script])

    @precondition(lambda self: self._readable() is not None and self._is(State.READY))
    @rule(
        script=st.lists(st.tuples(DEMANDS, PICK), min_size=1, max_size=4),
        twice=st.booleans(),
        answers=st.integers(0, 2),
    )
    def the_server_asks(self, script: list[tuple[str, int]], twice: bool, answers: int) -> None:
        self.model.deliver([self.voice.speech(what, n) for what, n in script])
        duty = self._open_duty()
        if twice and duty is not None and self._readable():
            self.model.deliver([Speech(toy.frame(id=duty.id, method=DUTIES[0]), introduces=True)])
        for duty in list(self.model.history.duties.values())[-1 : -1 - answers : -1]:
            self.model.serve(duty)

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

    @precondition(lambda self: self._due())
    @rule(n=PICK, times=st.integers(1, 4))
    def it_is_time(self, n: int, times: int) -> None:
        due = self._due()
        for _ in range(times):
            if due[n % len(due)] in self.model.timers:
                self.model.expire(due[n % len(due)])

    @rule(n=st.integers(1, 4))
    def the_handlers_run(self, n: int) -> None:
        self.model.handle_news(n)
