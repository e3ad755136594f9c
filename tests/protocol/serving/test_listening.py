"""Streams of news (2026-07-28): what is granted, who hears what, and how they end."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_actors.protocol import jsonrpc
from mcp_actors.protocol.envelope import META_PREFIX
from mcp_actors.protocol.serving import events as E
from mcp_actors.protocol.serving.actions import Attend, CancelJob, End, Send
from mcp_actors.protocol.serving.listens import MAX_WATCHED
from mcp_actors.protocol.serving.news import News
from mcp_actors.protocol.serving.policy import SessionPolicy
from mcp_actors.protocol.serving.profile import TASKS
from mcp_actors.protocol.serving.states import Phase
from mcp_actors.protocol.serving.terms import Terms
from tests.protocol.serving.talk import (
    INFO,
    OFFER,
    SUBSCRIPTION,
    Talk,
    only,
    profile,
    ready,
    revision,
    sent,
    the_answer,
)

ALL_KINDS = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}
KNOWS_TASKS: dict[str, Any] = {"extensions": {TASKS: {}}}


def granted(actions: list[Any]) -> Any:
    (acknowledged,) = sent(actions)
    assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
    return acknowledged["params"]["notifications"]


@pytest.mark.requirement("feature:subscriptions")
@pytest.mark.parametrize("id_", [1, "1"])
def test_a_stream_opens_with_its_acknowledgement(id_: Any) -> None:
    talk = Talk()
    actions = talk.listen(id_, toolsListChanged=True, resourceSubscriptions=["b:", "a:"])
    (first,) = only(actions, Send)
    assert (first.about, first.final, first.news) == (id_, False, False)
    (said,) = sent(actions)
    assert said["params"] == {
        "notifications": {"toolsListChanged": True, "resourceSubscriptions": ["a:", "b:"]},
        "_meta": {SUBSCRIPTION: id_},
    }
    assert type(said["params"]["_meta"][SUBSCRIPTION]) is type(id_)
    assert only(actions, Attend) == [Attend(True)]
    assert talk.machine.busy
    assert talk.phase is Phase.FRESH


@pytest.mark.requirement("feature:subscriptions")
@pytest.mark.parametrize("word", ALL_KINDS)
def test_only_what_is_announced_is_granted(word: str) -> None:
    capability = word.removesuffix("ListChanged")
    silent = profile({**OFFER, capability: {"listChanged": False}})
    others = {other: True for other in ALL_KINDS if other != word}
    assert granted(Talk(silent).listen(**ALL_KINDS)) == others


@pytest.mark.requirement("feature:subscriptions")
@pytest.mark.parametrize("value", [False, None, 1, "true"])
def test_only_true_asks_for_a_kind(value: Any) -> None:
    assert granted(Talk().listen(toolsListChanged=value, unknownKind=True)) == {}


@pytest.mark.requirement("feature:subscriptions")
def test_resources_are_watched_only_where_that_is_announced() -> None:
    silent = profile({"resources": {"listChanged": True}})
    assert granted(Talk(silent).listen(resourceSubscriptions=["a:"])) == {}


@pytest.mark.requirement("feature:tasks")
def test_tasks_are_watched_only_if_both_sides_know_them() -> None:
    wanted: dict[str, Any] = {"taskIds": ["b", "a"]}
    assert granted(Talk().listen(capabilities=KNOWS_TASKS, **wanted)) == {"taskIds": ["a", "b"]}
    assert granted(Talk().listen(**wanted)) == {}
    silent = profile({key: value for key, value in OFFER.items() if key != "extensions"})
    assert granted(Talk(silent).listen(capabilities=KNOWS_TASKS, **wanted)) == {}


@pytest.mark.parametrize(
    "notifications",
    [
        None,
        [],
        {"resourceSubscriptions": "a:"},
        {"resourceSubscriptions": ["a:", 7]},
        {"taskIds": {"a": 1}},
        {"resourceSubscriptions": [f"a:{n}" for n in range(MAX_WATCHED + 1)]},
        {
            "resourceSubscriptions": [f"a:{n}" for n in range(MAX_WATCHED)],
            "taskIds": ["one too many"],
        },
    ],
)
def test_a_filter_that_makes_no_sense_is_refused(notifications: Any) -> None:
    talk = Talk()
    actions = talk.modern(1, "subscriptions/listen", notifications=notifications)
    assert the_answer(actions, 1)["code"] == jsonrpc.INVALID_PARAMS
    assert not talk.machine.busy
    assert not only(actions, Attend)


@pytest.mark.requirement("security:limits")
def test_one_stream_may_watch_as_much_as_is_allowed() -> None:
    uris = [f"a:{n}" for n in range(MAX_WATCHED)]
    assert len(granted(Talk().listen(resourceSubscriptions=uris))["resourceSubscriptions"]) == MAX_WATCHED


@pytest.mark.requirement("security:limits")
def test_a_client_may_hold_only_so_many_streams() -> None:
    talk = Talk(policy=SessionPolicy(max_listens=2))
    talk.listen(1)
    talk.listen(2)
    assert the_answer(talk.listen(3), 3)["code"] == jsonrpc.INTERNAL_ERROR
    talk.cancel(1)
    assert granted(talk.listen(4)) == {}


def told(actions: list[Any]) -> list[tuple[Any, str]]:
    """Who was told what."""
    return [
        (send.about, said["method"]) for send, said in zip(only(actions, Send), sent(actions), strict=True)
    ]


@pytest.mark.requirement("feature:subscriptions")
@pytest.mark.requirement("feature:list-changed")
def test_each_stream_hears_what_it_asked_for_under_its_own_name() -> None:
    talk = Talk()
    talk.listen(1, toolsListChanged=True)
    talk.listen("1", toolsListChanged=True, promptsListChanged=True)
    talk.listen(2, resourceSubscriptions=["file:///a"])
    actions = talk.feed(E.Published(News("tools")))
    assert told(actions) == [(id_, "notifications/tools/list_changed") for id_ in (1, "1")]
    assert [said["params"] for said in sent(actions)] == [{"_meta": {SUBSCRIPTION: id_}} for id_ in (1, "1")]
    assert all(send.news and not send.final for send in only(actions, Send))
    assert told(talk.feed(E.Published(News("prompts")))) == [("1", "notifications/prompts/list_changed")]
    assert talk.feed(E.Published(News("resources"))) == []
    (said,) = sent(talk.feed(E.Published(News("updated", "file:///a/b"))))
    assert said["params"] == {"uri": "file:///a/b", "_meta": {SUBSCRIPTION: 2}}


@pytest.mark.requirement("feature:tasks")
def test_a_stream_hears_of_its_tasks_of_the_extension() -> None:
    talk = Talk()
    talk.listen(1, capabilities=KNOWS_TASKS, taskIds=["a"])
    (said,) = sent(talk.feed(E.Published(News("task", "a", {"taskId": "a", "status": "working"}))))
    assert said == {
        "jsonrpc": "2.0",
        "method": "notifications/tasks",
        "params": {"taskId": "a", "status": "working", "_meta": {SUBSCRIPTION: 1}},
    }
    assert talk.feed(E.Published(News("task", "b", {"taskId": "b"}))) == []
    assert talk.feed(E.Published(News("task", "a", {"taskId": "a"}, core=True))) == []


@pytest.mark.requirement("feature:subscriptions")
def test_a_stream_that_is_cancelled_ends_without_an_answer() -> None:
    talk = Talk()
    talk.listen(1, toolsListChanged=True)
    actions = talk.cancel(1)
    assert only(actions, Send) == [Send(b"", 1, final=True)]
    assert only(actions, Attend) == [Attend(False)]
    assert not only(actions, CancelJob)
    assert talk.feed(E.Published(News("tools"))) == []
    assert not talk.machine.busy


@pytest.mark.requirement("feature:subscriber-cleanup")
def test_a_stream_whose_wire_is_gone_is_forgotten_without_a_word() -> None:
    talk = Talk()
    talk.listen(1, toolsListChanged=True)
    talk.listen(2, toolsListChanged=True)
    assert talk.feed(E.Dismissed(1, "it hung up")) == []
    assert talk.feed(E.Dismissed(2, "it hung up")) == [Attend(False)]


@pytest.mark.requirement("feature:subscriptions")
def test_a_server_that_stops_ends_its_streams_with_a_result() -> None:
    talk = Talk()
    talk.listen(1, toolsListChanged=True)
    talk.listen("b", toolsListChanged=True)
    actions = talk.feed(E.StopAsked(5.0))
    meta = {META_PREFIX + "serverInfo": INFO}
    assert sent(actions) == [
        {
            "jsonrpc": "2.0",
            "id": id_,
            "result": {"resultType": "complete", "_meta": meta | {SUBSCRIPTION: id_}},
        }
        for id_ in (1, "b")
    ]
    assert all(send.final for send in only(actions, Send))
    assert only(actions, Attend) == [Attend(False)]
    assert only(actions, End) == [End("the server was stopped")]
    assert talk.phase is Phase.CLOSED


@pytest.mark.requirement("feature:subscriber-cleanup")
def test_a_client_that_is_gone_leaves_no_stream() -> None:
    talk = Talk()
    talk.listen(1, toolsListChanged=True)
    assert only(talk.feed(E.Gone("it hung up")), Attend) == [Attend(False)]
    assert len(talk.machine.reception.listens) == 0


def test_a_session_with_a_stream_hears_of_a_change_on_both() -> None:
    talk = ready()
    talk.listen(1, toolsListChanged=True)
    assert told(talk.feed(E.Published(News("tools")))) == [
        (1, "notifications/tools/list_changed"),
        (None, "notifications/tools/list_changed"),
    ]
    talk.cancel(1)
    assert [about for about, _ in told(talk.feed(E.Published(News("tools"))))] == [None]


def test_a_client_that_stays_for_one_request_hears_of_changes_on_a_stream_alone() -> None:
    talk = Talk(agreed=Terms(revision("2025-06-18"), {}))
    assert not only(talk.request(1, "ping"), Attend)
    assert talk.feed(E.Published(News("tools"))) == []
    assert only(talk.listen(2, toolsListChanged=True), Attend) == [Attend(True)]
    assert [about for about, _ in told(talk.feed(E.Published(News("tools"))))] == [2]
