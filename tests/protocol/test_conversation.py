"""Calls and answers over a working wire: every way in which a call ends."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_actors.protocol.actions import (
    CancelTimer,
    Reply,
    Send,
    SetTimer,
    Unmatched,
    Violation,
)
from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.protocol.events import (
    Called,
    RequestExpired,
    RetryDue,
    SendFailed,
    SendRefused,
    SweepDue,
)
from mcp_actors.protocol.outcomes import (
    BadAnswer,
    Completed,
    Crowded,
    Lost,
    Rejected,
    Stopped,
    TimedOut,
    Withdrawn,
)
from tests.protocol import toy_server as toy
from tests.protocol.talk import Talk, outcomes, sent

GONE = Ending(EndKind.EOF, "gone")


@pytest.fixture
def talk() -> Talk:
    talk = Talk()
    talk.call()
    return talk


# Calling.


def test_a_call_sets_its_deadline_before_it_is_written() -> None:
    timer, send = Talk().call()
    assert timer == SetTimer(RequestExpired(1), 9.0)
    assert isinstance(send, Send)
    assert send.token == 1
    assert json.loads(send.frame)["params"] == {"name": "a"}


@pytest.mark.requirement("request:ids")
def test_ids_increase_and_are_never_used_again() -> None:
    talk = Talk()
    ids = []
    for n in range(5):
        ids += [message["id"] for message in sent(talk.call(f"caller {n}"))]
        talk.conversation.expire(ids[-1])
        talk.taken()
    assert ids == [1, 2, 3, 4, 5]


def test_a_listing_is_remembered_for_the_next_wire() -> None:
    talk = Talk()
    for method in ("tools/list", "tools/call", "prompts/list"):
        talk.conversation.call(Called(method, method, b"{}", b"{}", 9.0))
    assert talk.conversation.standing.listed == {"tools/list", "prompts/list"}


def test_a_notification_is_a_courtesy_without_a_token() -> None:
    talk = Talk()
    talk.conversation.notify("notifications/roots/list_changed", None)
    assert talk.taken() == [Send(b'{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}', None)]


# Answers.


def test_a_result_ends_the_call_and_its_timer(talk: Talk) -> None:
    timer, reply = talk.hear(toy.result(1, {"a": 1}))
    assert timer == CancelTimer(RequestExpired(1))
    assert isinstance(reply, Reply)
    assert isinstance(reply.outcome, Completed)
    assert json.loads(bytes(reply.outcome.result)) == {"a": 1}


@pytest.mark.requirement("error:matrix")
def test_an_error_reaches_the_caller_as_it_came(talk: Talk) -> None:
    outcome = outcomes(talk.hear(toy.error(1, -32601, message="unknown")))["ann"]
    assert isinstance(outcome, Rejected)
    assert json.loads(bytes(outcome.error))["code"] == -32601


@pytest.mark.requirement("request:one-outcome")
def test_of_two_answers_the_first_wins(talk: Talk) -> None:
    assert len(outcomes(talk.hear(toy.result(1, {})))) == 1
    assert talk.hear(toy.result(1, {})) == [Unmatched(1, late=False)]


@pytest.mark.requirement("request:unknown-id")
@pytest.mark.parametrize("id_", [99, "1", "x"])
def test_an_answer_to_nothing_is_counted_and_harms_nobody(talk: Talk, id_: Any) -> None:
    assert talk.hear(toy.result(id_, {})) == [Unmatched(id_, late=False)]
    assert talk.hear(toy.error(None, -32700)) == [Unmatched(None, late=False)]
    assert len(talk.conversation.pending) == 1


@pytest.mark.requirement("request:ids")
@pytest.mark.parametrize("id_", [True, 1.0])
def test_an_id_that_only_equals_ours_is_malformed(talk: Talk, id_: Any) -> None:
    (violation,) = talk.hear(toy.result(id_, {}))
    assert isinstance(violation, Violation)
    assert len(talk.conversation.pending) == 1


@pytest.mark.requirement("error:matrix")
def test_a_malformed_answer_fails_the_call_it_names_and_no_other(talk: Talk) -> None:
    talk.call("bob")
    actions = talk.hear(toy.frame(id=1, result={}, error={}), b"\xff garbage")
    assert isinstance(outcomes(actions)["ann"], BadAnswer)
    assert [action.kind for action in actions if isinstance(action, Violation)] == ["malformed"] * 2
    assert [flight.caller for flight in talk.conversation.pending] == ["bob"]


@pytest.mark.requirement("error:matrix")
def test_a_malformed_answer_to_nothing_is_only_counted(talk: Talk) -> None:
    (violation,) = talk.hear(toy.frame(id=77, result={}, error={}))
    assert isinstance(violation, Violation)


@pytest.mark.requirement("request:one-outcome")
@given(st.permutations(range(1, 6)), st.lists(st.integers(-2, 9), max_size=10))
def test_answers_in_any_order_with_duplicates_and_strangers_reach_their_own_callers(
    order: list[int], strangers: list[int]
) -> None:
    talk = Talk()
    for n in range(1, 6):
        talk.call(f"caller {n}")
    got: dict[Any, object] = {}
    for id_ in [*order, *strangers]:
        for caller, outcome in outcomes(talk.hear(toy.result(id_, {"for": id_}))).items():
            assert caller not in got
            got[caller] = outcome
            assert isinstance(outcome, Completed)
            assert caller == f"caller {json.loads(bytes(outcome.result))['for']}"
    assert len(got) == 5


# Giving up.


@pytest.mark.requirement("request:timeout")
def test_a_deadline_that_passes_cancels_upstream_once_and_buries_the_id(talk: Talk) -> None:
    talk.conversation.expire(1)
    actions = talk.taken()
    assert outcomes(actions) == {"ann": TimedOut(9.0)}
    assert [message["params"]["requestId"] for message in sent(actions)] == [1]
    assert SetTimer(SweepDue(), 60.0) in actions
    talk.conversation.expire(1)
    assert talk.taken() == []


@pytest.mark.requirement("request:cancel-idempotent")
def test_cancelling_twice_is_cancelling_once(talk: Talk) -> None:
    talk.conversation.cancel("ann", "enough")
    actions = talk.taken()
    assert outcomes(actions) == {"ann": Withdrawn("caller", "enough")}
    (message,) = sent(actions)
    assert message["params"] == {"requestId": 1, "reason": "enough"}
    talk.conversation.cancel("ann", "enough")
    talk.conversation.cancel("nobody", "enough")
    assert talk.taken() == []


@pytest.mark.requirement("request:tombstones")
def test_a_late_answer_is_told_from_a_foreign_one_until_it_is_swept(talk: Talk) -> None:
    talk.conversation.cancel("ann", "enough")
    talk.taken()
    assert talk.hear(toy.result(1, {})) == [Unmatched(1, late=True)]
    for _ in range(2):
        talk.conversation.sweep()
        assert talk.taken() == [SetTimer(SweepDue(), 60.0)]
    talk.conversation.sweep()
    assert talk.taken() == []
    assert talk.hear(toy.result(1, {})) == [Unmatched(1, late=False)]


def test_one_sweep_timer_serves_all_tombstones(talk: Talk) -> None:
    talk.call("bob")
    talk.conversation.expire(1)
    talk.conversation.expire(2)
    assert talk.taken().count(SetTimer(SweepDue(), 60.0)) == 1


# A busy wire and a lost one.


@pytest.mark.requirement("request:busy")
def test_a_refused_frame_is_offered_three_times_and_then_given_up(talk: Talk) -> None:
    for _ in range(2):
        talk.conversation.refused(SendRefused(1, b"{}"))
        assert talk.taken() == [SetTimer(RetryDue(1), 0.01)]
        talk.conversation.retry(1)
        assert talk.taken() == [Send(b"{}", 1)]
    talk.conversation.refused(SendRefused(1, b"{}"))
    actions = talk.taken()
    assert outcomes(actions) == {"ann": Crowded(3)}
    assert sent(actions) == []


@pytest.mark.requirement("request:busy")
def test_a_call_cancelled_before_it_was_written_is_not_cancelled_upstream(talk: Talk) -> None:
    talk.conversation.refused(SendRefused(1, b"{}"))
    talk.taken()
    talk.conversation.cancel("ann", "enough")
    actions = talk.taken()
    assert CancelTimer(RetryDue(1)) in actions
    assert sent(actions) == []


@pytest.mark.requirement("request:busy")
def test_a_retry_without_a_refused_frame_does_nothing(talk: Talk) -> None:
    talk.conversation.retry(1)
    talk.conversation.retry(2)
    talk.conversation.refused(SendRefused(2, b"{}"))
    assert talk.taken() == []


@pytest.mark.requirement("request:lost")
def test_a_frame_the_wire_could_not_take_was_not_sent(talk: Talk) -> None:
    talk.conversation.failed(SendFailed(1, GONE))
    assert outcomes(talk.taken()) == {"ann": Lost(GONE, "not_sent")}
    talk.conversation.failed(SendFailed(1, GONE))
    assert talk.taken() == []


@pytest.mark.requirement("request:lost")
def test_a_loss_ends_every_call_and_says_which_were_certainly_not_sent(talk: Talk) -> None:
    for caller in ("bob", "cy"):
        talk.call(caller)
    talk.conversation.refused(SendRefused(2, b"{}"))
    talk.taken()
    ending = Ending(EndKind.BROKEN, "broken", unsent=frozenset({3}))
    talk.conversation.lose(ending)
    actions = talk.taken()
    assert outcomes(actions) == {
        "ann": Lost(ending, "unknown"),
        "bob": Lost(ending, "not_sent"),
        "cy": Lost(ending, "not_sent"),
    }
    assert sent(actions) == []
    assert len(talk.conversation.tombstones) == 3


@pytest.mark.requirement("connection:stop")
def test_stopping_ends_every_call_and_leaves_no_timer(talk: Talk) -> None:
    talk.conversation.stop()
    actions = talk.taken()
    assert outcomes(actions) == {"ann": Stopped()}
    assert actions.index(CancelTimer(SweepDue())) > actions.index(SetTimer(SweepDue(), 60.0))
