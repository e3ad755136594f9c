"""Getting to know the server at the other end of a wire: the handshake, then the listings once more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias, assert_never

from msgspec import Struct

from mcp_actors.protocol.actions import Action, Agreed, CancelTimer, Relisted, Send, SetTimer
from mcp_actors.protocol.conversation import Conversation
from mcp_actors.protocol.events import ProbeExpired
from mcp_actors.protocol.handshake import Ask, Failed, Handshake, Settled, Step
from mcp_actors.protocol.jsonrpc import Answer, Failure
from mcp_actors.protocol.policy import Policy
from mcp_actors.protocol.recovery import Page, Relisting
from mcp_actors.protocol.revisions import Revision


class Ongoing(Struct, frozen=True):
    """A question is open."""


class Introduced(Struct, frozen=True):
    """The server is known; the connection may be used."""


Verdict: TypeAlias = Ongoing | Introduced | Failed


class Introduction:
    """One per wire. It appends what it wants done to the machine's actions and says how far it got."""

    def __init__(
        self,
        policy: Policy,
        candidates: Sequence[Revision],
        ids: Iterator[int],
        conversation: Conversation,
        out: list[Action],
    ) -> None:
        self._policy = policy
        self._ids = ids
        self._conversation = conversation
        self._out = out
        self._handshake: Handshake | None = Handshake(candidates, policy.identity, ids)
        self._relisting: Relisting | None = None
        self._question: int | None = None

    @property
    def probing(self) -> bool:
        """The server has not answered ``server/discover`` yet."""
        return self._handshake is not None and self._handshake.probing

    def begin(self, *, probe: bool) -> Verdict:
        """Ask the first question."""
        assert self._handshake is not None
        return self._follow(self._handshake.begin(probe=probe))

    def silent(self) -> Verdict:
        """The probe's time is over."""
        if self._handshake is None or not self.probing:
            return Ongoing()
        self._bury()
        return self._follow(self._handshake.silent())

    def receive(self, message: Answer | Failure) -> Verdict | None:
        """The answer to the open question, or None if it answers something else."""
        if message.id is None or message.id != self._question:
            return None
        self._question = None
        if self._handshake is None:
            return self._relisted(message)
        self._out.append(CancelTimer(ProbeExpired()))
        if isinstance(message, Answer):
            return self._follow(self._handshake.answered(message.result))
        return self._follow(self._handshake.refused(message.error))

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
                if probing:
                    self._out.append(SetTimer(ProbeExpired(), self._policy.probe_timeout))
                return Ongoing()
            case Settled(agreement, closing_words):
                self._handshake = None
                self._conversation.agree(agreement)
                self._out.extend(Send(frame, None) for frame in closing_words)
                self._out.append(Agreed(agreement))
                self._relisting = Relisting(self._conversation.listed, agreement.capabilities)
                return self._ask(self._relisting.next_page())
            case Failed():
                return step
            case _:
                assert_never(step)

    def _ask(self, page: Page | None) -> Verdict:
        if page is None:
            return Introduced()
        assert self._conversation.envelopes is not None
        self._question = next(self._ids)
        frame = self._conversation.envelopes.request(self._question, page.method, page.params)
        self._out.append(Send(frame, None))
        return Ongoing()

    def _relisted(self, message: Answer | Failure) -> Verdict:
        assert self._relisting is not None
        if isinstance(message, Failure):
            return self._ask(self._relisting.next_listing())
        self._out.append(Relisted(self._relisting.method, message.result))
        return self._ask(self._relisting.next_page(message.result))
