"""The client machine against everything that can happen to it: its promises hold after every step."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import invariant

from mcp_actors.protocol import events as E
from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.protocol.insistence import INSISTED
from mcp_actors.protocol.listening import LISTEN
from mcp_actors.protocol.standing import UNSUBSCRIBE
from mcp_actors.protocol.states import State
from tests.protocol.machine_rules import World

# The planted bugs of mutations.py are hunted with fewer examples, and nobody reads their shrunk form.
EXAMPLES = int(os.environ.get("MACHINE_EXAMPLES", "600"))
PHASES = [Phase.generate] if "MACHINE_EXAMPLES" in os.environ else [Phase.generate, Phase.shrink]


class ConnectionLaws(World):
    """The invariants are the machine's promises; `teardown` lets everything settle and stops."""

    @invariant()
    def no_caller_gets_two_outcomes(self) -> None:
        assert all(len(outcomes) < 2 for outcomes in self.model.history.replies.values())

    @invariant()
    def the_machine_remembers_exactly_those_who_wait(self) -> None:
        assert set(self.model.machine.callers()) == self.model.history.unanswered()

    @invariant()
    def nothing_odd_was_done(self) -> None:
        assert not any(self.model.history.faults.values()), dict(self.model.history.faults)

    @invariant()
    def ready_is_earned_by_a_handshake_on_the_same_wire(self) -> None:
        assert not self._is(State.READY) or self.model.agreed_on is self.model.wire

    @invariant()
    def permits_never_exceed_the_window(self) -> None:
        assert all(0 <= wire.permits <= self.model.policy.window for wire in self.model.wires.values())

    @invariant()
    def a_live_ready_wire_has_its_permits_unless_held_back(self) -> None:
        wire, full = self.model.wire, self.model.policy.window
        assert not self._is(State.READY) or not wire or wire.permits == full or self.model.held_back()

    @invariant()
    def a_wire_that_introduces_itself_has_its_permits_unless_held_back(self) -> None:
        wire, full = self._greeted(), self.model.policy.window
        assert wire is None or wire.permits == full or self.model.held_back()

    @invariant()
    def a_pause_ends_by_a_timer_or_by_the_lane(self) -> None:
        paused, block = self.model.machine.flow.paused, self.model.policy.block
        assert (E.PauseOver() in self.model.timers) == (paused and not block)
        assert not (paused and block) or self.model.lane_was_full

    @invariant()
    def shedding_ends_with_the_full_lane(self) -> None:
        shedding = self.model.machine.flow.shedding and not self._is(State.CLOSING)
        assert not shedding or self.model.lane_was_full

    @invariant()
    def nothing_is_pending_outside_ready(self) -> None:
        assert self._is(State.READY) or not len(self.model.machine.conversation.pending)

    @invariant()
    def pending_requests_and_deadlines_are_the_same(self) -> None:
        flights = {flight.id for flight in self.model.machine.conversation.pending}
        assert flights == self.model.timers_of(E.RequestExpired)

    @invariant()
    def refused_frames_and_retries_are_the_same(self) -> None:
        refused = {f.id for f in self.model.machine.conversation.pending if f.refused is not None}
        assert refused == self.model.timers_of(E.RetryDue) - {INSISTED}

    @invariant()
    def waiters_and_their_deadlines_are_the_same(self) -> None:
        timed = {timer.caller for timer in self.model.timers if isinstance(timer, E.WaitExpired)}
        assert timed == set(self.model.machine.waiters)

    @invariant()
    def only_a_backoff_is_parked(self) -> None:
        assert not self.model.machine.attempts.parked or self.model.state in (State.BACKOFF, State.CLOSING)

    @invariant()
    def nobody_waits_for_a_parked_connection(self) -> None:
        assert not self.model.machine.attempts.parked or not len(self.model.machine.waiters)

    @invariant()
    def exactly_the_waiting_states_have_a_state_timer(self) -> None:
        assert (E.StateExpired() in self.model.timers) == self._waits_for_time()

    @invariant()
    def only_an_open_probe_or_stream_has_its_timer(self) -> None:
        question = self._question()
        probing = question is not None and question[1] in ("server/discover", LISTEN)
        unread = self._readable() is None or self.model.insisting
        assert E.ProbeExpired() not in self.model.timers or probing or unread

    @invariant()
    def only_a_ready_connection_counts_its_uptime(self) -> None:
        assert E.UptimeReached() not in self.model.timers or self._is(State.READY)

    @invariant()
    def tombstones_are_swept_while_there_are_any(self) -> None:
        buried = bool(self.model.machine.conversation.tombstones) and not self._is(State.CLOSING)
        assert (E.SweepDue() in self.model.timers) == buried

    @invariant()
    def news_is_dispatched_once_and_in_order(self) -> None:
        serials = self.model.history.dispatched
        assert all(earlier < later for earlier, later in zip(serials, serials[1:], strict=False))

    @invariant()
    def news_that_arrived_is_dispatched(self) -> None:
        assert set(self.model.history.promised) <= set(self.model.history.dispatched)

    @invariant()
    def a_request_is_written_at_most_once(self) -> None:
        assert all(times == 1 for times in self.model.history.accepted.values())

    @invariant()
    def only_callers_requests_and_streams_are_taken_back_and_once(self) -> None:
        owners = self.model.history.owners
        for wire in self.model.wires.values():
            assert all(n == 1 and id_ in owners | wire.streams for id_, n in wire.taken_back.items())

    @invariant()
    def every_pending_request_was_offered(self) -> None:
        flights = {flight.id for flight in self.model.machine.conversation.pending}
        assert flights <= set(self.model.history.offered)

    # What the server asks of us.

    @invariant()
    def the_duties_are_those_that_nobody_answered_or_took_back(self) -> None:
        wire = self.model.wire if self._talking() else None
        open_ = [duty for duty in wire.duties if duty.state == "open"] if wire else []
        assert len(self.model.machine.conversation.duties) == len(open_) <= self.model.policy.max_duties

    @invariant()
    def a_request_of_the_servers_is_answered_once(self) -> None:
        assert all(duty.written <= 1 for duty in self.model.history.duties.values())
        for wire in self.model.wires.values():
            assert wire.replies <= wire.requests

    @invariant()
    def an_answer_is_written_or_waits(self) -> None:
        wire = self.model.wire
        if wire and wire.live and self._talking() and not self.model.insisting:
            assert all(duty.written for duty in wire.duties if duty.state == "answered")

    # What stands.

    @invariant()
    def what_was_agreed_stands_until_it_is_taken_back_or_said_to_be_lost(self) -> None:
        standing, history = self.model.machine.conversation.standing, self.model.history
        assert set(standing.uris) == set(history.subscribed)
        assert standing.level == history.level

    @invariant()
    def the_streams_are_those_that_nobody_ended_or_took_back(self) -> None:
        believed = set(self.model.machine.conversation.subscriptions.streams)
        wire = self.model.wire
        if not wire or not self._talking():
            assert not believed
        elif self.model.insisting:
            # What waits for a busy wire was not seen by the world yet.
            assert believed & set(wire.streams) <= set(wire.streaming)
        elif wire.live:
            assert believed == set(wire.streaming)

    @invariant()
    def at_most_one_stream_goes_on(self) -> None:
        wire = self.model.wire
        if wire and wire.live and not self.model.insisting:
            assert len([stream for stream in wire.streaming.values() if stream.begun]) <= 1

    @invariant()
    def every_subscription_has_a_stream_or_will_have_one(self) -> None:
        wire, model = self.model.wire, self.model
        if not wire or not wire.live or not self._stateless() or model.insisting:
            return
        covered = {uri for stream in wire.streaming.values() for uri in stream.uris}
        leaving = {params["uri"] for method, params in model.history.calls() if method == UNSUBSCRIBE}
        assert model.history.subscribed.keys() <= covered | leaving or E.ListenDue() in model.timers

    @invariant()
    def nobody_is_surprised_by_the_answer_to_a_ping(self) -> None:
        for wire in self.model.wires.values():
            assert all(wire.unmatched[id_] < max(1, wire.answered[id_]) for id_ in wire.pings)

    @invariant()
    def only_a_ready_connection_has_a_pulse_or_listens_again(self) -> None:
        model, agreement = self.model, self.model.machine.conversation.agreement
        pulse = self._is(State.READY) and agreement is not None and agreement.revision.has_ping
        assert (E.PulseDue() in model.timers) == (pulse and model.policy.keep_alive is not None)
        assert E.ListenDue() not in model.timers or self._is(State.READY)

    @invariant()
    def only_a_wire_in_use_is_insisted_on(self) -> None:
        assert not self.model.insisting or self._talking()

    @invariant()
    def the_machine_halts_at_most_once(self) -> None:
        assert self.model.halts <= 1

    def teardown(self) -> None:
        if hasattr(self, "model"):
            if self.settle and not self._is(State.CLOSING):
                self._let_everything_settle()
            self._stop()

    def _let_everything_settle(self) -> None:
        model = self.model
        model.mood = "taking"
        kept = (E.SweepDue, E.StateExpired, E.PulseDue)
        while timers := [timer for timer in model.timers if not isinstance(timer, kept)]:
            model.expire(timers[0])
        assert not len(model.machine.conversation.pending)
        assert not len(model.machine.waiters)
        for _ in range(3):
            if E.SweepDue() in model.timers:
                model.expire(E.SweepDue())
        assert not model.machine.conversation.tombstones
        assert E.SweepDue() not in model.timers

    def _stop(self) -> None:
        model = self.model
        self._feed(E.StopAsked())
        while model.under_way:
            model.hear_of_departure()
        if not self.settle and E.StateExpired() in model.timers:
            model.expire(E.StateExpired())
        if model.wire is not None:
            model.end(model.wire, Ending(EndKind.CLOSED, "closed"))
        assert model.halts == 1
        assert not model.timers
        assert all(len(outcomes) == 1 for outcomes in model.history.replies.values())
        assert not any(model.history.faults.values()), dict(model.history.faults)


TestConnectionLaws = ConnectionLaws.TestCase
for requirement in (
    "request:one-outcome",
    "request:ids",
    "request:cancel-idempotent",
    "request:no-leak",
    "connection:generation",
    "connection:stop",
):
    TestConnectionLaws = pytest.mark.requirement(requirement)(TestConnectionLaws)
TestConnectionLaws.settings = settings(
    max_examples=EXAMPLES,
    stateful_step_count=40,
    phases=PHASES,
    deadline=None,
    database=None,
    report_multiple_bugs=False,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
