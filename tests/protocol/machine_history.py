"""What happened to callers, requests and subscriptions around the client machine, seen from outside."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import Any

from mcp_actors.protocol.listening import LISTEN
from mcp_actors.protocol.outcomes import Completed, Withdrawn
from mcp_actors.protocol.pending import Caller
from mcp_actors.protocol.recovery import LISTINGS
from mcp_actors.protocol.standing import SET_LEVEL, SUBSCRIBE, UNSUBSCRIBE, Standing
from tests.protocol.machine_wire import Duty, Stream, ToyWire


class History:
    """It believes only what was sent, said and answered; ``faults`` is what must never happen."""

    def __init__(self, standing: Standing) -> None:
        self.subscribed = dict(standing.uris)
        self.level = standing.level
        self.listed = set(standing.listed)
        self.replies: dict[Caller, list[object]] = {}
        self.wishes: dict[Caller, tuple[str, dict[str, Any]]] = {}
        self.owners: dict[int, Caller] = {}
        self.ids: dict[Caller, int] = {}
        self.offered: list[int] = []
        self.refused: set[int] = set()
        # Sent by their callers, who draw their ids before the machine hears of it.
        self.lent: set[int] = set()
        self.accepted: Counter[int] = Counter()
        self.duties: dict[int, Duty] = {}
        self.dispatched: list[int] = []
        self.promised: list[int] = []
        self.faults: defaultdict[str, list[object]] = defaultdict(list)

    def note(self, fault: str, what: object, wrong: bool) -> None:
        """Remember what went wrong, if it did."""
        if wrong:
            self.faults[fault].append(what)

    # What the machine says.

    def ask(self, wire: ToyWire, message: dict[str, Any], *, written: bool) -> None:
        """A request is offered to the wire."""
        id_, method, params = message["id"], message["method"], message["params"]
        caller = params.get("_meta", {}).get("caller")
        if id_ in self.refused:
            self.refused.discard(id_)
        else:
            self._ask_first(wire, message, caller)
        if caller is None and method != "ping" and (written or method != LISTEN):
            wire.question = (id_, method)
        if written:
            self.note("written after it was taken back", id_, bool(wire.taken_back[id_]))
            self.accepted[id_] += 1

    def _ask_first(self, wire: ToyWire, message: dict[str, Any], caller: Caller | None) -> None:
        id_, method, params = message["id"], message["method"], message["params"]
        self.note("an id twice", id_, id_ in self.offered)
        if caller is not None:
            early = id_ not in self.lent and bool(self.offered) and id_ < max(self.offered)
            self.note("an id out of order", id_, early)
            self.owners[id_], self.ids[caller] = caller, id_
            self.listed |= {method} & set(LISTINGS)
        self.offered.append(id_)
        wire.asked.append((method, params))
        if method == LISTEN:
            uris = frozenset(params["notifications"].get("resourceSubscriptions", ()))
            wire.streams[id_] = Stream(id_, uris, own=caller is None)
        elif method == "ping" and caller is None:
            wire.pings.add(id_)

    def take_back(self, wire: ToyWire, id_: int) -> None:
        """A request is taken back."""
        self.note("taken back before it was written", id_, not self.accepted[id_])
        wire.taken_back[id_] += 1

    def answer(self, wire: ToyWire, message: dict[str, Any]) -> None:
        """A request of the server's is answered, and the wire takes it."""
        wire.replies[message["id"]] += 1
        serial = message.get("result", {}).get("serial")
        if serial is not None:
            duty = self.duties[serial]
            duty.written += 1
            unwanted = duty.wire != wire.number or duty.state != "answered"
            self.note("an answer that nobody wants", duty, unwanted)

    def reply(self, wire: ToyWire | None, caller: Caller, outcome: object) -> None:
        """A caller is told how its wait ended."""
        self.replies[caller].append(outcome)
        id_ = self.ids.get(caller)
        if isinstance(outcome, Completed):
            owner = self.owners.get(json.loads(bytes(outcome.result)).get("for"), caller)
            self.note("somebody else's answer", (owner, caller), owner != caller)
            self._last(*self.wishes[caller])
        if wire is None or id_ is None:
            return
        if isinstance(outcome, Withdrawn) and outcome.by == "server":
            self.note("withdrawn by mistake", caller, id_ not in wire.withdrawn)
        if id_ in wire.streams and not self.accepted[id_]:
            wire.streams[id_].over = True

    def _last(self, method: str, params: dict[str, Any]) -> None:
        if method == SUBSCRIBE:
            self.subscribed[params["uri"]] = None
        elif method == UNSUBSCRIBE:
            self.subscribed.pop(params["uri"], None)
        elif method == SET_LEVEL:
            self.level = params["level"]

    def lose(self, uris: tuple[str, ...]) -> None:
        """Some subscriptions are said to be lost."""
        for uri in uris:
            self.note("lost what was not had", uri, uri not in self.subscribed)
            self.subscribed.pop(uri, None)

    # What the invariants ask.

    def unanswered(self) -> set[Caller]:
        """The callers who have no outcome yet."""
        return {caller for caller, outcomes in self.replies.items() if not outcomes}

    def calls(self) -> list[tuple[str, dict[str, Any]]]:
        """What those want who have no outcome yet."""
        return [wish for caller, wish in self.wishes.items() if not self.replies[caller]]

    def forgotten(self, wire: ToyWire, *, streams: bool) -> list[object]:
        """What was agreed once and was not asked for again on this wire."""
        asked = {method for method, _ in wire.asked}
        uris = {params["uri"] for method, params in wire.asked if method == SUBSCRIBE}
        levels = [params["level"] for method, params in wire.asked if method == SET_LEVEL]
        wanted: list[object] = [*(self.listed - asked)]
        if streams:
            uris = {uri for stream in wire.streams.values() for uri in stream.uris}
        elif self.level is not None and levels != [self.level]:
            wanted.append(self.level)
        return [*wanted, *(self.subscribed.keys() - uris)]
