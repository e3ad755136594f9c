"""Everything that can happen to a session, as rules for Hypothesis: client, handlers, server, time."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from mcp_actors.protocol.jsonrpc import Id
from mcp_actors.protocol.serving.events import QuestionExpired
from mcp_actors.protocol.serving.policy import SessionPolicy
from mcp_actors.protocol.serving.states import Phase
from tests.protocol.serving.talk import BATCHING, LEGACY, LOG_LEVEL, OBLIGING, meta
from tests.protocol.serving.talk import initialize as introduction
from tests.protocol.serving.world_ledger import Entry, Query
from tests.protocol.serving.world_model import Model

OWN = (
    "ping",
    "no/such",
    "server/discover",
    "resources/subscribe",
    "resources/subscribe",
    "resources/unsubscribe",
    "logging/setLevel",
)
QUESTIONS = ("roots/list", "sampling/createMessage", "elicitation/create", "ping")
URIS = ("file:///a", "file:///a/b", "file:///ab")
LEVELS = ("debug", "warning", "alert")
VERSIONS = st.sampled_from((*LEGACY, BATCHING, BATCHING))
STARTS = st.sampled_from(("fresh", "greeted", "ready", "ready", "ready", "assumed"))
PICK = st.integers(0, 7)
OFTEN = st.sampled_from((True, True, True, False))
SELDOM = st.sampled_from((False, False, False, False, True))
WORK = st.lists(st.tuples(st.booleans(), PICK), min_size=1, max_size=3)
BEGINNINGS = st.fixed_dictionaries(
    {
        "start": STARTS,
        "version": VERSIONS,
        "limits": st.tuples(st.sampled_from((1, 3, 5)), st.integers(1, 3)),
        "obliging": OFTEN,
        "work": WORK,
    }
)
ANSWERS = st.sampled_from((None, None, "result", "result", "error", "unknown", "junk"))
CALLS = st.tuples(st.just("call"), PICK)
PARTS = st.one_of(CALLS, CALLS, st.tuples(st.sampled_from(("own", "cancel", "answer", "junk", "news")), PICK))


class World(RuleBasedStateMachine):
    """Each rule is something that may happen at any time."""

    model: Model
    settle: bool
    graceful: bool

    @initialize(start=BEGINNINGS, settle=st.booleans(), graceful=st.booleans())
    def set_out(self, start: dict[str, Any], settle: bool, graceful: bool) -> None:
        self.settle, self.graceful = settle, graceful
        self._begin(**start)

    @precondition(lambda self: self._is(Phase.CLOSED))
    @rule(start=BEGINNINGS)
    def another_client_comes(self, start: dict[str, Any]) -> None:
        self._judge_the_end()
        self._begin(**start)

    def _begin(
        self, start: str, version: str, limits: tuple[int, int], obliging: bool, work: list[tuple[bool, int]]
    ) -> None:
        policy = SessionPolicy(max_running=limits[0], max_listens=limits[1], log_level="warning")
        offers = OBLIGING if obliging else {}
        self.model = Model(policy, assumed=version if start == "assumed" else None, obliging=offers)
        if start in ("greeted", "ready"):
            self._introduce(version)
        if start == "ready":
            self._tell("notifications/initialized")
        for modern, n in work:
            self._request("tools/call", modern=modern, n=n)

    # The client.

    @rule(version=VERSIONS)
    def the_client_introduces_itself(self, version: str) -> None:
        self._introduce(version)

    @rule()
    def the_client_has_finished_its_handshake(self) -> None:
        self._tell("notifications/initialized")

    @rule(work=WORK, method=st.sampled_from(("tools/call", "resources/read")), again=SELDOM)
    def the_client_wants_something_done(self, work: list[tuple[bool, int]], method: str, again: bool) -> None:
        for modern, n in work:
            self._request(method, modern=modern, n=n, again=again)

    @rule(method=st.sampled_from(OWN), modern=SELDOM, n=PICK)
    def the_client_wants_something_small(self, method: str, modern: bool, n: int) -> None:
        self._request(method, modern=modern, n=n)

    @rule(
        kinds=st.sets(st.sampled_from(("tools", "prompts", "resources"))),
        uris=st.sets(st.sampled_from(URIS), max_size=2),
        again=SELDOM,
    )
    def the_client_listens(self, kinds: set[str], uris: set[str], again: bool) -> None:
        filter_: dict[str, Any] = {f"{kind}ListChanged": True for kind in kinds}
        params = {"notifications": {**filter_, "resourceSubscriptions": sorted(uris)}}
        entry = self._entry("subscriptions/listen", params, modern=True, again=again)
        # Of prompts the server does not announce that they change.
        entry.kinds, entry.uris = frozenset(kinds) - {"prompts"}, frozenset(uris)
        self.model.arrive([self._message(entry)], [entry])

    @precondition(lambda self: self.model.has_arrays())
    @rule(parts=st.lists(PARTS, min_size=1, max_size=5), again=SELDOM)
    def the_client_sends_an_array(self, parts: list[tuple[str, int]], again: bool) -> None:
        self._array(parts, again)

    @precondition(lambda self: not self.model.has_arrays())
    @rule(parts=st.lists(PARTS, min_size=1, max_size=2), sure=SELDOM)
    def the_client_sends_an_array_though_there_are_none(
        self, parts: list[tuple[str, int]], sure: bool
    ) -> None:
        if sure:
            self._array(parts, again=False)

    @precondition(lambda self: self.model.entries)
    @rule(n=PICK, known=OFTEN, times=st.integers(1, 2))
    def the_client_cancels(self, n: int, known: bool, times: int) -> None:
        id_ = self._some_id(n, known)
        for _ in range(times):
            self.model.arrive([_cancellation(id_)], cancels=[id_])

    @precondition(lambda self: self.model.open_queries())
    @rule(n=PICK, how=ANSWERS.filter(bool))
    def the_client_answers(self, n: int, how: str) -> None:
        queries = self.model.open_queries()
        self._respond(queries[n % len(queries)], how)

    @rule()
    def the_client_talks_nonsense(self) -> None:
        self.model.arrive([{"nonsense": True}])

    # The handlers.

    @precondition(lambda self: self.model.running())
    @rule(n=PICK, fails=st.booleans())
    def a_handler_is_ready(self, n: int, fails: bool) -> None:
        running = self.model.running()
        self.model.conclude(running[n % len(running)], fails=fails)

    @precondition(lambda self: self.model.entries)
    @rule(n=PICK, progress=st.one_of(st.none(), st.floats(0, 4), st.integers(0, 4)))
    def a_handler_says_something(self, n: int, progress: float | None) -> None:
        """Also one that nobody waits for."""
        self.model.say(self._somebody(n), progress, LEVELS[n % 3])

    @precondition(lambda self: self.model.entries)
    @rule(n=PICK)
    def a_handler_is_late(self, n: int) -> None:
        entries = [entry for entry in self.model.entries if entry.ended]
        if entries:
            self.model.conclude(entries[-1 - n % len(entries)], fails=False)

    @rule(n=PICK, method=st.sampled_from(QUESTIONS), alone=SELDOM)
    def a_handler_asks(self, n: int, method: str, alone: bool) -> None:
        about = None if alone or not self.model.entries else self._somebody(n)
        self.model.ask(method, about)

    @precondition(lambda self: self._is(Phase.READY) and self.model.offers)
    @rule(n=PICK, answer=ANSWERS, then=st.sampled_from(("wait", "wait", "conclude", "cancel", "forgo")))
    def a_handler_asks_for_sure(self, n: int, answer: str | None, then: str) -> None:
        model = self.model
        self._request("tools/call", modern=False, n=n)
        running = [entry for entry in model.running() if not entry.modern]
        if not running:
            return
        model.ask("roots/list", running[-1])
        query = model.queries[-1]
        if answer is not None:
            self._respond(query, answer)
        if then == "conclude":
            model.conclude(running[-1], fails=n % 2 == 0)
        elif then == "cancel":
            model.arrive([_cancellation(running[-1].id)], cancels=[running[-1].id])
        elif then == "forgo":
            model.forgo(query)

    @precondition(lambda self: self.model.queries)
    @rule(n=PICK)
    def whoever_asked_goes_away(self, n: int) -> None:
        queries = self.model.open_queries() or self.model.queries
        self.model.forgo(queries[-1 - n % len(queries)])

    # The server, the wire, and time.

    @rule(kind=st.sampled_from(("tools", "prompts", "resources", "updated")), uri=st.sampled_from(URIS))
    def something_changes(self, kind: str, uri: str) -> None:
        self.model.publish(kind, uri if kind == "updated" else "")

    @precondition(lambda self: self.model.timers)
    @rule(n=PICK, sure=SELDOM)
    def a_timer_is_due(self, n: int, sure: bool) -> None:
        """Those of questions often, those that end the session seldom."""
        timers = sorted(self.model.timers, key=repr, reverse=True)
        timer = timers[n % len(timers)]
        if sure or isinstance(timer, QuestionExpired):
            self.model.expire(timer)

    @precondition(lambda self: self.model.once_set)
    @rule(n=PICK)
    def a_cancelled_timer_comes_all_the_same(self, n: int) -> None:
        stale = [timer for timer in self.model.once_set if timer not in self.model.timers]
        if stale:
            self.model.expire(stale[-1 - n % len(stale)])

    @precondition(lambda self: self.model.entries)
    @rule(n=PICK, known=OFTEN)
    def the_wire_dismisses_a_request(self, n: int, known: bool) -> None:
        self.model.dismiss(self._some_id(n, known))

    @rule(sure=st.integers(0, 5))
    def the_server_stops(self, sure: int) -> None:
        # Seldom, or most sessions would be short.
        if sure > 3:
            self.model.stop()

    @rule(sure=st.integers(0, 11))
    def the_client_is_gone(self, sure: int) -> None:
        if sure == 7:
            self.model.leave()

    # Deeds that rules share.

    def _judge_the_end(self) -> None:
        """A session is over: nothing of it may be left."""
        raise NotImplementedError

    def _introduce(self, version: str) -> None:
        model = self.model
        entry = self._entry("initialize", introduction(version, capabilities=model.offers))
        model.arrive([self._message(entry)], [entry])
        if entry.told is not None and "result" in entry.told:
            model.note("introduced twice", model.version is not None)
            model.version = entry.told["result"]["protocolVersion"]

    def _tell(self, method: str) -> None:
        self.model.arrive([{"jsonrpc": "2.0", "method": method}])

    def _request(self, method: str, *, modern: bool, n: int, again: bool = False) -> None:
        params: dict[str, Any] = {}
        if "subscribe" in method:
            params = {"uri": URIS[n % 3]}
        elif method == "logging/setLevel":
            params = {"level": LEVELS[n % 3]}
        entry = self._entry(method, params, modern=modern, n=n, again=again)
        self.model.arrive([self._message(entry)], [entry])
        if method == "logging/setLevel" and entry.told is not None and "result" in entry.told:
            self.model.level = LEVELS[n % 3]

    def _respond(self, query: Query, how: str) -> None:
        assert query.number is not None
        number = query.number + 1000 if how == "unknown" else query.number
        self.model.arrive([_answer(number, how)])
        self.model.note("an answer that was not taken", query.open is not (how == "unknown"))

    def _array(self, parts: list[tuple[str, int]], again: bool) -> None:
        messages: list[dict[str, Any]] = []
        entries: list[Entry] = []
        cancels: list[Id] = []
        for what, n in parts:
            if what in ("call", "own"):
                method = "tools/call" if what == "call" else ("ping", "no/such", "server/discover")[n % 3]
                modern = method == "server/discover"
                entries.append(self._entry(method, {}, modern=modern, n=n, again=again and not entries))
                messages.append(self._message(entries[-1]))
            elif what == "cancel":
                known = [entry.id for entry in (*entries, *self.model.running())]
                cancels.append(known[n % len(known)] if known else "nobody")
                messages.append(_cancellation(cancels[-1]))
            elif what == "answer":
                numbers = [query.number or 0 for query in self.model.open_queries()] or [1000]
                messages.append(_answer(numbers[n % len(numbers)], ("result", "error")[n % 2]))
            else:
                messages.append({"nonsense": n} if what == "junk" else _news())
        self.model.arrive(messages, entries, array=True, cancels=cancels)

    def _entry(
        self, method: str, params: dict[str, Any], *, modern: bool = False, n: int = 0, again: bool = False
    ) -> Entry:
        model, serial = self.model, self.model.serial()
        used: list[Id] = [entry.id for entry in (*model.running(), *model.listening())]
        free = model.free_ids() if modern else []
        id_: Id = serial // 2 if serial % 2 else str(serial // 2)
        if again and (used or free):
            # The same id at the same time is a mistake, and one after the other is none at 2026-07-28.
            id_ = (used or free)[n % len(used or free)] if n % 2 else (free or used)[n % len(free or used)]
        token: Id | None = (None, serial, f"t{serial}")[n % 3]
        level = (None, *LEVELS)[n % 4] if modern else None
        described = {} if token is None else {"progressToken": token}
        if modern:
            described = meta(capabilities=OBLIGING, **described, **({LOG_LEVEL: level} if level else {}))
        params = {"serial": serial, **params, **({"_meta": described} if described else {})}
        return Entry(id_, serial, method, params, modern=modern, token=token, level=level)

    def _message(self, entry: Entry) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": entry.id, "method": entry.method, "params": entry.params}

    def _some_id(self, n: int, known: bool) -> Id:
        model = self.model
        under_way = [*model.running(), *model.listening()]
        if known and under_way:
            return under_way[n % len(under_way)].id
        id_ = model.entries[-1 - n % len(model.entries)].id
        # The same digits, but another id.
        return id_ if known else str(id_) + "?"

    def _somebody(self, n: int) -> Entry:
        """Mostly one who works."""
        running = self.model.running()
        if running and n < 6:
            return running[n % len(running)]
        return self.model.entries[-1 - n % len(self.model.entries)]

    def _is(self, phase: Phase) -> bool:
        return self.model.machine.phase is phase


def _cancellation(id_: Id) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id_}}


def _answer(number: int, how: str) -> dict[str, Any]:
    member = {} if how == "junk" else {"error" if how == "error" else "result": {"for": number}}
    return {"jsonrpc": "2.0", "id": number, **member}


def _news() -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}
