"""The stream of news (2026-07-28): opened when somebody wants to hear, replaced, ended, opened again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec import structs

from mcp_actors import Client, errors
from tests.client.features.ear import Ear
from tests.client.features.news_host import NewsHost
from tests.client.relay import over_both_wires
from tests.client.toy_host import SILENCE, STATELESS, Refusal, ToyHost
from tests.client.waiting import until

MakeClient = Callable[..., Client]
MakeHost = Callable[..., ToyHost]
MakeNews = Callable[..., NewsHost]
LISTEN = "subscriptions/listen"


@pytest.fixture
def news(make_news: MakeNews) -> NewsHost:
    return make_news(STATELESS)


def wanted(host: ToyHost) -> list[dict[str, Any]]:
    """What each stream was about that was ever asked for."""
    return [one["params"]["notifications"] for one in host.all_heard(LISTEN)]


def taken_back(host: ToyHost) -> list[Any]:
    return [one["params"]["requestId"] for one in host.all_heard("notifications/cancelled")]


@pytest.mark.requirement("feature:subscriptions")
@over_both_wires
def test_no_stream_is_opened_while_nobody_wants_to_hear(news: NewsHost, make_client: MakeClient) -> None:
    client = make_client(news).wait_ready()
    client.on_log(Ear())
    client.on_gap(Ear())
    client.on_resource_updated(Ear())
    client.ping()
    assert wanted(news) == []


@pytest.mark.requirement("feature:subscriptions")
@over_both_wires
def test_the_first_interest_opens_a_stream_that_describes_itself(
    news: NewsHost, make_client: MakeClient
) -> None:
    client, ear = make_client(news).wait_ready(), Ear()
    client.on_tools_changed(ear)
    request = news.await_heard(LISTEN)
    assert request["params"]["notifications"] == {"toolsListChanged": True}
    assert request["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] == STATELESS
    until(lambda: news.streams)
    news.change("tools")
    assert ear.wait_for(1) == [()]


@pytest.mark.requirement("feature:subscriptions")
@over_both_wires
def test_interest_from_before_the_connection_is_told_before_ready(
    news: NewsHost, make_client: MakeClient
) -> None:
    client = make_client(news)
    client.on_prompts_changed(Ear())
    client.wait_ready()
    assert wanted(news) == [{"promptsListChanged": True}]


@pytest.mark.requirement("feature:subscriptions")
@over_both_wires
def test_a_new_interest_replaces_the_stream_and_the_old_one_is_taken_back_afterwards(
    news: NewsHost, make_client: MakeClient
) -> None:
    client = make_client(news)
    client.on_tools_changed(Ear())
    client.wait_ready()
    client.subscribe_resource("toy:a")
    client.on_resources_changed(Ear())
    news.await_heard("notifications/cancelled", 2)
    tools = {"toolsListChanged": True}
    assert wanted(news) == [
        tools,
        tools | {"resourceSubscriptions": ["toy:a"]},
        tools | {"resourcesListChanged": True, "resourceSubscriptions": ["toy:a"]},
    ]
    ids = [one["id"] for one in news.all_heard(LISTEN)]
    assert taken_back(news) == ids[:2]
    methods = [one["method"] for one in news.heard]
    assert methods.index("notifications/cancelled") > methods.index(LISTEN, methods.index(LISTEN) + 1)
    assert list(news.streams) == ids[2:]


@pytest.mark.requirement("feature:subscriptions")
@over_both_wires
def test_who_listens_for_everything_wants_every_list(news: NewsHost, make_client: MakeClient) -> None:
    client, ear = make_client(news), Ear()
    detach = client.on_notification(ear)
    client.wait_ready()
    assert wanted(news) == [
        {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}
    ]
    detach()
    news.await_heard("notifications/cancelled")
    assert news.streams == {}
    client.ping()
    assert len(wanted(news)) == 1


@pytest.mark.requirement("feature:subscriptions")
@over_both_wires
def test_a_second_listener_of_the_same_kind_needs_no_new_stream(
    news: NewsHost, make_client: MakeClient
) -> None:
    client, ears = make_client(news).wait_ready(), [Ear(), Ear()]
    detach = client.on_tools_changed(ears[0])
    client.on_tools_changed(ears[1])
    until(lambda: news.streams)
    detach()
    client.ping()
    news.change("tools")
    assert ears[1].wait_for(1) == [()]
    assert ears[0].heard == []
    assert len(wanted(news)) == 1


@pytest.mark.requirement("feature:subscriptions")
@over_both_wires
def test_only_what_the_server_offers_is_asked_for(make_news: MakeNews, make_client: MakeClient) -> None:
    host = make_news(STATELESS, capabilities={"tools": {"listChanged": True}, "prompts": {}})
    client = make_client(host)
    client.on_notification(Ear())
    client.wait_ready()
    assert wanted(host) == [{"toolsListChanged": True}]
    silent = make_news(STATELESS, capabilities={"tools": {}, "prompts": {}})
    client = make_client(silent)
    client.on_notification(Ear())
    client.wait_ready().ping()
    assert wanted(silent) == []


@pytest.mark.requirement("feature:subscriptions")
@over_both_wires
def test_a_stream_that_the_server_ends_is_a_gap_and_is_opened_again(
    news: NewsHost, make_client: MakeClient
) -> None:
    client, gaps, ear = make_client(news), Ear(), Ear()
    client.on_gap(gaps)
    client.on_resource_updated(ear)
    client.wait_ready()
    client.subscribe_resource("toy:a")
    news.end_stream()
    (gap,) = gaps.wait_for(1)
    assert (gap.reason, gap.lost) == ("the server ended the subscription", ())
    news.await_heard(LISTEN, 2)
    until(lambda: news.streams)
    news.touch("toy:a")
    assert ear.wait_for(1) == ["toy:a"]
    # Whoever looked at once may have looked too early: from now on nothing is missed.
    assert [gap.reason for gap in gaps.wait_for(2)[1:]] == ["the subscription began anew"]
    assert (client.state, news.wires) == ("ready", 1)


@pytest.mark.requirement("feature:subscriptions")
@over_both_wires
def test_a_stream_that_the_server_cancels_is_opened_again_too(
    news: NewsHost, make_client: MakeClient
) -> None:
    client, gaps = make_client(news).wait_ready(), Ear()
    client.on_gap(gaps)
    client.subscribe_resource("toy:a")
    (stream,) = news.streams
    news.streams.clear()
    news.notify("notifications/cancelled", requestId=stream, reason="maintenance")
    gaps.wait_for(1)
    news.await_heard(LISTEN, 2)
    until(lambda: news.wanted_uris == {"toy:a"})


@pytest.mark.requirement("feature:subscriptions")
@over_both_wires
def test_a_refused_stream_disturbs_nobody_and_is_not_asked_for_again_and_again(
    news: NewsHost, make_client: MakeClient
) -> None:
    def refuse(_: Any) -> Any:
        raise Refusal(-32601, "no streams today")

    news.answers[LISTEN] = refuse
    client = make_client(news, backoff_min=60.0, backoff_max=60.0)
    client.on_tools_changed(Ear())
    client.wait_ready()
    with pytest.raises(errors.RemoteError, match="no streams today"):
        client.subscribe_resource("toy:a")
    client.ping()
    assert client.state == "ready"
    assert len(wanted(news)) == 2
    assert taken_back(news) == []


@pytest.mark.requirement("feature:subscriptions")
@over_both_wires
def test_a_stream_that_is_never_acknowledged_does_not_keep_the_client_from_being_ready(
    news: NewsHost, make_client: MakeClient
) -> None:
    news.answers[LISTEN] = lambda _: SILENCE
    client = make_client(news)
    client._policy = structs.replace(client._policy, probe_timeout=0.05)
    client.on_tools_changed(Ear())
    client.wait_ready().ping()
    with pytest.raises(errors.RequestTimeout):
        client.subscribe_resource("toy:a", timeout=0.05)
    assert client.call_tool("echo").text == "null"


@pytest.mark.requirement("feature:subscriptions")
@over_both_wires
def test_the_era_of_handshakes_has_no_streams(make_news: MakeNews, make_client: MakeClient) -> None:
    host = make_news("2025-11-25")
    client, ear = make_client(host), Ear()
    client.on_tools_changed(ear)
    client.wait_ready()
    client.subscribe_resource("toy:a")
    host.change("tools")
    assert ear.wait_for(1) == [()]
    assert wanted(host) == []


@pytest.mark.requirement("feature:subscriptions")
@over_both_wires
def test_a_lost_stream_comes_back_with_the_connection(news: NewsHost, make_client: MakeClient) -> None:
    client, ear = make_client(news), Ear()
    client.on_tools_changed(ear)
    client.wait_ready()
    client.subscribe_resource("toy:a")
    news.drop()
    news.await_wires(2)
    client.ping(wait=True)
    assert wanted(news)[-1] == {"toolsListChanged": True, "resourceSubscriptions": ["toy:a"]}
    news.change("tools")
    assert ear.wait_for(1) == [()]
