"""The requests that a session answers itself: ping, discover, levels, subscriptions."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_actors.protocol import jsonrpc
from mcp_actors.protocol.envelope import META_PREFIX
from mcp_actors.protocol.serving.actions import Heard, Run, Send
from mcp_actors.protocol.serving.events import Published
from mcp_actors.protocol.serving.finishing import Freshness
from mcp_actors.protocol.serving.listens import MAX_WATCHED
from mcp_actors.protocol.serving.news import News
from mcp_actors.protocol.serving.policy import SessionPolicy
from mcp_actors.protocol.serving.reception import MAX_URI
from mcp_actors.protocol.serving.terms import LEVELS
from tests.protocol.serving.talk import (
    INFO,
    LEGACY,
    OFFER,
    VERSIONS,
    Talk,
    only,
    profile,
    ready,
    sent,
    the_answer,
)


@pytest.mark.requirement("feature:ping")
@pytest.mark.parametrize("version", LEGACY)
def test_a_ping_is_answered_at_once(version: str) -> None:
    assert the_answer(ready(version).request(1, "ping"), 1) == {}


@pytest.mark.requirement("negotiation:versions")
def test_discover_tells_everything_in_one_answer() -> None:
    talk = Talk(profile(instructions="be kind"), SessionPolicy(freshness=Freshness(60_000, "public")))
    result = the_answer(talk.modern(1, "server/discover"), 1)
    assert result == {
        "resultType": "complete",
        "supportedVersions": list(VERSIONS),
        "capabilities": {key: value for key, value in OFFER.items() if key != "tasks"},
        "instructions": "be kind",
        "ttlMs": 60_000,
        "cacheScope": "public",
        "_meta": {META_PREFIX + "serverInfo": INFO},
    }


def test_discover_says_nothing_of_instructions_that_there_are_not() -> None:
    result = the_answer(Talk().modern(1, "server/discover"), 1)
    assert "instructions" not in result
    assert (result["ttlMs"], result["cacheScope"]) == (0, "private")


def test_what_a_server_offers_later_is_discovered_later() -> None:
    talk = Talk(profile({}))
    assert the_answer(talk.modern(1, "server/discover"), 1)["capabilities"] == {}
    assert the_answer(talk.modern(2, "tools/list"), 2)["code"] == jsonrpc.METHOD_NOT_FOUND
    talk.profile = profile({"tools": {}})
    assert the_answer(talk.modern(3, "server/discover"), 3)["capabilities"] == {"tools": {}}
    assert len(only(talk.modern(4, "tools/list"), Run)) == 1


@pytest.mark.requirement("feature:logging")
@pytest.mark.parametrize("level", LEVELS)
def test_a_level_is_set(level: str) -> None:
    talk = ready()
    assert the_answer(talk.request(1, "logging/setLevel", level=level), 1) == {}
    talk.request(2, "tools/list")
    heard = [one for one in LEVELS if only(talk.say(2, "message", level=one, data="x"), Send)]
    assert heard == list(LEVELS[LEVELS.index(level) :])


@pytest.mark.requirement("feature:logging")
@pytest.mark.parametrize("params", [{}, {"level": "loud"}, {"level": 1}, {"level": ["info"]}])
def test_a_level_that_is_none_is_refused(params: dict[str, Any]) -> None:
    talk = ready()
    talk.request(1, "logging/setLevel", level="error")
    assert the_answer(talk.request(2, "logging/setLevel", **params), 2)["code"] == jsonrpc.INVALID_PARAMS
    talk.request(3, "tools/list")
    assert not only(talk.say(3, "message", level="warning", data="x"), Send)


def updated(talk: Talk, uri: str) -> list[Any]:
    return sent(talk.feed(Published(News("updated", uri))))


@pytest.mark.requirement("feature:resources")
@pytest.mark.parametrize("version", LEGACY)
def test_a_subscription_brings_news_until_it_is_ended(version: str) -> None:
    talk = ready(version)
    assert updated(talk, "a:b") == []
    actions = talk.request(1, "resources/subscribe", uri="a:b")
    assert the_answer(actions, 1) == {}
    assert Heard("resources/subscribe", {"uri": "a:b"}) in actions
    news = {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": "a:b"}}
    assert updated(talk, "a:b") == [news]
    assert updated(talk, "a:c") == []
    actions = talk.request(2, "resources/unsubscribe", uri="a:b")
    assert the_answer(actions, 2) == {}
    assert Heard("resources/unsubscribe", {"uri": "a:b"}) in actions
    assert updated(talk, "a:b") == []


def test_ending_a_subscription_that_there_is_not_is_no_error() -> None:
    assert the_answer(ready().request(1, "resources/unsubscribe", uri="a:b"), 1) == {}


@pytest.mark.parametrize("method", ["resources/subscribe", "resources/unsubscribe"])
@pytest.mark.parametrize("params", [{}, {"uri": 7}, {"uri": None}])
def test_a_subscription_needs_a_uri(method: str, params: dict[str, Any]) -> None:
    actions = ready().request(1, method, **params)
    assert the_answer(actions, 1)["code"] == jsonrpc.INVALID_PARAMS
    assert not only(actions, Heard)


@pytest.mark.requirement("security:limits")
def test_a_session_may_watch_only_so_much() -> None:
    talk = ready()
    for n in range(MAX_WATCHED):
        talk.request(n, "resources/subscribe", uri=f"a:{n}")
    error = the_answer(talk.request("x", "resources/subscribe", uri="a:x"), "x")
    assert error["code"] == jsonrpc.INVALID_PARAMS
    assert the_answer(talk.request("y", "resources/subscribe", uri="a:0"), "y") == {}
    talk.request("z", "resources/unsubscribe", uri="a:0")
    assert the_answer(talk.request("x", "resources/subscribe", uri="a:x"), "x") == {}


@pytest.mark.requirement("security:limits")
def test_a_session_may_not_watch_what_has_too_long_a_name() -> None:
    talk = ready()
    assert the_answer(talk.request(1, "resources/subscribe", uri="a" * MAX_URI), 1) == {}
    error = the_answer(talk.request(2, "resources/subscribe", uri="b" * (MAX_URI + 1)), 2)
    assert error["code"] == jsonrpc.INVALID_PARAMS
    assert updated(talk, "b" * (MAX_URI + 1)) == []


def test_without_the_capability_nobody_subscribes() -> None:
    talk = ready(LEGACY[0], profile({"resources": {"subscribe": False}}))
    error = the_answer(talk.request(1, "resources/subscribe", uri="a:b"), 1)
    assert error["code"] == jsonrpc.METHOD_NOT_FOUND
