"""What rules and laws of the client machine's world ask about the present, and deeds of several steps."""

from __future__ import annotations

from hypothesis.stateful import RuleBasedStateMachine

from mcp_actors.protocol import events as E
from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.protocol.insistence import INSISTED
from mcp_actors.protocol.standing import LASTING
from mcp_actors.protocol.states import State
from tests.protocol.machine_model import Model
from tests.protocol.machine_speech import Voice
from tests.protocol.machine_wire import Duty, ToyWire


class Stage(RuleBasedStateMachine):
    """The model and its server; no rules yet."""

    model: Model
    voice: Voice

    # Questions about the present.

    def _feed(self, event: E.Event) -> list[object]:
        return list(self.model.feed(event))

    def _is(self, state: State) -> bool:
        return self.model.machine.state is state

    def _due(self) -> list[E.Timer]:
        """The timers of which there is one at most, and that a random choice would miss too often."""
        rare = (E.ProbeExpired(), E.PauseOver(), E.PulseDue(), E.ListenDue(), E.RetryDue(INSISTED))
        return [timer for timer in rare if timer in self.model.timers]

    def _opening(self) -> ToyWire | None:
        wire = self.model.wire
        return wire if wire and not (wire.opened or wire.told_to_close) else None

    def _readable(self) -> ToyWire | None:
        wire = self.model.wire
        return wire if wire and wire.live and wire.permits else None

    def _greeted(self) -> ToyWire | None:
        wire = self.model.wire
        return wire if wire and wire.live and self._is(State.INITIALIZING) else None

    def _question(self) -> tuple[int, str] | None:
        wire = self._readable()
        return wire.question if wire and self._is(State.INITIALIZING) else None

    def _scanning(self) -> ToyWire | None:
        wire = self.model.wire
        return wire if wire and wire.live and wire.scans else None

    def _written(self) -> list[int]:
        return [id_ for id_ in self.model.history.offered if self.model.history.accepted[id_]]

    def _fetchable(self) -> list[int]:
        """Requests of callers that leave nothing behind: their own threads may run the exchanges."""
        wire, history = self.model.wire, self.model.history
        if not (wire and wire.live and self._is(State.READY)):
            return []
        lasting = {id_ for id_, caller in history.owners.items() if history.wishes[caller][0] in LASTING}
        return [id_ for id_ in self._written() if id_ in history.owners and id_ not in lasting]

    def _streams(self) -> bool:
        wire = self._readable()
        return wire is not None and bool(wire.streams)

    def _open_duty(self) -> Duty | None:
        wire = self.model.wire
        quiet = wire is not None and not wire.line
        duties = [duty for duty in wire.duties if duty.state == "open"] if wire and quiet else []
        return duties[0] if duties else None

    def _talking(self) -> bool:
        return self._is(State.READY) or self._is(State.INITIALIZING)

    def _stateless(self) -> bool:
        agreement = self.model.machine.conversation.agreement
        return self._is(State.READY) and agreement is not None and agreement.revision.stateless

    def _waits_for_time(self) -> bool:
        model = self.model
        if self._is(State.READY) or (self._is(State.BACKOFF) and model.machine.attempts.parked):
            return False
        if self._is(State.CLOSING):
            return not model.halts
        return self._is(State.BACKOFF) or model.wire is not None

    # Deeds made of several steps.

    def _serve(self, most: int) -> None:
        speeches = self.voice.service(most) if self._readable() else []
        if speeches:
            self.model.deliver(speeches)

    def _walk_to_ready(self, n: int = 0) -> None:
        """By a handshake that succeeds; ``n`` chooses what becomes of the rest that is to be agreed."""
        for _ in range(20):
            if self._is(State.READY) or self._is(State.CLOSING):
                return
            self._one_step_on(n)

    def _one_step_on(self, n: int) -> None:
        model, wire, question = self.model, self.model.wire, self._question()
        model.mood = "taking"
        if model.insisting:
            model.expire(E.RetryDue(INSISTED))
        elif question:
            opening = question[1] in ("server/discover", "initialize")
            model.deliver([self.voice.speech("introduce", 0 if opening else n)])
        elif self._opening():
            model.open()
        elif wire and wire.broken:
            model.end(wire, Ending(EndKind.BROKEN, "it broke"))
        elif wire and self._scanning():
            model.scan(wire, 0)
        elif model.lane_was_full:
            model.handle_news(10)
        elif E.StateExpired() in model.timers:
            model.expire(E.StateExpired())
        else:
            model.feed(E.Begun())
