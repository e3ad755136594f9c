"""Requests that nobody waits for any more: no answer, and one sign that there will be none."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_actors.protocol.serving import events as E
from mcp_actors.protocol.serving.actions import CancelJob, CancelTimer, End, Heard, Run, Send
from mcp_actors.protocol.serving.states import Phase
from tests.protocol.serving.talk import Talk, closing, initialize, only, ready


@pytest.mark.requirement("request:server-cancelled")
@pytest.mark.parametrize("modern", [False, True])
def test_a_cancelled_request_gets_no_answer_and_one_empty_end(modern: bool) -> None:
    talk = ready()
    (talk.modern if modern else talk.request)(1, "tools/call")
    actions = talk.cancel(1, reason="enough")
    # The job hears of it before its last word is said, with which it is forgotten.
    assert actions == [
        CancelJob(1, "enough"),
        Send(b"", 1, final=True),
        Heard("notifications/cancelled", {"requestId": 1, "reason": "enough"}),
    ]
    assert talk.conclude(1) == []
    assert not talk.machine.busy


@pytest.mark.parametrize("more", [{}, {"reason": 7}, {"reason": None}])
def test_a_cancellation_needs_no_reason(more: dict[str, Any]) -> None:
    talk = ready()
    talk.request(1, "tools/call")
    assert only(talk.cancel(1, **more), CancelJob) == [CancelJob(1, "cancelled")]


@pytest.mark.requirement("request:cancel-idempotent")
def test_a_cancellation_that_comes_twice_or_late_is_only_heard() -> None:
    talk = ready()
    talk.request(1, "tools/call")
    talk.cancel(1)
    assert talk.cancel(1) == [Heard("notifications/cancelled", {"requestId": 1})]
    talk.request(2, "tools/call")
    talk.conclude(2)
    assert talk.cancel(2) == [Heard("notifications/cancelled", {"requestId": 2})]


@pytest.mark.requirement("request:unknown-id")
@pytest.mark.parametrize("id_", [7, "1", True, 1.0, None, [1], {}])
def test_a_cancellation_of_nothing_harms_nobody(id_: Any) -> None:
    talk = ready()
    talk.request(1, "tools/call")
    assert talk.cancel(id_) == [Heard("notifications/cancelled", {"requestId": id_})]
    assert len(talk.machine.reception.running) == 1


def test_a_cancellation_without_an_id_harms_nobody() -> None:
    assert ready().notify("notifications/cancelled") == [Heard("notifications/cancelled", {})]


def test_initialize_cannot_be_cancelled() -> None:
    talk = Talk()
    talk.request(1, "initialize", **initialize())
    assert not only(talk.cancel(1), Send)
    assert talk.phase is Phase.GREETED


@pytest.mark.requirement("request:server-cancelled")
def test_a_request_that_the_wire_dismisses_is_ended_without_a_word() -> None:
    talk = Talk()
    talk.modern(1, "tools/call")
    assert talk.feed(E.Dismissed(1, "it hung up")) == [CancelJob(1, "it hung up")]
    assert talk.feed(E.Dismissed(1, "it hung up")) == []
    assert talk.conclude(1) == []


def test_the_id_of_a_cancelled_request_is_free_again() -> None:
    talk = Talk()
    talk.modern(1, "tools/call")
    talk.cancel(1)
    assert len(only(talk.modern(1, "tools/call"), Run)) == 1


@pytest.mark.parametrize("how", ["cancelled", "dismissed", "in an array"])
def test_a_session_that_closes_is_closed_by_the_cancellation_of_its_last_request(how: str) -> None:
    talk = closing("2025-03-26")
    cancelled = {"method": "notifications/cancelled", "params": {"requestId": "last"}}
    ways = {
        "cancelled": lambda: talk.cancel("last"),
        "dismissed": lambda: talk.feed(E.Dismissed("last", "it hung up")),
        "in an array": lambda: talk.array(cancelled, {"id": 1, "method": "ping"}),
    }
    actions = ways[how]()
    assert only(actions, CancelJob)
    assert only(actions, End) == [End("the server was stopped")]
    assert only(actions, CancelTimer) == [CancelTimer(E.GraceOver())]
    assert talk.phase is Phase.CLOSED
