"""Questions: what a server asks inside a result, put to the handlers of the client's user."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import Context, copy_context
from functools import partial
from typing import Final, TypeAlias, cast

from mcp_actors import errors
from mcp_actors.client.answering.consultation import INVALID_PARAMS, METHOD_NOT_FOUND, Unanswered
from mcp_actors.client.answering.desk import Desk
from mcp_actors.client.calls import Calls
from mcp_actors.client.patience import Patience
from mcp_actors.client.tree import Tree
from mcp_actors.protocol import codec
from mcp_actors.protocol.revisions import Revision
from mcp_actors.protocol.types.input_required import InputRequest
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.ref import Ref
from mcp_actors.runtime.slot import Slot, SlotTimeout
from mcp_actors.runtime.tasks import Cancel, Done, Failed, Finished, PoolFull, PoolStopped, Run

Asked: TypeAlias = Mapping[str, InputRequest]
#: Encoded answers, by the keys of their questions.
Answers: TypeAlias = dict[str, bytes]

#: An answer that says: the server should not have asked this, or not so.
_NOT_OFFERED: Final = frozenset({METHOD_NOT_FOUND, INVALID_PARAMS})


class Questions:
    """Shared by all threads that use a client."""

    def __init__(self, calls: Calls, desk: Desk) -> None:
        self._calls = calls
        self._desk = desk

    def together(self, asked: Asked, what: str, seconds: float, deadline: Deadline) -> Answers:
        """Answer all of them at once, in the pool, each with a copy of this thread's context.

        At the deadline, or if one has no answer, the others are left to themselves.
        """
        tree = self._calls.tree(f"{what} was given up")
        revision = self._admit(tree, asked, what)
        gathering = _Gathering(asked)
        try:
            for key, request in asked.items():
                job = partial(copy_context().run, self._answer, request, revision)
                if tree.pool is None or not tree.pool.tell(gathering.run(key, job)):
                    raise _broken_off(tree, what)
            failure = Patience(tree, what).wait(gathering.end, deadline)
        except SlotTimeout:
            raise _late(what, seconds, gathering.missing) from None
        finally:
            gathering.call_off(tree.pool)
        if failure is not None:
            raise _given_up(tree, what, failure) from failure.error
        return gathering.answers

    def in_turn(
        self, asked: Asked, what: str, context: Context, wanted: Callable[[], bool]
    ) -> Answers | None:
        """Answer them one after the other on this thread, in ``context``; None once nobody wants them."""
        tree = self._calls.tree(f"{what} was given up")
        revision = self._admit(tree, asked, what)
        answers = {}
        for key, request in asked.items():
            if not wanted():
                return None
            try:
                answers[key] = context.run(self._answer, request, revision)
            except BaseException as error:
                raise _given_up(tree, what, _Failure(request.method, error)) from error
        return answers

    def _admit(self, tree: Tree, asked: Asked, what: str) -> Revision:
        agreement = tree.wiring.board.agreement
        assert agreement is not None
        revision = agreement.revision
        for request in asked.values():
            method = request.method
            if method not in revision.input_requests or not self._desk.serves(method):
                raise errors.InvalidResponse(
                    f"{what} was asked for {method[:80]}, which this client did not offer",
                    details={"method": method},
                )
        return revision

    def _answer(self, request: InputRequest, revision: Revision) -> bytes:
        # Encoded here, where a value that has no JSON form is its handler's failure.
        return codec.encode(self._desk.answer(request.method, request.params, revision))


class _Failure:
    """A question that got no answer."""

    def __init__(self, method: str, error: BaseException) -> None:
        self.method = method
        self.error = error


class _Gathering:
    """Answers on their way, each told by the worker that has it. The first failure, or the last answer, ends
    it. No lock: every step is one operation of a dict or a slot."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._found: Answers = {}
        self.end: Slot[_Failure | None] = Slot()

    @property
    def missing(self) -> list[str]:
        """The methods of what is not answered yet."""
        return [request.method for key, request in self._asked.items() if key not in self._found]

    @property
    def answers(self) -> Answers:
        """In the order of the questions."""
        return {key: self._found[key] for key in self._asked}

    def run(self, key: str, job: Callable[[], bytes]) -> Run:
        """What to tell the pool."""
        # A pool tells the outcome of a task to whoever can be told something; it need not be an actor.
        return Run((key, self), job, cast(Ref, self))

    def tell(self, finished: Finished) -> bool:
        """What came of one of them. Any thread."""
        key: str = finished.task_id[0]  # type: ignore[index]  # as `run` made it
        outcome = finished.outcome
        if isinstance(outcome, Done):
            self._found[key] = cast(bytes, outcome.value)  # what `_answer` returns
            return len(self._found) < len(self._asked) or self.end.set(None)
        if isinstance(outcome, Failed):
            self.end.set(_Failure(self._asked[key].method, outcome.error))
        return True

    def call_off(self, pool: Ref | None) -> None:
        """Whoever has not begun to think need not begin."""
        if pool is not None:
            for key in self._asked.keys() - self._found.keys():
                pool.tell(Cancel((key, self)))


def _late(what: str, seconds: float, missing: list[str]) -> errors.RequestTimeout:
    return errors.RequestTimeout(
        f"no answer to {what} within {seconds:g} s: "
        f"handlers of this client were still thinking about {', '.join(missing)[:200]}",
        details={"seconds": seconds, "unanswered": missing},
    )


def _given_up(tree: Tree, what: str, failure: _Failure) -> errors.McpError:
    error, method = failure.error, failure.method
    if isinstance(error, PoolStopped):
        return _broken_off(tree, what)
    if isinstance(error, PoolFull):
        return errors.Backpressure(f"{what} was given up: no thread is free to answer {method} ({error})")
    if isinstance(error, Unanswered) and error.code in _NOT_OFFERED:
        return errors.InvalidResponse(
            f"{what} was asked for {method} in a way that this client did not offer: {error}"
        )
    return errors.Cancelled(
        f"{what} was given up: {method} has no answer: {str(error) or type(error).__name__}",
        details={"method": method},
    )


def _broken_off(tree: Tree, what: str) -> errors.McpError:
    if tree.wiring.closing:
        return errors.ClientClosed(f"{what} ended because the client was closed")
    return errors.Cancelled(f"{what} was given up: this client had to restart a part of itself")
