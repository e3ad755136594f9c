"""Call: one request on its way through the server's own code, on a worker's thread."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextvars import Context as Variables
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from mcp_actors.protocol import codec, jsonrpc
from mcp_actors.protocol.codec import JsonObject
from mcp_actors.protocol.serving import frames
from mcp_actors.protocol.serving.events import Asked, Concluded, Forgone, Said
from mcp_actors.protocol.serving.finishing import finished
from mcp_actors.protocol.serving.questions import Question, Verdict
from mcp_actors.protocol.serving.terms import Job, Refused
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.slot import Slot, SlotTimeout
from mcp_actors.server.cancellation import Cancellation
from mcp_actors.server.faults import NoAnswer, Refusal, RequestCancelled

if TYPE_CHECKING:
    from mcp_actors.server.authorization.principal import Principal
    from mcp_actors.server.peer import Peer

#: How much longer than its timer a question is waited for, should the timer be late.
_GRACE: Final = 1.0
#: How long news wait for their turn before they are left out, and how often they look.
_TURN_SECONDS: Final = 1.0
_LOOK_AGAIN: Final = 0.001
_CANCELLED: Final = Refused(jsonrpc.INTERNAL_ERROR, "the request was cancelled")
_INTERNAL: Final = Refused(jsonrpc.INTERNAL_ERROR, "the server failed")

logger: Final = logging.getLogger("mcp_actors.server")


class Later:
    """What a handler returns whose answer comes another way, or at another time."""


LATER: Final = Later()


class Call:
    """What a handler has to do with: its request, whoever sent it, and the way back. Belongs to the worker;
    `cancellation` may be set by any thread."""

    __slots__ = ("_variables", "answered", "cancellation", "job", "peer", "principal")

    def __init__(
        self, peer: Peer, job: Job, principal: Principal | None, variables: Variables | None
    ) -> None:
        self.peer = peer
        self.job = job
        self.principal = principal
        self.cancellation = Cancellation()
        #: To be called when the answer is on its way, by the worker that gave it.
        self.answered: Callable[[], object] | None = None
        self._variables = variables

    @property
    def owner(self) -> str | None:
        """Whose request it is, for what must not be shared."""
        return None if self.principal is None else self.principal.binding

    def run(self) -> None:
        """Answer the request. Whatever happens, it is answered once, and nothing is raised."""
        if self.cancellation:
            return
        variables = self._variables
        work = self._answer if variables is None else partial(variables.run, self._answer)
        self.peer.host.engagements.run(work)

    def conclude(self, result: JsonObject) -> None:
        """The answer."""
        host, job = self.peer.host, self.job
        try:
            told = finished(
                result,
                job.method,
                job.terms.revision,
                info=host.profile().info,
                freshness=host.policy.freshness,
            )
            body = codec.encode(told)
        # Middleware and methods of extensions may return anything, which may raise anything.
        except Exception:
            self.refuse(_INTERNAL)
            logger.exception("%s: the answer to %s cannot be written", self.peer.name, job.method)
            return
        self.peer.bring_for(self, Concluded(job.id, body))

    def refuse(self, refused: Refused) -> None:
        """The error that is the answer."""
        try:
            body = frames.error_body(refused)
        except Exception:
            self.refuse(_INTERNAL)
            logger.exception("%s: an error cannot be written", self.peer.name)
            return
        self.peer.bring_for(self, Concluded(self.job.id, body, refused.code))

    def say(self, method: str, params: JsonObject) -> None:
        """News for the client while the request is worked on.

        Where many handlers talk at once each waits for its turn, lest memory fills with what they say.
        """
        deadline = None
        while self.peer.crowded:
            deadline = deadline or Deadline.after(_TURN_SECONDS)
            if self.cancellation.wait(_LOOK_AGAIN) or deadline.expired:
                return
        self.peer.bring_for(self, Said(self.job.id, method, params))

    def ask(self, method: str, params: JsonObject, seconds: float) -> Verdict:
        """Send a request of our own to the client and wait for what becomes of it (up to 2025-11-25)."""
        slot: Slot[Verdict] = Slot()
        question = Question(slot, method, params, self.job.id, seconds)
        try:
            self.peer.bring_for(self, Asked(question))
            return slot.wait(Deadline.after(seconds + _GRACE))
        except SlotTimeout:
            self.peer.bring(Forgone(slot))
            raise NoAnswer(f"the client did not answer {method} in time") from None
        except BaseException:
            self.peer.bring(Forgone(slot))
            raise

    def _answer(self) -> None:
        handle: Callable[[Call], Any] = self.peer.host.answer
        try:
            result = handle(self)
        except Refusal as refusal:
            self.refuse(refusal.refused())
        except RequestCancelled:
            # As a rule nobody waits for an answer; whoever does shall have one.
            self.refuse(_CANCELLED)
        # SystemExit, KeyboardInterrupt of a handler's own: that request's error, and nobody else's.
        except BaseException:
            # First: a filter of the host's logging may raise.
            self.refuse(_INTERNAL)
            logger.exception("%s: %s failed", self.peer.name, self.job.method)
        else:
            if result is not LATER:
                self.conclude(result)
        if self.answered is not None:
            self.answered()
