"""Asking: a server's own requests to its client, from the question to its one verdict."""

from __future__ import annotations

from msgspec import Raw

from mcp_actors.protocol.jsonrpc import Id
from mcp_actors.protocol.revisions import client_capability_for
from mcp_actors.protocol.serving import frames
from mcp_actors.protocol.serving.actions import Action, CancelTimer, Resolve, Send, SetTimer, Violation
from mcp_actors.protocol.serving.events import QuestionExpired
from mcp_actors.protocol.serving.questions import (
    Answered,
    Declined,
    Question,
    Questions,
    Unanswered,
    Unaskable,
    Unreadable,
    Verdict,
)
from mcp_actors.protocol.serving.terms import Terms


class Asking:
    """The open questions of a session and their timers."""

    def __init__(self, out: list[Action]) -> None:
        self._out = out
        self.questions = Questions()

    def ask(self, question: Question, agreed: Terms | None) -> None:
        """Send a question, if this client can be asked it."""
        obstacle = _obstacle(question.method, agreed)
        if obstacle is not None:
            self._out.append(Resolve(question.caller, obstacle))
            return
        number = self.questions.open(question)
        frame = frames.request(number, question.method, question.params)
        self._out.append(Send(frame, question.about))
        self._out.append(SetTimer(QuestionExpired(number), question.seconds))

    def leave(self, question: Question, reason: str) -> None:
        """It is too late to ask."""
        self._out.append(Resolve(question.caller, Unanswered(reason)))

    def answered(self, id_: Id, result: Raw) -> None:
        """The client answered."""
        self._conclude(id_, Answered(result))

    def refused(self, id_: Id | None, error: Raw) -> None:
        """The client answered with an error."""
        self._conclude(id_, Declined(error))

    def spoil(self, id_: Id | None, reason: str) -> None:
        """The client answered with something that is no answer."""
        self._settle(id_, Unreadable(reason))

    def expire(self, number: int) -> None:
        """The client took too long; it may stop thinking about it."""
        question = self.questions.take(number)
        if question is not None:
            self._withdraw(number, question, Unanswered("the client did not answer in time", expired=True))

    def forgo(self, caller: object) -> None:
        """Whoever asked went away: nobody is told, but the client need not go on."""
        for number, question in self.questions.take_of(caller):
            self._out.append(CancelTimer(QuestionExpired(number)))
            self._take_back(number, question, "not needed any more")

    def abandon(self, about: Id, reason: str) -> None:
        """The request that a question came from is over."""
        for number, question in self.questions.take_about(about):
            self._out.append(CancelTimer(QuestionExpired(number)))
            self._withdraw(number, question, Unanswered(reason))

    def lose(self, reason: str) -> None:
        """The session is over, and nobody is left to be told."""
        for number, question in self.questions.take_all():
            self._out.append(CancelTimer(QuestionExpired(number)))
            self._out.append(Resolve(question.caller, Unanswered(reason)))

    def _conclude(self, id_: Id | None, verdict: Verdict) -> None:
        if not self._settle(id_, verdict):
            self._out.append(Violation("unknown-answer", f"an answer to {id_!r}, which nobody asked"))

    def _settle(self, id_: Id | None, verdict: Verdict) -> bool:
        question = self.questions.take(id_)
        if question is None:
            return False
        assert type(id_) is int
        self._out.append(CancelTimer(QuestionExpired(id_)))
        self._out.append(Resolve(question.caller, verdict))
        return True

    def _withdraw(self, number: int, question: Question, verdict: Unanswered) -> None:
        self._take_back(number, question, verdict.reason)
        self._out.append(Resolve(question.caller, verdict))

    def _take_back(self, number: int, question: Question, reason: str) -> None:
        frame = frames.notification("notifications/cancelled", {"requestId": number, "reason": reason})
        self._out.append(Send(frame, question.about))


def _obstacle(method: str, agreed: Terms | None) -> Unaskable | None:
    if agreed is None:
        return Unaskable("a client without a session cannot be asked")
    if method not in agreed.revision.server_requests:
        return Unaskable(f"{method} does not exist in revision {agreed.revision}")
    path = client_capability_for(method, agreed.revision)
    if path is not None and not agreed.declares(path):
        return Unaskable(f"the client does not offer {path}", path)
    return None
