"""Getting to know the server at the other end of a wire: the handshake, then what was asked of it before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias, assert_never

from msgspec import Struct

from mcp_actors.protocol.actions import Action, Agreed, CancelTimer, Missed, Relisted, Send, SetTimer
from mcp_actors.protocol.conversation import Conversation
from mcp_actors.protocol.endings import Ending
from mcp_actors.protocol.events import ProbeExpired
from mcp_actors.protocol.handshake import Ask, Failed, Handshake, Settled, Step
from mcp_actors.protocol.jsonrpc import Answer, Failure, Id
from mcp_actors.protocol.policy import Policy
from mcp_actors.protocol.recovery import Question, Recovery
from mcp_actors.protocol.revisions import Revision
from mcp_actors.protocol.types.capabilities import declares

ROOTS_CHANGED: Final = "notifications/roots/list_changed"


class Ongoing(Struct, frozen=True):
    """A question is open."""


class Introduced(Struct, frozen=True):
    """The server is known; the connection may be used."""


Verdict: TypeAlias = Ongoing | Introduced | Failed


class Introduction:
    """One per wire. It appends what it wants done to the machine's actions and says how far it got.

    ``session`` is the number of the wire. ``again``: the server was ready before, so that whatever was agreed
    with it has to be agreed anew.
    """

    def __init__(
        self,
        policy: Policy,
        candidates: Sequence[Revision],
        ids: Iterator[int],
        conversation: Conversation,
        out: list[Action],
        *,
        session: int,
        again: bool,
    ) -> None:
        self._policy = policy
        self._ids = ids
        self._conversation = conversation
        self._out = out
        self._session = session
        self._again = again
        self._handshake: Handshake | None = Handshake(candidates, policy.identity, ids)
        self._recovery: Recovery | None = None
        self._question: int | None = None
        self._stream: int | None = None
        self._lost: list[str] = []
        #: What holds the open question back on its way.
        self.hindrance: Ending | None = None

    @property
    def probing(self) -> bool:
        """The server has not answered ``server/discover`` yet, and not to answer would tell its era."""
        probing = self._handshake is not None and self._handshake.probing
        return probing and self._policy.silence_tells_era

    def begin(self, *, probe: bool) -> Verdict:
        """Ask the first question."""
        assert self._handshake is not None
        return self._follow(self._handshake.begin(probe=probe))

    def silent(self) -> Verdict:
        """The time for an answer that a server may owe is over."""
        if self._stream is not None:
            return self._conclude()
        if self._handshake is None or not self.probing:
            return Ongoing()
        self._bury()
        return self._follow(self._handshake.silent())

    def receive(self, message: Answer | Failure) -> Verdict | None:
        """The answer to the open question, or None if it answers something else."""
        if message.id is None or message.id != self._question:
            return None
        self._question = self.hindrance = None
        if self._handshake is None:
            return self._recovered(message)
        self._out.append(CancelTimer(ProbeExpired()))
        if isinstance(message, Answer):
            return self._follow(self._handshake.answered(message.result))
        return self._follow(self._handshake.refused(message.error))

    def asks(self, id_: Id) -> bool:
        """Whether this is the open question."""
        return id_ == self._question

    def overheard(self) -> Verdict:
        """The conversation took something in: maybe what became of the stream of news."""
        if self._stream is None or self._conversation.subscriptions.proposes(self._stream):
            return Ongoing()
        return self._conclude()

    def abandon(self) -> None:
        """The wire is gone, or time is up."""
        self._out.append(CancelTimer(ProbeExpired()))
        self._bury()

    def _bury(self) -> None:
        if self._question is not None:
            self._conversation.bury(self._question)
            self._question = None

    def _follow(self, step: Step) -> Verdict:
        match step:
            case Ask(id_, frame, probing):
                self._question = id_
                self._out.append(Send(frame, None))
                if probing and self._policy.silence_tells_era:
                    self._out.append(SetTimer(ProbeExpired(), self._policy.probe_timeout))
                return Ongoing()
            case Settled(agreement, closing_words):
                self._handshake = None
                self._conversation.agree(agreement, self._session)
                self._out.extend(Send(frame, None) for frame in closing_words)
                self._out.append(Agreed(agreement))
                if not declares(agreement.capabilities, "resources.subscribe"):
                    self._lost.extend(self._conversation.standing.uris)
                self._recovery = Recovery(self._conversation.standing, agreement)
                return self._ask(self._recovery.begin())
            case Failed():
                return step
            case _:
                assert_never(step)

    def _ask(self, question: Question | None) -> Verdict:
        if question is None:
            return self._listen()
        assert self._conversation.envelopes is not None
        self._question = next(self._ids)
        frame = self._conversation.envelopes.request(self._question, question.method, question.params)
        self._out.append(Send(frame, None))
        return Ongoing()

    def _recovered(self, message: Answer | Failure) -> Verdict:
        recovery = self._recovery
        assert recovery is not None
        if isinstance(message, Answer):
            if recovery.listing:
                self._out.append(Relisted(recovery.method, message.result, first=recovery.first))
            return self._ask(recovery.answered(message.result))
        if recovery.subject is not None:
            self._lost.append(recovery.subject)
        return self._ask(recovery.refused())

    def _listen(self) -> Verdict:
        self._stream = self._conversation.listen()
        if self._stream is None:
            return self._conclude()
        self._out.append(SetTimer(ProbeExpired(), self._policy.probe_timeout))
        return Ongoing()

    def _conclude(self) -> Verdict:
        self._out.append(CancelTimer(ProbeExpired()))
        for uri in self._lost:
            del self._conversation.standing.uris[uri]
        if self._again:
            self._refresh_roots()
            lost = (*self._lost, *self._conversation.subscriptions.take_lost())
            self._out.append(Missed("the connection was lost", lost))
        if self._stream is not None and self._conversation.subscriptions.streams:
            # Somebody may have begun to listen in the meantime. Whoever was refused is not asked again.
            self._conversation.listen()
        return Introduced()

    def _refresh_roots(self) -> None:
        agreement, identity = self._conversation.agreement, self._policy.identity
        assert agreement is not None
        if identity.offer.roots and ROOTS_CHANGED in agreement.revision.client_notifications:
            self._conversation.notify(ROOTS_CHANGED, None)
