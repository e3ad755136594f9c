"""A shell around the server machine: it carries actions out and notes what looks wrong."""

from __future__ import annotations

import json
from collections import Counter
from itertools import count
from typing import Any

from mcp_actors.protocol.jsonrpc import Id
from mcp_actors.protocol.serving import actions as A
from mcp_actors.protocol.serving import events as E
from mcp_actors.protocol.serving.policy import SessionPolicy
from mcp_actors.protocol.serving.questions import Answered, Declined, Verdict
from mcp_actors.protocol.serving.states import Phase
from mcp_actors.protocol.serving.terms import Terms
from mcp_actors.protocol.session import SessionMachine
from tests.protocol.serving.talk import SUBSCRIPTION, profile, revision
from tests.protocol.serving.world_ledger import Entry, Group, Query

#: Prompts may change, but the server does not say so.
ANNOUNCED = {
    "tools": {"listChanged": True},
    "prompts": {},
    "resources": {"subscribe": True, "listChanged": True},
    "logging": {},
}
CANCELLED = "notifications/cancelled"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"


class Shell:
    """Performs actions, and keeps the ledger that the invariants judge."""

    def __init__(self, policy: SessionPolicy, *, assumed: str | None, obliging: dict[str, Any]) -> None:
        self.policy = policy
        self.offers = obliging
        self.lasting = assumed is None
        self.version = assumed
        agreed = None if assumed is None else Terms(revision(assumed), obliging)
        offered = profile(ANNOUNCED)
        self.machine = SessionMachine(lambda: offered, policy, agreed=agreed)
        self.phase = self.machine.phase
        self.over = False
        self.timers: dict[E.TimerEvent, float] = {}
        self.once_set: list[E.TimerEvent] = []
        self.attending = False
        self.faults: Counter[str] = Counter()
        self.entries: list[Entry] = []
        self.groups: list[Group] = []
        self.queries: list[Query] = []
        self.watched: set[str] = set()
        self.level = policy.log_level
        self._open: dict[Id, Entry] = {}
        self._first: dict[Id, Group] = {}
        # About whom the client must now be told that its message was not taken.
        self._refusal: tuple[Id | None] | None = None
        self._cancelling: frozenset[Id] = frozenset()
        self._asking: Query | None = None
        self._words: list[tuple[Id | None, str, dict[str, Any]]] = []
        self._serials = count(1)

    # What the rules ask.

    def serial(self) -> int:
        return next(self._serials)

    def running(self) -> list[Entry]:
        return [entry for entry in self._open.values() if entry.running]

    def listening(self) -> list[Entry]:
        return [entry for entry in self._open.values() if entry.listening]

    def open_queries(self) -> list[Query]:
        return [query for query in self.queries if query.open]

    def free_ids(self) -> list[Id]:
        """Ids that were used, and may be used again: their requests are over for the client, too."""
        taken = {entry.id for group in self.groups if not group.settled for entry in group.entries}
        return [entry.id for entry in self.entries if entry.id not in taken]

    def has_arrays(self) -> bool:
        return self.version == "2025-03-26"

    def note(self, what: str, wrong: object) -> None:
        if wrong:
            self.faults[what] += 1

    # Actions out.

    def feed(self, event: E.Event) -> list[A.Action]:
        self._words.clear()
        actions = self.machine.handle(event)
        for action in actions:
            self._perform(action)
        return actions

    def _perform(self, action: A.Action) -> None:
        match action:
            case A.Send():
                self.note("sent after the end", self.over)
                self._send(action, json.loads(action.frame) if action.frame else None)
            case A.Run(job):
                entry = self._open.get(job.id)
                self.note("ran what nobody asked", entry is None or job.params["serial"] != entry.serial)
            case A.CancelJob(id_):
                self._stop(id_)
            case A.Resolve(caller, verdict):
                assert isinstance(caller, Query)
                self._resolve(caller, verdict)
            case A.SetTimer(event, seconds):
                self.note("a timer set after the end", self.over)
                self.timers[event] = seconds
                self.once_set.append(event)
            case A.CancelTimer(event):
                self.timers.pop(event, None)
            case _:
                self._take_note(action)

    def _take_note(self, action: A.Action) -> None:
        match action:
            case A.Attend(wanted):
                self.note("attends twice", wanted is self.attending)
                self.attending = wanted
            case A.Heard(method, params):
                self._heard(method, params)
            case A.Transition(before, after):
                self.note("left another phase than it was in", before is not self.phase)
                self.phase = after
                self.over = after is Phase.CLOSED
            case A.End():
                self.note("ended twice", self.over)
                self.over = True

    def _stop(self, id_: Id) -> None:
        entry = self._open.get(id_)
        self.note("told nobody to stop", entry is None)
        if entry is not None and entry.group is not None:
            # Whose last word is said is forgotten, and cannot be told to stop any more.
            self.note("told to stop too late", entry.group.finals)
            entry.cancelled = entry.cancelled or id_ in self._cancelling

    def _resolve(self, query: Query, verdict: Verdict) -> None:
        query.verdicts.append(verdict)
        self.note("told who does not wait", query.forgone)
        if isinstance(verdict, Answered | Declined):
            told = verdict.result if isinstance(verdict, Answered) else verdict.error
            self.note("the answer to another question", json.loads(bytes(told))["for"] != query.number)

    def _heard(self, method: str, params: dict[str, Any]) -> None:
        if method == "resources/subscribe":
            self.watched.add(params["uri"])
        elif method == "resources/unsubscribe":
            self.watched.discard(params["uri"])

    def _send(self, action: A.Send, told: Any) -> None:
        if action.final:
            self._last(action, told)
        elif isinstance(told, list) or "error" in told:
            self.note("an error for nobody", action.about is not None)
            if self._refusal == (None,):
                self._refusal = None
        else:
            entry = None if action.about is None else self._open.get(action.about)
            self.note("about nobody", action.about is not None and entry is None)
            over = entry is not None and entry.group is not None and entry.group.finals
            self.note("after the last word", over)
            self._word(entry, told["method"], told)

    def _last(self, action: A.Send, told: Any) -> None:
        assert action.about is not None
        if self._refusal == (action.about,):
            self._refusal = None
            return
        group = self._first.get(action.about)
        if group is None:
            self.note("a last word about nobody", True)
            return
        (first, *_) = group.entries
        first.cancelled = first.cancelled or (first.listening and first.id in self._cancelling)
        for fault in group.receive(told):
            self.note(fault, True)

    def _word(self, entry: Entry | None, method: str, told: dict[str, Any]) -> None:
        params = told.get("params", {})
        if "id" in told:
            query = self._asking
            self.note("a request to a modern client", entry is not None and entry.modern)
            assert query is not None
            self.note("a question on the wrong stream", query.about is not entry)
            self.note("a number used twice", any(one.number == told["id"] for one in self.queries))
            query.number = told["id"]
        elif method == CANCELLED:
            (query,) = [one for one in self.queries if one.number == params["requestId"]]
            query.taken_back += 1
            self.note("taken back on the wrong stream", query.about is not entry)
        elif method == ACKNOWLEDGED:
            assert entry is not None
            self.note("granted wrongly", params != acknowledgement(entry))
            entry.listening = True
        else:
            self._words.append((None if entry is None else entry.id, method, params))


def acknowledgement(entry: Entry) -> dict[str, Any]:
    """What a stream must be told at first."""
    granted: dict[str, Any] = {f"{kind}ListChanged": True for kind in entry.kinds}
    if entry.uris:
        granted["resourceSubscriptions"] = sorted(entry.uris)
    return {"notifications": granted, "_meta": {SUBSCRIPTION: entry.id}}
