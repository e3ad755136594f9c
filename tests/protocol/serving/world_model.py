"""Everything that can happen to the server machine, and what must come of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from mcp_actors.protocol import jsonrpc
from mcp_actors.protocol.jsonrpc import Id
from mcp_actors.protocol.serving import actions as A
from mcp_actors.protocol.serving import events as E
from mcp_actors.protocol.serving.news import News
from mcp_actors.protocol.serving.questions import Question
from mcp_actors.protocol.serving.states import Phase
from mcp_actors.protocol.serving.terms import LEVELS
from tests.protocol.serving.talk import SUBSCRIPTION, revision
from tests.protocol.serving.world_ledger import Entry, Group, Query, concerns
from tests.protocol.serving.world_shell import Shell

HEARD = {
    "tools": "notifications/tools/list_changed",
    "prompts": "notifications/prompts/list_changed",
    "resources": "notifications/resources/list_changed",
    "updated": "notifications/resources/updated",
}


class Model(Shell):
    """Feeds events and compares what was done with what had to be done."""

    # The client.

    def arrive(
        self,
        messages: list[dict[str, Any]],
        entries: Sequence[Entry] = (),
        *,
        array: bool = False,
        cancels: Iterable[Id] = (),
    ) -> list[A.Action]:
        """The client sends one message, or an array; ``entries`` are the requests in it."""
        refusal = self._refusal = self._objection(entries, array)
        if entries and refusal is None:
            unread = sum("jsonrpc" not in message for message in messages)
            self._register(Group([*entries], array, unread, silent=self.phase is Phase.CLOSED))
        ended = [self._open[id_] for id_ in {*cancels} & {*self._open} if self._open[id_].under_way]
        stopped = [entry for entry in ended if entry.running] if refusal is None else []
        data = json.dumps(messages if array else messages[0]).encode()
        self._cancelling = frozenset(cancels)
        actions = self.feed(E.Received(jsonrpc.scan(data)))
        self._cancelling = frozenset()
        self.note("taken, though it could not be", self._refusal is not None)
        if refusal is None:
            self._follow(entries, actions)
            self.end(*ended)
            new = {entry.id for entry in entries}
            told = [a.id for a in actions if isinstance(a, A.CancelJob) and a.id not in new]
            self.note("told the wrong ones to stop", sorted(told, key=repr) != _ids(stopped))
        return actions

    def _objection(self, entries: Sequence[Entry], array: bool) -> tuple[Id | None] | None:
        """None if the messages must be taken; else the request under which the client is told that not."""
        ids = [entry.id for entry in entries]
        repeated = len(set(ids)) < len(ids) or any(id_ in self._open for id_ in ids)
        if self.phase is Phase.CLOSED or not (repeated or (array and not self.has_arrays())):
            return None
        return (next((id_ for id_ in ids if array and id_ not in self._open), None),)

    def _register(self, group: Group) -> None:
        self.groups.append(group)
        self.entries += group.entries
        for entry in group.entries:
            entry.group = group
            self._open[entry.id] = entry
        self._first[group.entries[0].id] = group

    def _follow(self, entries: Iterable[Entry], actions: list[A.Action]) -> None:
        """What became of the requests that arrived, as far as it is known already."""
        run = {action.job.id for action in actions if isinstance(action, A.Run)}
        for entry in entries:
            entry.running = entry.id in run and not entry.cancelled
            if not entry.under_way:
                self.end(entry)

    def end(self, *entries: Entry) -> None:
        """These are over."""
        for entry in entries:
            entry.end()
            self._open.pop(entry.id, None)
        self._first = {id_: group for id_, group in self._first.items() if not group.settled}

    def dismiss(self, id_: Id) -> None:
        """The wire says that nobody waits for this one."""
        entry = self._open.get(id_)
        if entry is None:
            self.note("dismissed nobody", self.feed(E.Dismissed(id_, "it hung up")))
            return
        assert entry.group is not None
        entry.group.silent = not entry.group.array
        self._cancelling = frozenset((id_,))
        actions = self.feed(E.Dismissed(id_, "it hung up"))
        self._cancelling = frozenset()
        self.expect_stopped([entry] if entry.running else [], actions)
        self.end(entry)

    # The handlers.

    def conclude(self, entry: Entry, *, fails: bool) -> None:
        """A handler is ready, whether or not anybody still waits."""
        if self._open.get(entry.id, entry) is not entry:
            # The shell knows whose handler it is.
            return
        live = entry.running
        outcome: dict[str, Any] = {"serial": entry.serial}
        if fails:
            outcome = {"code": -7, "message": f"serial {entry.serial}"}
        if live:
            entry.outcome = outcome
        actions = self.feed(E.Concluded(entry.id, json.dumps(outcome).encode(), -7 if fails else None))
        if live:
            self.end(entry)
        else:
            self.note("an answer from the past", actions)

    def say(self, entry: Entry, progress: float | None, level: str) -> None:
        """A handler has news: progress if there is any, else a log message."""
        if self._open.get(entry.id, entry) is not entry:
            return
        if progress is None:
            threshold = entry.level if entry.modern else self.level
            wanted = threshold is not None and LEVELS.index(level) >= LEVELS.index(threshold)
            method, params = "notifications/message", {"level": level, "data": entry.serial}
        else:
            wanted = entry.token is not None and (entry.progress is None or progress > entry.progress)
            method, params = "notifications/progress", {"progress": progress}
        wanted = wanted and entry.running
        self.feed(E.Said(entry.id, method, params))
        if wanted and progress is not None:
            entry.progress = progress
            params = {"progressToken": entry.token, **params}
        self.note("said wrongly", self._words != ([(entry.id, method, params)] if wanted else []))

    def publish(self, kind: Any, key: str) -> None:
        alive = self.phase not in (Phase.CLOSING, Phase.CLOSED)
        told = {"uri": key} if kind == "updated" else {}
        expected: list[Any] = [
            (entry.id, HEARD[kind], {**told, "_meta": {SUBSCRIPTION: entry.id}})
            for entry in self.listening()
            if alive and entry.wants(kind, key)
        ]
        announced = kind in ("tools", "resources") or (kind == "updated" and concerns(self.watched, key))
        if announced and self.lasting and self.phase is Phase.READY:
            expected.append((None, HEARD[kind], told))
        self.feed(E.Published(News(kind, key)))
        self.note("news for the wrong ones", sorted(self._words, key=repr) != sorted(expected, key=repr))

    def ask(self, method: str, about: Entry | None) -> None:
        """Somebody asks, on behalf of a request or on their own."""
        if about is not None and self._open.get(about.id, about) is not about:
            return
        query = self._asking = Query(about, method)
        self.queries.append(query)
        question = Question(query, method, {}, None if about is None else about.id, 9.0)
        self.feed(E.Asked(question))
        alive = self.phase is not Phase.CLOSED and (about is None or about.running)
        spoken = self.version is not None and method in revision(self.version).server_requests
        can = spoken and (method == "ping" or method.split("/")[0] in self.offers)
        old = about is None or not about.modern
        self.note("asked wrongly", (query.number is not None) is not (alive and can and old))
        self.note("a question without an end", query.number is None and not query.verdicts)
        self._asking = None

    def forgo(self, query: Query) -> None:
        live = query.open
        query.forgone = not query.verdicts
        actions = self.feed(E.Forgone(query))
        self.note("forgone in vain", bool(actions) is not live)

    def expire(self, timer: E.TimerEvent) -> None:
        """A timer is due; or one that was cancelled comes all the same."""
        live = timer in self.timers
        self.timers.pop(timer, None)
        ends = live and not isinstance(timer, E.QuestionExpired)
        running, listening = (self.running(), self.listening()) if ends else ([], [])
        actions = self.feed(timer)
        self.note("a timer from the past", actions and not live)
        self.expect_stopped(running, actions)
        self.end(*running, *listening)

    def stop(self) -> None:
        streams = [] if self.phase in (Phase.CLOSING, Phase.CLOSED) else self.listening()
        self.feed(E.StopAsked(5.0))
        self.end(*streams)

    def leave(self) -> None:
        """The client is gone."""
        running, streams = self.running(), self.listening()
        for group in self.groups:
            group.silent = group.silent or not group.settled
        actions = self.feed(E.Gone("it hung up"))
        self.note("sent to nobody", any(isinstance(action, A.Send) for action in actions))
        self.expect_stopped(running, actions)
        self.end(*running, *streams)

    def expect_stopped(self, running: list[Entry], actions: list[A.Action]) -> None:
        """These handlers were told to stop, and no others."""
        told = [action.id for action in actions if isinstance(action, A.CancelJob)]
        self.note("told the wrong ones to stop", sorted(told, key=repr) != _ids(running))


def _ids(entries: Iterable[Entry]) -> list[Id]:
    return sorted((entry.id for entry in entries), key=repr)
