"""What is owed in the world of the server machine: requests, arrays, questions, and what became of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mcp_actors.protocol.jsonrpc import Id
from mcp_actors.protocol.serving.questions import Verdict


@dataclass(eq=False)
class Entry:
    """One request of the client's, from its arrival to its end."""

    id: Id
    serial: int
    method: str
    params: dict[str, Any]
    modern: bool = False
    token: Id | None = None
    level: str | None = None  # of log messages, as a modern request asks for them itself
    kinds: frozenset[str] = frozenset()  # what a stream is to be granted
    uris: frozenset[str] = frozenset()
    running: bool = False
    listening: bool = False
    cancelled: bool = False
    ended: bool = False
    progress: float | None = None
    outcome: dict[str, Any] | None = None  # the answer that its handler gave
    told: dict[str, Any] | None = None  # the answer that its client got
    group: Group | None = None

    @property
    def under_way(self) -> bool:
        return self.running or self.listening

    def end(self) -> None:
        self.ended, self.running, self.listening = True, False, False

    def wants(self, kind: str, key: str) -> bool:
        return concerns(self.uris, key) if kind == "updated" else kind in self.kinds


@dataclass(eq=False)
class Group:
    """Requests that are answered together: those of an array, or one alone."""

    entries: list[Entry]
    array: bool = False
    unread: int = 0  # how many of the array's messages were none
    finals: int = 0
    silent: bool = False  # nobody is there to be answered

    @property
    def settled(self) -> bool:
        return all(entry.ended for entry in self.entries)

    @property
    def owed(self) -> int:
        """How many last messages it must have had by now."""
        return 0 if self.silent or not self.settled else 1

    def receive(self, told: Any) -> list[str]:
        """The last message came; what is wrong with it."""
        self.finals += 1
        answered = [entry for entry in self.entries if not entry.cancelled]
        if told is None:
            return ["no answer"] if answered or self.unread else []
        if isinstance(told, list) is not self.array:
            return ["an array for one, or one for an array"]
        answers = told if self.array else [told]
        named = [answer for answer in answers if "id" in answer]
        wrong = ["errors without an id"] * (len(answers) - len(named) != self.unread)
        by_id = {answer["id"]: answer for answer in named}
        if {*by_id} != {entry.id for entry in answered} or len(by_id) != len(named):
            return [*wrong, "answers to others"]
        return wrong + [fault for entry in answered for fault in _wrong(entry, by_id[entry.id])]


def _wrong(entry: Entry, told: dict[str, Any]) -> list[str]:
    entry.told = told
    if entry.outcome is None:
        # Not the handler's words: an answer of the session's own, or an error.
        return ["somebody else's answer"] * ("serial" in str(told))
    given = told.get("result", told.get("error"))
    return ["another answer than was given"] * (given != entry.outcome)


@dataclass(eq=False)
class Query:
    """One question of the server's."""

    about: Entry | None
    method: str
    number: int | None = None
    taken_back: int = 0
    forgone: bool = False
    verdicts: list[Verdict] = field(default_factory=list)

    @property
    def open(self) -> bool:
        return self.number is not None and not self.forgone and not self.verdicts


def concerns(watched: frozenset[str] | set[str], uri: str) -> bool:
    """Whether somebody who watches these is told about that resource."""
    return any(uri == one or uri.startswith(one + "/") for one in watched)
