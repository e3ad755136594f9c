"""Logging: the level asked for, in the words of each era, and the messages that come of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mcp_actors import Client, errors
from mcp_actors.protocol.types import LOG_LEVELS
from tests.client.features.ear import Ear
from tests.client.features.news_host import NewsHost
from tests.client.features.places import Place
from tests.client.toy_host import STATELESS, VERSIONS, ToyHost
from tests.client.waiting import BOUND, until

MakeClient = Callable[..., Client]
MakeHost = Callable[..., ToyHost]
MakeNews = Callable[..., NewsHost]
LEVEL = "io.modelcontextprotocol/logLevel"


@pytest.mark.requirement("feature:logging")
def test_messages_come_from_the_level_that_was_asked_for(place: Place) -> None:
    heard = Ear()
    client, loud = place.connect(log_handler=heard), Ear()
    client.on_log(loud, "critical")
    client.set_logging_level("error")
    client.call_tool("log")
    messages = heard.wait_for(4)
    assert [one.level for one in messages] == ["error", "critical", "alert", "emergency"]
    assert (messages[0].data, messages[0].logger) == ({"n": "error"}, "features")
    assert [one.level for one in loud.wait_for(3)] == ["critical", "alert", "emergency"]


@pytest.mark.requirement("feature:logging")
@pytest.mark.parametrize("version", [one for one in VERSIONS if one != STATELESS])
def test_until_2025_11_25_the_server_is_told_once(
    version: str, make_news: MakeNews, make_client: MakeClient
) -> None:
    host = make_news(version)
    client = make_client(host)
    client.set_logging_level("warning")
    client.call_tool("echo")
    assert host.await_heard("logging/setLevel")["params"]["level"] == "warning"
    assert len(host.all_heard("logging/setLevel")) == 1
    assert LEVEL not in host.await_heard("tools/call")["params"].get("_meta", {})


@pytest.mark.requirement("feature:logging")
def test_since_2026_07_28_every_request_says_it(host: ToyHost, make_client: MakeClient) -> None:
    client = make_client(host).wait_ready()
    client.call_tool("echo")
    client.set_logging_level("warning")
    client.call_tool("echo")
    client.submit_tool("echo").result(BOUND)
    client.list_tools()
    client.read_resource("toy:a")
    client.get_prompt("greet")
    requests = [one for one in host.heard if one["method"] != "server/discover"]
    levels = [(one["method"], one["params"]["_meta"].get(LEVEL)) for one in requests]
    assert levels == [
        ("tools/call", None),
        ("tools/call", "warning"),
        ("tools/call", "warning"),
        ("tools/list", "warning"),
        ("resources/read", "warning"),
        ("prompts/get", "warning"),
    ]
    assert host.all_heard("logging/setLevel") == []


@pytest.mark.requirement("feature:logging")
@pytest.mark.parametrize("version", VERSIONS)
def test_the_level_outlives_the_connection(
    version: str, make_news: MakeNews, make_client: MakeClient
) -> None:
    host = make_news(version)
    client = make_client(host)
    client.set_logging_level("info")
    client.set_logging_level("alert")
    host.drop()
    host.await_wires(2)
    client.call_tool("echo", wait=True)
    if version == STATELESS:
        assert host.await_heard("tools/call")["params"]["_meta"][LEVEL] == "alert"
    else:
        levels = [one["params"]["level"] for one in host.all_heard("logging/setLevel")]
        assert levels == ["info", "alert", "alert"]
        methods = [one["method"] for one in host.heard]
        assert methods[-2:] == ["logging/setLevel", "tools/call"]


@pytest.mark.requirement("feature:logging")
def test_the_level_outlives_a_server_that_comes_back_older(
    make_news: MakeNews, make_client: MakeClient
) -> None:
    host = make_news(STATELESS)
    client = make_client(host)
    client.set_logging_level("alert")
    host.version = "2025-11-25"
    host.answers["logging/setLevel"] = lambda _: {}
    host.drop()
    host.await_wires(2)
    client.call_tool("echo", wait=True)
    assert client.protocol_version == "2025-11-25"
    assert [one["params"]["level"] for one in host.all_heard("logging/setLevel")] == ["alert"]


@pytest.mark.requirement("feature:logging")
def test_the_level_outlives_a_server_that_comes_back_newer(
    make_news: MakeNews, make_client: MakeClient
) -> None:
    host = make_news("2025-11-25")
    client = make_client(host)
    client.set_logging_level("alert")
    host.version = STATELESS
    host.drop()
    until(lambda: client.state == "ready" and client.protocol_version == STATELESS)
    client.call_tool("echo")
    assert host.await_heard("tools/call")["params"]["_meta"][LEVEL] == "alert"


@pytest.mark.requirement("feature:logging")
@pytest.mark.parametrize("level", LOG_LEVELS)
def test_a_handler_hears_its_level_and_what_is_more_urgent(level: str, client: Client, host: ToyHost) -> None:
    ear, everything = Ear(), Ear()
    client.on_log(ear, level)
    client.on_log(everything)
    for one in LOG_LEVELS:
        host.notify("notifications/message", level=one, data=one)
    assert [one.data for one in everything.wait_for(8)] == list(LOG_LEVELS)
    assert [one.data for one in ear.heard] == list(LOG_LEVELS[LOG_LEVELS.index(level) :])


@pytest.mark.requirement("feature:logging")
@pytest.mark.parametrize("level", ["loud", "", "WARNING", None, 20, []])
@pytest.mark.parametrize("version", [STATELESS, "2025-11-25"])
def test_a_level_that_does_not_exist_is_the_callers_mistake(
    level: Any, version: str, make_news: MakeNews, make_client: MakeClient
) -> None:
    host = make_news(version)
    client = make_client(host).wait_ready()
    with pytest.raises(ValueError, match="level must be one of debug, info, .*, emergency, not"):
        client.set_logging_level(level)
    with pytest.raises(ValueError, match="level must be one of"):
        client.on_log(Ear(), level)
    assert host.all_heard("logging/setLevel") == []


@pytest.mark.requirement("feature:logging")
def test_a_level_that_the_server_refused_is_not_asked_for_again(
    make_host: MakeHost, make_client: MakeClient
) -> None:
    host = make_host(version="2025-11-25")
    client = make_client(host)
    with pytest.raises(errors.RemoteError):
        client.set_logging_level("info")
    host.drop()
    host.await_wires(2)
    client.call_tool("echo", wait=True)
    assert len(host.all_heard("logging/setLevel")) == 1


@pytest.mark.requirement("feature:logging")
@pytest.mark.requirement("negotiation:capabilities")
@pytest.mark.parametrize("version", VERSIONS)
def test_a_server_without_logging_is_not_asked_for_it(
    version: str, make_host: MakeHost, make_client: MakeClient
) -> None:
    client = make_client(make_host(version=version, capabilities={"tools": {}}))
    with pytest.raises(errors.CapabilityMissing, match="logging"):
        client.set_logging_level("info")


@pytest.mark.requirement("feature:logging")
@pytest.mark.parametrize(("before", "after"), [(STATELESS, "2025-11-25"), ("2025-11-25", STATELESS)])
def test_a_call_that_waits_says_the_level_as_the_server_that_comes_wants_it(
    before: str, after: str, make_news: MakeNews, make_client: MakeClient
) -> None:
    host = make_news(before)
    host.answers["logging/setLevel"] = lambda _: {}
    client = make_client(host)
    client.set_logging_level("alert")
    host.version = after
    host.refuse(2)
    host.drop()
    until(lambda: client.state == "backoff")
    client.call_tool("echo", wait=True)
    meta = host.await_heard("tools/call")["params"].get("_meta", {})
    assert meta.get(LEVEL) == ("alert" if after == STATELESS else None)
