"""The cells of the server machine: what each event does to a session."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from mcp_actors.protocol import jsonrpc
from mcp_actors.protocol.jsonrpc import Id
from mcp_actors.protocol.serving import events as E
from mcp_actors.protocol.serving import frames
from mcp_actors.protocol.serving.actions import (
    Action,
    Attend,
    CancelJob,
    CancelTimer,
    End,
    Heard,
    Send,
    SetTimer,
    Violation,
)
from mcp_actors.protocol.serving.asking import Asking
from mcp_actors.protocol.serving.entry import params_of, shown
from mcp_actors.protocol.serving.keepsake import Keepsake
from mcp_actors.protocol.serving.policy import SessionPolicy
from mcp_actors.protocol.serving.profile import Profile
from mcp_actors.protocol.serving.reception import Reception
from mcp_actors.protocol.serving.states import Phase
from mcp_actors.protocol.serving.terms import Refused, Terms

_CANCELLED = "notifications/cancelled"
_INITIALIZED = "notifications/initialized"


class SessionCells:
    """The state of a session. ``agreed``: the client counts as greeted already, under these terms."""

    def __init__(
        self,
        profile: Callable[[], Profile],
        policy: SessionPolicy | None = None,
        *,
        agreed: Terms | None = None,
    ) -> None:
        self._out: list[Action] = []
        self._policy = policy or SessionPolicy()
        self._attending = False
        # Who was never asked to introduce himself stays for one request, and hears of changes on no account
        # but a stream's.
        self._lasting = agreed is None
        self.phase = Phase.FRESH if agreed is None else Phase.READY
        self.reception = Reception(profile, self._policy, self._out, agreed)
        self.asking = Asking(self._out)

    @property
    def agreed(self) -> Terms | None:
        """What the handshake settled; None before one."""
        return self.reception.agreed

    @property
    def keepsake(self) -> Keepsake | None:
        """What another process would have to know; None before a handshake."""
        return self.reception.keepsake

    @property
    def busy(self) -> bool:
        """Whether requests run or streams are open."""
        return bool(self.reception.running or self.reception.listens)

    @property
    def settled(self) -> bool:
        """Whether nothing runs, listens or waits for a time: a session that can be dropped as it is."""
        return self.phase in (Phase.FRESH, Phase.READY) and not (self._attending or self.busy)

    def ignore(self, _event: E.Event) -> Phase:
        return self.phase

    # What the client sends.

    def hear(self, event: E.Received) -> Phase:
        message = event.message
        if isinstance(message, jsonrpc.Batch):
            phase = self._hear_batch(message)
        else:
            phase = self._hear(message, event.modern)
        self._attend(phase)
        # The client may have cancelled the last request that a closing session waited for.
        return self._settle() if phase is Phase.CLOSING else phase

    def _hear_batch(self, batch: jsonrpc.Batch) -> Phase:
        for message in self.reception.unpack(batch):
            if isinstance(message, jsonrpc.Malformed):
                # The error is part of the array's answer.
                self._misread(message)
            else:
                self.phase = self._hear(message, False)
        return self.phase

    def _hear(self, message: jsonrpc.Single, modern: bool) -> Phase:
        match message:
            case jsonrpc.Request():
                return self._serve(message, modern)
            case jsonrpc.Notification():
                return self._be_told(message)
            case jsonrpc.Answer(id_, result):
                self.asking.answered(id_, result)
            case jsonrpc.Failure(id_, error):
                self.asking.refused(id_, error)
            case jsonrpc.Malformed(reason):
                self._misread(message)
                if not message.told:
                    frame = frames.unnamed(Refused(message.code, reason))
                    self._out.append(Send(frame, None, code=message.code))
            case _:
                assert_never(message)
        return self.phase

    def _misread(self, message: jsonrpc.Malformed) -> None:
        self._out.append(Violation("malformed", message.reason))
        self.asking.spoil(message.id, message.reason)

    def _serve(self, request: jsonrpc.Request, modern: bool) -> Phase:
        if self.phase is Phase.CLOSING:
            self.reception.turn_away(request)
            return self.phase
        self.reception.serve(request, modern)
        if self.phase is Phase.FRESH and self.reception.greeted:
            self._out.append(SetTimer(E.PhaseExpired(), self._policy.init_timeout))
            return Phase.GREETED
        # A client that goes on without saying `initialized` is taken at its deeds.
        agreed = self.phase is Phase.GREETED and self.reception.counts_as_agreed(request, modern)
        return Phase.READY if agreed else self.phase

    def _be_told(self, message: jsonrpc.Notification) -> Phase:
        params = params_of(message)
        if isinstance(params, Refused):
            self._out.append(Violation("malformed", f"{shown(message.method)}: {params.message}"))
            return self.phase
        if message.method == _CANCELLED:
            id_, reason = params.get("requestId"), params.get("reason")
            # A bool is an int for Python, and no id.
            if isinstance(id_, int | str) and not isinstance(id_, bool):
                self._cancel(id_, reason if isinstance(reason, str) else "cancelled", tell=True)
        self._out.append(Heard(message.method, params))
        initialized = message.method == _INITIALIZED and self.phase is Phase.GREETED
        return Phase.READY if initialized else self.phase

    def resume(self, event: E.Resumed) -> Phase:
        if not self.reception.resume(event.keepsake):
            # Settled by a server that spoke another revision.
            return self.phase
        self._attend(Phase.READY)
        return Phase.READY

    # What the server's own code does.

    def conclude(self, event: E.Concluded) -> Phase:
        if event.id in self.reception.running:
            # First, as nothing about a request may follow its answer.
            self.asking.abandon(event.id, "its request is answered")
            self.reception.conclude(event.id, event.body, event.code)
        return self._settle()

    def say(self, event: E.Said) -> Phase:
        self.reception.say(event)
        return self.phase

    def ask(self, event: E.Asked) -> Phase:
        question, running = event.question, self.reception.running
        if question.about is None:
            self.asking.ask(question, self.reception.agreed)
        elif question.about in running:
            self.asking.ask(question, running[question.about].job.terms)
        else:
            self.asking.leave(question, "its request is over")
        return self.phase

    def leave_unasked(self, event: E.Asked) -> Phase:
        self.asking.leave(event.question, "the client is gone")
        return self.phase

    def expire(self, event: E.QuestionExpired) -> Phase:
        self.asking.expire(event.number)
        return self.phase

    def forgo(self, event: E.Forgone) -> Phase:
        self.asking.forgo(event.caller)
        return self.phase

    def publish(self, event: E.Published) -> Phase:
        self.reception.publish(event.news, ready=self._lasting and self.phase is Phase.READY)
        return self.phase

    # Ends.

    def dismiss(self, event: E.Dismissed) -> Phase:
        self._cancel(event.id, event.reason, tell=False)
        self._attend(self.phase)
        return self._settle()

    def lapse(self, _event: E.PhaseExpired) -> Phase:
        return self._break_off("the client did not finish its handshake in time")

    def lose(self, event: E.Gone) -> Phase:
        for id_ in self.reception.abandon():
            self._out.append(CancelJob(id_, event.reason))
        self.asking.lose(event.reason)
        self._attend(Phase.CLOSED)
        if self.phase is Phase.CLOSING:
            self._out.append(CancelTimer(E.GraceOver()))
        return Phase.CLOSED

    def stop(self, event: E.StopAsked) -> Phase:
        self.reception.end_listens()
        self._attend(Phase.CLOSING)
        if not self.reception.running:
            return self._close("the server was stopped")
        self._out.append(SetTimer(E.GraceOver(), event.grace))
        return Phase.CLOSING

    def halt(self, _event: E.GraceOver) -> Phase:
        return self._break_off("the server was stopped")

    # Steps that cells share.

    def _cancel(self, id_: Id, reason: str, *, tell: bool) -> None:
        """Nobody waits for this request any more; ``tell``: its stream is still open and has to be ended."""
        if id_ in self.reception.running:
            self.asking.abandon(id_, reason)
            # Before the last word about it, with which the job is forgotten.
            self._out.append(CancelJob(id_, reason))
        self.reception.cancel(id_, tell=tell)

    def _settle(self) -> Phase:
        """A session that is closing closes with its last request."""
        if self.phase is Phase.CLOSING and not self.reception.running:
            self._out.append(CancelTimer(E.GraceOver()))
            return self._close("the server was stopped")
        return self.phase

    def _break_off(self, reason: str) -> Phase:
        """Close although work is under way; whoever waits for it hears why it does not come."""
        self.reception.end_listens()
        for id_ in tuple(self.reception.running):
            self._out.append(CancelJob(id_, reason))
            self.reception.refuse(id_, Refused(jsonrpc.INTERNAL_ERROR, reason))
        return self._close(reason)

    def _close(self, reason: str) -> Phase:
        self.asking.lose(reason)
        self._attend(Phase.CLOSED)
        self._out.append(End(reason))
        return Phase.CLOSED

    def _attend(self, phase: Phase) -> None:
        """Have changes told to this session while somebody there listens."""
        alive = phase not in (Phase.CLOSING, Phase.CLOSED)
        wanted = alive and ((phase is Phase.READY and self._lasting) or bool(self.reception.listens))
        if wanted is not self._attending:
            self._attending = wanted
            self._out.append(Attend(wanted))
