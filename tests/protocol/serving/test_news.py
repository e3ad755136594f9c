"""What a session is told of its own accord: changes, progress, log messages."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_actors.protocol.serving import events as E
from mcp_actors.protocol.serving.actions import Attend, Send
from mcp_actors.protocol.serving.news import News, covers
from mcp_actors.protocol.serving.policy import SessionPolicy
from mcp_actors.protocol.serving.terms import LEVELS
from tests.protocol.serving.talk import (
    LEGACY,
    LOG_LEVEL,
    OFFER,
    Talk,
    closing,
    greeted,
    initialize,
    meta,
    only,
    profile,
    ready,
    sent,
)

KINDS = ("tools", "prompts", "resources")


@pytest.mark.requirement("feature:list-changed")
@pytest.mark.parametrize("version", LEGACY)
@pytest.mark.parametrize("kind", KINDS)
def test_a_session_that_is_ready_hears_of_a_changed_list(version: str, kind: Any) -> None:
    actions = ready(version).feed(E.Published(News(kind)))
    assert sent(actions) == [{"jsonrpc": "2.0", "method": f"notifications/{kind}/list_changed"}]
    (send,) = only(actions, Send)
    assert (send.about, send.final, send.news) == (None, False, True)


@pytest.mark.requirement("feature:list-changed")
@pytest.mark.parametrize("kind", KINDS)
def test_a_list_that_is_not_announced_to_change_is_not_said_to(kind: Any) -> None:
    talk = ready(LEGACY[0], profile({**OFFER, kind: {}}))
    assert talk.feed(E.Published(News(kind))) == []


@pytest.mark.requirement("feature:list-changed")
@pytest.mark.parametrize("make", [Talk, greeted, closing])
def test_a_session_that_is_not_ready_hears_of_no_change(make: type[Talk]) -> None:
    assert make().feed(E.Published(News("tools"))) == []


@pytest.mark.requirement("feature:tasks")
def test_the_core_tasks_are_told_to_sessions_that_have_them() -> None:
    news = News("task", "a", {"taskId": "a", "status": "working"}, core=True)
    assert sent(ready("2025-11-25").feed(E.Published(news))) == [
        {
            "jsonrpc": "2.0",
            "method": "notifications/tasks/status",
            "params": {"taskId": "a", "status": "working"},
        }
    ]
    assert ready("2025-06-18").feed(E.Published(news)) == []
    assert ready("2025-11-25").feed(E.Published(News("task", "a", {"taskId": "a"}))) == []


def test_a_session_attends_once_and_leaves_once() -> None:
    talk = greeted()
    assert only(talk.notify("notifications/initialized"), Attend) == [Attend(True)]
    assert only(talk.request(1, "ping"), Attend) == []
    assert only(talk.listen(2, toolsListChanged=True), Attend) == []
    assert only(talk.cancel(2), Attend) == []
    assert only(talk.feed(E.Gone("it hung up")), Attend) == [Attend(False)]


@pytest.mark.requirement("feature:resources")
@pytest.mark.parametrize(
    ("subscribed", "uri", "concerned"),
    [
        ("file:///a", "file:///a", True),
        ("file:///a", "file:///a/b", True),
        ("file:///a/", "file:///a/b", True),
        ("file:///a", "file:///a#b", True),
        ("file:///a", "file:///a?b", True),
        ("file:///a", "file:///ab", False),
        ("file:///a", "file:///b", False),
        ("file:///a/b", "file:///a", False),
        ("file:///", "file:///a", True),
        ("a:", "a:", True),
    ],
)
def test_news_about_a_resource_concern_whoever_watches_it_or_what_it_is_in(
    subscribed: str, uri: str, concerned: bool
) -> None:
    assert covers(subscribed, uri) is concerned
    talk = ready()
    talk.request(1, "resources/subscribe", uri=subscribed)
    assert bool(sent(talk.feed(E.Published(News("updated", uri))))) is concerned


def test_one_change_is_told_once_however_often_it_was_subscribed_to() -> None:
    talk = ready()
    for id_, uri in enumerate(("file:///a", "file:///a/b", "file:///a")):
        talk.request(id_, "resources/subscribe", uri=uri)
    assert len(sent(talk.feed(E.Published(News("updated", "file:///a/b"))))) == 1


# Progress.


def asking_for_progress(token: Any, *, modern: bool = False) -> Talk:
    talk = ready()
    described = {**(meta() if modern else {}), "progressToken": token}
    talk.request(1, "tools/call", name="a", _meta=described)
    return talk


@pytest.mark.requirement("request:progress")
@pytest.mark.parametrize("modern", [False, True])
@pytest.mark.parametrize("token", [0, 7, "", "a"])
def test_progress_is_told_under_the_token(token: Any, modern: bool) -> None:
    talk = asking_for_progress(token, modern=modern)
    actions = talk.say(1, "progress", progress=1, total=4, message="on it")
    (said,) = sent(actions)
    params = {"progressToken": token, "progress": 1, "total": 4, "message": "on it"}
    assert said == {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
    (send,) = only(actions, Send)
    assert (send.about, send.final, send.news) == (1, False, True)


@pytest.mark.requirement("request:progress")
@pytest.mark.parametrize("token", [None, True, 1.5, [1], {}])
def test_without_a_token_there_is_no_progress(token: Any) -> None:
    assert asking_for_progress(token).say(1, "progress", progress=1) == []


@pytest.mark.requirement("request:progress")
def test_progress_only_goes_forward() -> None:
    talk = asking_for_progress("a")
    steps = (0, 0, 1, 0.5, 1.0, 1.5, 1.5, -1, 2)
    told = [step for step in steps if sent(talk.say(1, "progress", progress=step))]
    assert told == [0, 1, 1.5, 2]


@pytest.mark.requirement("request:progress")
def test_after_the_answer_a_job_says_nothing() -> None:
    talk = asking_for_progress("a")
    talk.conclude(1)
    assert talk.say(1, "progress", progress=1) == []
    assert talk.say(1, "message", level="error", data="x") == []
    assert talk.say("nobody", "progress", progress=1) == []


def test_the_progress_of_one_request_does_not_hold_back_another() -> None:
    talk = asking_for_progress("a")
    talk.request(2, "tools/call", name="b", _meta={"progressToken": "b"})
    assert sent(talk.say(1, "progress", progress=5))
    (said,) = sent(talk.say(2, "progress", progress=1))
    assert said["params"]["progressToken"] == "b"


# Log messages.


@pytest.mark.requirement("feature:logging")
@pytest.mark.parametrize("default", LEVELS)
def test_a_session_hears_the_servers_choice_until_it_says_its_own(default: str) -> None:
    talk = Talk(policy=SessionPolicy(log_level=default))
    talk.request(0, "initialize", **initialize())
    talk.request(1, "tools/list")
    heard = [level for level in LEVELS if sent(talk.say(1, "message", level=level, data="x"))]
    assert heard == list(LEVELS[LEVELS.index(default) :])


@pytest.mark.requirement("feature:logging")
@pytest.mark.parametrize("level", LEVELS)
def test_a_modern_request_hears_what_it_asked_for(level: str) -> None:
    talk = Talk()
    talk.modern(1, "tools/list", _meta=meta(**{LOG_LEVEL: level}))
    heard = [one for one in LEVELS if sent(talk.say(1, "message", level=one, data="x"))]
    assert heard == list(LEVELS[LEVELS.index(level) :])


@pytest.mark.requirement("feature:logging")
def test_a_modern_request_that_asked_for_no_messages_gets_none() -> None:
    talk = ready()
    talk.request(1, "logging/setLevel", level="debug")
    talk.modern(2, "tools/list")
    assert [talk.say(2, "message", level=level, data="x") for level in LEVELS] == [[]] * len(LEVELS)


@pytest.mark.requirement("feature:logging")
def test_a_message_travels_with_its_request() -> None:
    talk = ready()
    talk.request(1, "tools/list")
    actions = talk.say(1, "message", level="error", data={"a": 1}, logger="x")
    (send,) = only(actions, Send)
    assert (send.about, send.final, send.news) == (1, False, True)
    (said,) = sent(actions)
    assert said["params"] == {"level": "error", "data": {"a": 1}, "logger": "x"}
