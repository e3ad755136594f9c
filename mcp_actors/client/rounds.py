"""Rounds: requests that a server may answer with questions, until it has what it needs (2026-07-28)."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Context, copy_context
from functools import partial
from typing import Final, TypeVar

from msgspec import Raw, structs

from mcp_actors import errors
from mcp_actors.client.answering.desk import Desk
from mcp_actors.client.calls import Calls, Manner
from mcp_actors.client.futures import Handover, Onward
from mcp_actors.client.outgoing import Outgoing, retried
from mcp_actors.client.patience import Patience
from mcp_actors.client.questions import Answers, Questions
from mcp_actors.client.results import INTERIM, interpret, unasked
from mcp_actors.client.tree import Tree
from mcp_actors.protocol.outcomes import TimedOut
from mcp_actors.protocol.types.input_required import InputRequiredResult
from mcp_actors.protocol.types.results import Result
from mcp_actors.protocol.types.tasks import ExtensionTask
from mcp_actors.runtime.deadline import Deadline

R = TypeVar("R", bound=Result)

MAX_ROUNDS: Final = 10

# A server that only gives us a state wants to be asked again; not at once, and not ever more seldom.
_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 0.25


class Rounds:
    """Shared by all threads that use a client."""

    def __init__(self, calls: Calls, desk: Desk, *, max_rounds: int = MAX_ROUNDS) -> None:
        self._calls = calls
        self._max_rounds = max_rounds
        self.questions = Questions(calls, desk)

    def complete(
        self,
        kind: type[R],
        request: Outgoing,
        manner: Manner,
        keep: Callable[[Raw, R], object] | None = None,
    ) -> R:
        """Block until the result is there, through as many rounds as it takes, within one deadline.

        ``keep`` gets a result that came without questions: MCP 2026-07-28 lets a client keep no other.
        """
        deadline = manner.deadline or Deadline.after(manner.seconds)
        result = self._calls.run(request, manner, deadline)
        answer = interpret(kind, result, request.what)
        if isinstance(answer, InputRequiredResult):
            answer = self._converse(kind, request, structs.replace(manner, deadline=deadline), answer)
        elif keep is not None and not isinstance(answer, ExtensionTask):
            keep(result, answer)
        if isinstance(answer, INTERIM):
            raise unasked(answer, request.what)
        return answer

    def settle(
        self, kind: type[R], request: Outgoing, manner: Manner, deadline: Deadline
    ) -> R | ExtensionTask:
        """As `complete`, for a caller who knows what to do with a task."""
        answer = interpret(kind, self._calls.run(request, manner, deadline), request.what)
        if isinstance(answer, InputRequiredResult):
            return self._converse(kind, request, structs.replace(manner, deadline=deadline), answer)
        return answer

    def decoder(
        self, kind: type[R], request: Outgoing, adopt: Callable[[ExtensionTask], Handover] | None = None
    ) -> Callable[[Raw], R | Onward | Handover]:
        """How the answers to one submitted request are read: its future lasts through all rounds.

        Handlers run on a worker's thread, with a copy of this thread's context. ``adopt`` knows what to do
        with a task.
        """
        talk, context = _Talk(request, self._max_rounds), copy_context()

        def decode(result: Raw) -> R | Onward | Handover:
            answer = interpret(kind, result, request.what)
            if isinstance(answer, InputRequiredResult):
                return Onward(partial(self._resolve, talk, answer, context))
            if not isinstance(answer, ExtensionTask):
                return answer
            if adopt is None:
                raise unasked(answer, request.what)
            return adopt(answer)

        return decode

    # Steps.

    def _converse(
        self, kind: type[R], request: Outgoing, manner: Manner, question: InputRequiredResult
    ) -> R | ExtensionTask:
        talk = _Talk(request, self._max_rounds)
        answer: R | InputRequiredResult | ExtensionTask = question
        while isinstance(answer, InputRequiredResult):
            again = retried(request, self._answers(talk, answer, manner), answer.request_state)
            answer = interpret(kind, self._calls.run(again, manner), request.what)
        return answer

    def _answers(self, talk: _Talk, question: InputRequiredResult, manner: Manner) -> Answers:
        what, deadline = talk.request.what, manner.deadline
        assert deadline is not None
        tree = self._calls.tree(f"{what} was given up")
        talk.begin_round(question, tree)
        if question.input_requests:
            return self.questions.together(question.input_requests, what, manner.seconds, deadline)
        Patience(tree, what).pause(talk.pause(deadline))
        if deadline.expired:
            raise self._calls.error(tree, what, TimedOut(manner.seconds))
        return {}

    def _resolve(
        self, talk: _Talk, question: InputRequiredResult, context: Context, wanted: Callable[[], bool]
    ) -> Outgoing | None:
        """On a worker's thread. It answers the questions itself: no worker waits for another."""
        what = talk.request.what
        tree = self._calls.tree(f"{what} was given up")
        talk.begin_round(question, tree)
        answers: Answers | None = {}
        if question.input_requests:
            answers = self.questions.in_turn(question.input_requests, what, context, wanted)
        else:
            Patience(tree, what).pause(talk.pause())
        if answers is None:
            return None
        again = retried(talk.request, answers, question.request_state)
        self._calls.check_size(again)
        return again


class _Talk:
    """One request and the rounds it took so far. One thread at a time."""

    def __init__(self, request: Outgoing, max_rounds: int) -> None:
        self.request = request
        self._max_rounds = max_rounds
        self._rounds = 0
        self._pauses = 0

    def begin_round(self, question: InputRequiredResult, tree: Tree) -> None:
        """The server wants to be asked again; raises if it must not want that, or not so often."""
        what, agreement = self.request.what, tree.wiring.board.agreement
        if agreement is None or not agreement.revision.stateless:
            raise unasked(question, what)
        if not question.input_requests and question.request_state is None:
            raise errors.InvalidResponse(f"{what} got a result that wants input, but not which")
        if self._rounds >= self._max_rounds:
            raise errors.InvalidResponse(
                f"{what} was asked for input again after {self._rounds} rounds, "
                f"more than max_rounds ({self._max_rounds})",
                details={"max_rounds": self._max_rounds},
            )
        self._rounds += 1

    def pause(self, deadline: Deadline | None = None) -> Deadline:
        """When to ask again after a round without questions, at the latest by the deadline."""
        seconds = min(_FIRST_PAUSE * 2**self._pauses, _LONGEST_PAUSE)
        self._pauses += 1
        return Deadline.after(seconds if deadline is None else min(seconds, deadline.remaining()))
