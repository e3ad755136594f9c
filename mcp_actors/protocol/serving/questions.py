"""Questions: the requests of a server to its client (up to 2025-11-25), each answered exactly once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import TypeAlias

from msgspec import Raw, Struct

from mcp_actors.protocol.codec import JsonObject
from mcp_actors.protocol.jsonrpc import Id


class Question(Struct, frozen=True):
    """What a job asks; ``about`` is the job's own request, on whose stream the question travels."""

    caller: object
    method: str
    params: JsonObject
    about: Id | None
    seconds: float


class Answered(Struct, frozen=True):
    """The client's result."""

    result: Raw


class Declined(Struct, frozen=True):
    """The client's error."""

    error: Raw


class Unreadable(Struct, frozen=True):
    """The client answered with something that is no answer."""

    reason: str


class Unaskable(Struct, frozen=True):
    """It was not asked: this client cannot be asked that."""

    reason: str
    capability: str | None = None


class Unanswered(Struct, frozen=True):
    """There will be no answer."""

    reason: str
    expired: bool = False


Verdict: TypeAlias = Answered | Declined | Unreadable | Unaskable | Unanswered


class Questions:
    """The open questions of one session, by number. Numbers are never used again."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._open: dict[int, Question] = {}

    def __len__(self) -> int:
        return len(self._open)

    def open(self, question: Question) -> int:
        """Remember a question under a new number."""
        number = next(self._numbers)
        self._open[number] = question
        return number

    def take(self, id_: Id | None) -> Question | None:
        """The question of that number, which is then over; None if there is none."""
        # MCP ids match by type: neither True nor 1.0 nor "1" is 1.
        return self._open.pop(id_, None) if type(id_) is int else None

    def take_about(self, id_: Id) -> Iterator[tuple[int, Question]]:
        """The questions of one job, which are then over."""
        return self._take_if(lambda question: question.about == id_ and type(question.about) is type(id_))

    def take_of(self, caller: object) -> Iterator[tuple[int, Question]]:
        """The questions of one caller, which are then over."""
        return self._take_if(lambda question: question.caller is caller)

    def take_all(self) -> Iterator[tuple[int, Question]]:
        """All questions, which are then over."""
        return self._take_if(lambda _question: True)

    def _take_if(self, fits: Callable[[Question], bool]) -> Iterator[tuple[int, Question]]:
        for number, question in list(self._open.items()):
            if fits(question):
                del self._open[number]
                yield number, question
