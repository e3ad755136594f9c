"""Arrays of messages (2025-03-26 alone): their answers come as one, when the last is there."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcp_actors.protocol import jsonrpc
from mcp_actors.protocol.serving import events as E
from mcp_actors.protocol.serving.actions import CancelJob, Heard, Resolve, Run, Send, Violation
from mcp_actors.protocol.serving.policy import SessionPolicy
from mcp_actors.protocol.serving.states import Phase
from tests.protocol.serving.talk import (
    BATCHING,
    LEGACY,
    Talk,
    closing,
    greeted,
    initialize,
    meta,
    only,
    ready,
    sent,
)


def call(id_: Any, method: str = "tools/list", **params: Any) -> dict[str, Any]:
    return {"id": id_, "method": method, "params": params}


def cancelled(id_: Any) -> dict[str, Any]:
    return {"method": "notifications/cancelled", "params": {"requestId": id_}}


def whole(actions: list[Any], first: Any) -> list[Any]:
    """The array that answers an array."""
    (send,) = only(actions, Send)
    assert (send.about, send.final, send.code) == (first, True, None)
    told = json.loads(send.frame)
    assert isinstance(told, list)
    return told


def left(talk: Talk) -> int:
    return len(talk.machine.reception._bundles)


@pytest.mark.requirement("request:batch")
def test_the_answers_to_an_array_are_sent_as_one_under_its_first_id() -> None:
    talk = ready(BATCHING)
    actions = talk.array(call(1), call("b"), call(3, "ping"))
    assert [run.job.id for run in only(actions, Run)] == [1, "b"]
    assert not only(actions, Send)
    assert not only(talk.conclude("b", {"b": 1}), Send)
    answers = whole(talk.conclude(1, {"a": 1}), 1)
    assert [(one["id"], one["result"]) for one in answers] == [(3, {}), ("b", {"b": 1}), (1, {"a": 1})]
    assert left(talk) == 0


@pytest.mark.requirement("request:batch")
def test_an_array_of_requests_that_need_no_work_is_answered_at_once() -> None:
    answers = whole(ready(BATCHING).array(call(2, "ping"), call(1, "ping")), 2)
    assert [one["id"] for one in answers] == [2, 1]


@pytest.mark.requirement("request:batch")
def test_refusals_are_inside_the_array() -> None:
    talk = ready(BATCHING)
    answers = whole(talk.array(call(1, "no/such"), call(2, "ping"), call(3, "initialize", **initialize())), 1)
    assert [(one["id"], one.get("error", {}).get("code")) for one in answers] == [
        (1, jsonrpc.METHOD_NOT_FOUND),
        (2, None),
        (3, jsonrpc.INVALID_REQUEST),
    ]


@pytest.mark.requirement("request:batch")
def test_what_is_no_message_is_answered_inside_the_array() -> None:
    talk = ready(BATCHING)
    frame = b'[7,{"jsonrpc":"2.0","id":1,"method":"ping"},{"id":2,"method":"ping"}]'
    actions = talk.hear(frame)
    answers = whole(actions, 1)
    assert [(one.get("id"), one.get("error", {}).get("code")) for one in answers] == [
        (None, jsonrpc.INVALID_REQUEST),
        (None, jsonrpc.INVALID_REQUEST),
        (1, None),
    ]
    assert [violation.kind for violation in only(actions, Violation)] == ["malformed", "malformed"]


@pytest.mark.requirement("request:batch")
def test_an_array_of_nonsense_is_answered_with_an_array_of_errors() -> None:
    actions = ready(BATCHING).hear(b"[7,8]")
    (send,) = only(actions, Send)
    assert (send.about, send.final, send.code) == (None, False, jsonrpc.INVALID_REQUEST)
    assert [one["error"]["code"] for one in json.loads(send.frame)] == [jsonrpc.INVALID_REQUEST] * 2


def test_an_unreadable_answer_in_an_array_ends_its_question() -> None:
    talk = ready(BATCHING, roots={})
    talk.ask("ann")
    actions = talk.array({"id": 1}, {"method": "notifications/progress"})
    assert [resolve.caller for resolve in only(actions, Resolve)] == ["ann"]


@pytest.mark.requirement("request:batch")
def test_an_array_without_requests_is_not_answered() -> None:
    talk = ready(BATCHING, roots={})
    talk.ask("ann")
    news = {"method": "notifications/roots/list_changed"}
    actions = talk.array(news, {"id": 1, "result": {}}, news)
    assert not only(actions, Send)
    assert only(actions, Heard) == [Heard("notifications/roots/list_changed", {})] * 2
    assert [resolve.caller for resolve in only(actions, Resolve)] == ["ann"]


@pytest.mark.requirement("request:batch")
@pytest.mark.parametrize("version", [one for one in LEGACY if one != BATCHING])
def test_other_revisions_have_no_arrays(version: str) -> None:
    talk = ready(version)
    actions = talk.array(call("b"), call(1))
    (said,) = sent(actions)
    assert "id" not in said
    (send,) = only(actions, Send)
    assert (send.about, send.final, send.code) == ("b", True, jsonrpc.INVALID_REQUEST)
    assert [violation.kind for violation in only(actions, Violation)] == ["batch"]
    assert not talk.machine.busy


@pytest.mark.parametrize("messages", [[call(1, "initialize", **initialize(BATCHING))], [call(1, "ping")]])
def test_before_the_handshake_there_are_no_arrays(messages: list[Any]) -> None:
    talk = Talk()
    assert [said["error"]["code"] for said in sent(talk.array(*messages))] == [jsonrpc.INVALID_REQUEST]
    assert talk.phase is Phase.FRESH


def test_an_array_of_notifications_that_is_refused_is_about_no_request() -> None:
    (send,) = only(ready().array({"method": "notifications/progress"}), Send)
    assert (send.about, send.final) == (None, False)


@pytest.mark.requirement("request:batch")
def test_requests_of_2026_07_28_do_not_come_in_arrays() -> None:
    talk = ready(BATCHING)
    answers = whole(talk.array(call(1, "tools/list", _meta=meta()), call(2, "ping")), 1)
    assert [(one["id"], "error" in one) for one in answers] == [(1, True), (2, False)]


@pytest.mark.requirement("request:batch")
def test_an_array_with_an_id_twice_is_refused_whole() -> None:
    talk = ready(BATCHING)
    actions = talk.array(call(1), call(2), call(1))
    (send,) = only(actions, Send)
    assert (send.about, send.final, send.code) == (1, True, jsonrpc.INVALID_REQUEST)
    assert not only(actions, Run)
    assert left(talk) == 0


@pytest.mark.requirement("request:batch")
@pytest.mark.parametrize("listens", [False, True])
def test_an_array_with_the_id_of_another_request_is_refused_and_harms_not_the_other(listens: bool) -> None:
    talk = ready(BATCHING)
    if listens:
        talk.listen(1, toolsListChanged=True)
    else:
        talk.request(1, "tools/list")
    (send,) = only(talk.array(call(1), call(2)), Send)
    assert (send.about, send.final, send.code) == (2, True, jsonrpc.INVALID_REQUEST)
    (send,) = only(talk.array(call(1)), Send)
    assert (send.about, send.final) == (None, False)
    assert talk.machine.busy
    assert left(talk) == 0


@pytest.mark.requirement("request:batch")
def test_a_cancelled_request_is_left_out_of_the_array() -> None:
    talk = ready(BATCHING)
    talk.array(call(1), call(2))
    actions = talk.cancel(1)
    assert only(actions, CancelJob) == [CancelJob(1, "cancelled")]
    assert not only(actions, Send)
    assert [one["id"] for one in whole(talk.conclude(2), 1)] == [2]


def test_a_dismissed_request_does_not_hold_back_the_others() -> None:
    talk = ready(BATCHING)
    talk.array(call(1), call(2))
    talk.conclude(2)
    actions = talk.feed(E.Dismissed(1, "it hung up"))
    assert [one["id"] for one in whole(actions, 1)] == [2]


@pytest.mark.requirement("request:batch")
def test_an_array_of_which_everything_is_cancelled_has_one_empty_end() -> None:
    talk = ready(BATCHING)
    actions = talk.array(call(1), call(2), cancelled(2), cancelled(1))
    assert only(actions, Send) == [Send(b"", 1, final=True)]
    assert left(talk) == 0


def test_an_array_may_finish_the_handshake_whatever_follows() -> None:
    for last in (call(1, "ping"), {"method": "notifications/progress"}):
        talk = greeted(BATCHING)
        talk.array({"method": "notifications/initialized"}, last)
        assert talk.phase is Phase.READY
    talk = greeted(BATCHING)
    talk.array(call(1), call(2, "ping"))
    assert talk.phase is Phase.READY


def test_an_array_that_comes_too_late_is_refused_inside() -> None:
    answers = whole(closing(BATCHING).array(call(1), call(2, "ping")), 1)
    assert [one["error"]["code"] for one in answers] == [jsonrpc.INTERNAL_ERROR] * 2


def test_an_array_under_way_when_the_time_to_stop_is_over_is_answered_whole() -> None:
    talk = ready(BATCHING)
    talk.array(call(1), call(2))
    talk.feed(E.StopAsked(5.0))
    talk.conclude(2, {"b": 1})
    answers = whole(talk.feed(E.GraceOver()), 1)
    assert [(one["id"], "error" in one) for one in answers] == [(2, False), (1, True)]
    assert left(talk) == 0


@pytest.mark.requirement("request:no-leak")
def test_an_array_is_forgotten_when_its_client_is_gone() -> None:
    talk = ready(BATCHING)
    talk.array(call(1), call(2))
    assert not only(talk.feed(E.Gone("it hung up")), Send)
    assert left(talk) == 0


def test_the_bound_on_requests_holds_inside_an_array() -> None:
    talk = Talk(policy=SessionPolicy(max_running=1))
    talk.request(0, "initialize", **initialize(BATCHING))
    talk.array(call(1), call(2))
    answers = whole(talk.conclude(1), 1)
    assert [(one["id"], "error" in one) for one in answers] == [(2, True), (1, False)]
