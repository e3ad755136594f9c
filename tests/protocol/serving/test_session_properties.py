"""The server machine against everything that can happen to it: its promises hold after every step."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import invariant

from mcp_actors.protocol.serving import events as E
from mcp_actors.protocol.serving.states import Phase
from tests.protocol.serving.world_rules import World

# The planted bugs are hunted with fewer examples.
EXAMPLES = 120 if "MACHINE_EXAMPLES" in os.environ else 400


class SessionLaws(World):
    """The invariants are the machine's promises; `teardown` lets everything settle and ends the session."""

    @invariant()
    def nothing_odd_was_done(self) -> None:
        assert not self.model.faults, dict(self.model.faults)

    @invariant()
    def every_request_has_its_one_last_word_when_it_is_over_and_not_before(self) -> None:
        assert all(group.finals == group.owed for group in self.model.groups)

    @invariant()
    def the_machine_remembers_exactly_what_is_under_way(self) -> None:
        reception = self.model.machine.reception
        assert set(reception.running) == {entry.id for entry in self.model.running()}
        assert {listen.id for listen in reception.listens} == {entry.id for entry in self.model.listening()}
        assert self.model.machine.busy == bool(reception.running or len(reception.listens))

    @invariant()
    def the_arrays_are_those_that_are_not_answered(self) -> None:
        waiting = [group for group in self.model.groups if group.array and not group.silent]
        ids = {entry.id for group in waiting for entry in group.entries if not entry.ended}
        assert len(self.model.machine.reception._bundles) == len(ids)

    @invariant()
    def the_bounds_are_kept(self) -> None:
        assert len(self.model.running()) <= self.model.policy.max_running
        assert len(self.model.listening()) <= self.model.policy.max_listens

    @invariant()
    def a_question_has_one_verdict_or_none_if_nobody_waits_for_it(self) -> None:
        assert all(len(query.verdicts) <= (not query.forgone) for query in self.model.queries)

    @invariant()
    def a_question_is_taken_back_at_most_once_and_only_if_it_was_not_answered(self) -> None:
        assert all(query.taken_back <= 1 for query in self.model.queries)

    @invariant()
    def the_open_questions_are_those_with_a_timer(self) -> None:
        numbers = {query.number for query in self.model.open_queries()}
        timed = {timer.number for timer in self.model.timers if isinstance(timer, E.QuestionExpired)}
        assert numbers == timed
        assert len(self.model.machine.asking.questions) == len(numbers)

    @invariant()
    def a_question_does_not_outlive_its_request(self) -> None:
        assert not any(query.about is not None and query.about.ended for query in self.model.open_queries())

    @invariant()
    def a_phase_has_its_timer(self) -> None:
        assert (E.PhaseExpired() in self.model.timers) == self._is(Phase.GREETED)
        assert (E.GraceOver() in self.model.timers) == self._is(Phase.CLOSING)

    @invariant()
    def the_phase_is_the_one_that_was_told(self) -> None:
        assert self.model.machine.phase is self.model.phase
        assert self.model.over == self._is(Phase.CLOSED)

    @invariant()
    def a_session_closes_only_while_something_runs(self) -> None:
        assert not self._is(Phase.CLOSING) or self.model.running()

    @invariant()
    def whoever_wants_to_hear_of_changes_attends(self) -> None:
        alive = not (self._is(Phase.CLOSING) or self._is(Phase.CLOSED))
        session = self.model.lasting and self._is(Phase.READY)
        assert self.model.attending == (alive and (session or bool(self.model.listening())))

    @invariant()
    def what_was_agreed_on_stands(self) -> None:
        agreed = self.model.machine.agreed
        assert (agreed and agreed.revision.version) == self.model.version

    def teardown(self) -> None:
        if hasattr(self, "model"):
            if self.settle:
                self._let_everything_settle()
            self._end()

    def _let_everything_settle(self) -> None:
        model = self.model
        for entry in model.running():
            model.conclude(entry, fails=False)
        for entry in model.listening():
            model.dismiss(entry.id)
        for query in model.open_queries():
            assert query.number is not None
            model.expire(E.QuestionExpired(query.number))
        reception = model.machine.reception
        assert not reception.running
        assert not len(reception.listens)
        assert not len(reception._bundles)
        assert not len(model.machine.asking.questions)
        self._laws()

    def _end(self) -> None:
        model = self.model
        if self.graceful:
            model.stop()
            if E.GraceOver() in model.timers:
                model.expire(E.GraceOver())
        else:
            model.leave()
        self._judge_the_end()

    def _judge_the_end(self) -> None:
        model = self.model
        assert self._is(Phase.CLOSED)
        assert not model.timers
        assert not model.attending
        assert not model.machine.busy
        assert not len(model.machine.reception._bundles)
        assert all(len(query.verdicts) == (not query.forgone) for query in model.queries)
        self._laws()

    def _laws(self) -> None:
        self.nothing_odd_was_done()
        self.every_request_has_its_one_last_word_when_it_is_over_and_not_before()


TestSessionLaws = SessionLaws.TestCase
for requirement in ("request:one-outcome", "request:no-leak", "request:ids", "negotiation:phases"):
    TestSessionLaws = pytest.mark.requirement(requirement)(TestSessionLaws)
TestSessionLaws.settings = settings(
    max_examples=EXAMPLES,
    stateful_step_count=40,
    deadline=None,
    database=None,
    report_multiple_bugs=False,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
