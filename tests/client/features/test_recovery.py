"""Recovery: what a client does between a lost connection and the next call, and what it tells its users."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mcp_actors import Client, errors
from mcp_actors.client.notifications import Gap
from tests.client.features.ear import Ear
from tests.client.features.news_host import OFFER, NewsHost
from tests.client.relay import over_both_wires
from tests.client.toy_host import SILENCE, STATELESS, Refusal, ToyHost, tool
from tests.client.waiting import BOUND, in_thread, until

MakeClient = Callable[..., Client]
MakeNews = Callable[..., NewsHost]

both_eras = pytest.mark.parametrize("version", [STATELESS, "2025-11-25"])


def since(host: ToyHost, mark: int) -> list[str]:
    """The methods heard after so many messages."""
    return [one["method"] for one in host.heard[mark:]]


def back_again(client: Client, host: ToyHost) -> None:
    """Lose the connection and have the next."""
    wires = host.wires
    host.drop()
    host.await_wires(wires + 1)
    client.ping(wait=True)


@pytest.mark.requirement("connection:recover")
@over_both_wires
def test_in_the_era_of_handshakes_everything_is_agreed_anew_before_the_first_call(
    make_news: MakeNews, make_client: MakeClient
) -> None:
    host = make_news("2025-11-25")
    pages = {None: "1", "1": None}

    def page(request: Any) -> Any:
        following = pages[request["params"].get("cursor")]
        return {"tools": [tool("a")]} | ({} if following is None else {"nextCursor": following})

    host.answers["tools/list"] = page
    client = make_client(host, roots=["file:///data"])
    client.list_tools()
    client.list_prompts()
    client.subscribe_resource("toy:b")
    client.subscribe_resource("toy:a")
    client.set_logging_level("info")
    mark = len(host.heard)
    host.drop()
    host.await_wires(2)
    client.call_tool("echo", wait=True)
    assert since(host, mark) == [
        "initialize",
        "notifications/initialized",
        "prompts/list",
        "tools/list",
        "tools/list",
        "logging/setLevel",
        "resources/subscribe",
        "resources/subscribe",
        "notifications/roots/list_changed",
        "tools/call",
    ]
    assert [one["params"]["uri"] for one in host.all_heard("resources/subscribe")[2:]] == ["toy:b", "toy:a"]
    assert host.all_heard("tools/list")[-1]["params"]["cursor"] == "1"


@pytest.mark.requirement("connection:recover")
@over_both_wires
def test_in_the_stateless_era_one_stream_brings_it_all_back(
    make_news: MakeNews, make_client: MakeClient
) -> None:
    host = make_news(STATELESS)
    client = make_client(host, roots=["file:///data"])
    client.list_tools()
    client.on_tools_changed(Ear())
    client.subscribe_resource("toy:b")
    client.subscribe_resource("toy:a")
    client.set_logging_level("info")
    mark = len(host.heard)
    host.drop()
    host.await_wires(2)
    client.call_tool("echo", wait=True)
    assert since(host, mark) == ["server/discover", "tools/list", "subscriptions/listen", "tools/call"]
    assert host.all_heard("subscriptions/listen")[-1]["params"]["notifications"] == {
        "toolsListChanged": True,
        "resourceSubscriptions": ["toy:b", "toy:a"],
    }
    meta = host.all_heard("tools/call")[-1]["params"]["_meta"]
    assert meta["io.modelcontextprotocol/logLevel"] == "info"


@pytest.mark.requirement("connection:recover")
@over_both_wires
@both_eras
def test_the_client_is_not_ready_before_the_last_of_it_is_answered(
    version: str, make_news: MakeNews, make_client: MakeClient
) -> None:
    host = make_news(version)
    client = make_client(host).wait_ready()
    client.subscribe_resource("toy:a")
    method = "subscriptions/listen" if version == STATELESS else "resources/subscribe"
    usual = host.answers[method]
    host.answers[method] = lambda _: SILENCE
    host.drop()
    request = host.await_heard(method, 2)
    waiting = in_thread(lambda: client.call_tool("echo", wait=True))
    assert client.state == "initializing"
    with pytest.raises(errors.Unavailable) as caught:
        client.call_tool("echo")
    assert caught.value.state == "initializing"
    assert host.all_heard("tools/call") == []
    # Now the server does what it was asked for.
    host._here.end = host.ends[-1]
    result = usual(request)
    if result is not SILENCE:
        host.reply(request, result)
    assert waiting.result(BOUND).text == "null"


@pytest.mark.requirement("connection:recover")
@over_both_wires
@both_eras
def test_a_gap_is_told_once_for_each_loss_after_everything_is_in_place(
    version: str, make_news: MakeNews, make_client: MakeClient
) -> None:
    host = make_news(version)
    client, gaps, seen = make_client(host), Ear(), Ear()
    client.on_gap(lambda _: seen(host.wanted_uris))
    client.on_gap(gaps)
    client.wait_ready()
    client.subscribe_resource("toy:a")
    assert gaps.heard == []
    back_again(client, host)
    assert gaps.wait_for(1) == [Gap("the connection was lost")]
    host.refuse(3)
    back_again(client, host)
    assert len(gaps.wait_for(2)) == 2
    assert seen.heard == [{"toy:a"}] * 2


@pytest.mark.requirement("connection:recover")
@over_both_wires
@both_eras
def test_a_handler_of_gaps_can_use_the_client(
    version: str, make_news: MakeNews, make_client: MakeClient
) -> None:
    host = make_news(version)
    client, texts = make_client(host), Ear()
    client.on_gap(lambda _: texts(client.read_resource("toy:a", wait=True).contents[0].raw["text"]))
    client.wait_ready()
    back_again(client, host)
    assert texts.wait_for(1) == ["A"]


@pytest.mark.requirement("connection:recover")
@over_both_wires
@both_eras
def test_a_subscription_that_the_new_server_refuses_is_named_and_given_up(
    version: str, make_news: MakeNews, make_client: MakeClient
) -> None:
    host = make_news(version)
    client, gaps = make_client(host), Ear()
    client.on_gap(gaps)
    client.wait_ready()
    for uri in ("toy:a", "toy:b", "toy:c"):
        client.subscribe_resource(uri)
    host.refused = {"toy:b"}
    back_again(client, host)
    (gap,) = gaps.wait_for(1)
    assert gap.lost == ("toy:b",)
    assert host.wanted_uris == {"toy:a", "toy:c"}
    # It was told; from now on it is as if nobody had ever subscribed to it.
    host.refused = set()
    back_again(client, host)
    assert gaps.wait_for(2)[1].lost == ()
    assert host.wanted_uris == {"toy:a", "toy:c"}


@pytest.mark.requirement("connection:recover")
@over_both_wires
@both_eras
def test_a_new_server_without_subscriptions_loses_all_of_them(
    version: str, make_news: MakeNews, make_client: MakeClient
) -> None:
    host = make_news(version)
    client, gaps = make_client(host), Ear()
    client.on_gap(gaps)
    client.wait_ready()
    client.subscribe_resource("toy:a")
    host.capabilities = OFFER | {"resources": {}}
    back_again(client, host)
    (gap,) = gaps.wait_for(1)
    assert gap.lost == ("toy:a",)


@pytest.mark.requirement("connection:recover")
@over_both_wires
def test_a_stream_that_the_new_server_refuses_is_named_too(
    make_news: MakeNews, make_client: MakeClient
) -> None:
    def refuse(_: Any) -> Any:
        raise Refusal(-32603, "no streams today")

    host = make_news(STATELESS)
    client, gaps = make_client(host), Ear()
    client.on_gap(gaps)
    client.wait_ready()
    client.subscribe_resource("toy:a")
    host.answers["subscriptions/listen"] = refuse
    back_again(client, host)
    (gap,) = gaps.wait_for(1)
    assert gap.lost == ("toy:a",)
    assert client.state == "ready"


@pytest.mark.requirement("connection:recover")
@over_both_wires
@both_eras
def test_a_listing_that_the_new_server_refuses_is_skipped(
    version: str, make_news: MakeNews, make_client: MakeClient
) -> None:
    def refuse(_: Any) -> Any:
        raise Refusal(-32603, "no list today")

    host = make_news(version)
    client = make_client(host)
    client.list_tools()
    client.list_prompts()
    host.answers["prompts/list"] = refuse
    mark = len(host.heard)
    back_again(client, host)
    assert since(host, mark).count("tools/list") == 1
    with pytest.raises(errors.RemoteError, match="no list today"):
        client.list_prompts()


@pytest.mark.requirement("connection:recover")
@over_both_wires
@both_eras
def test_what_the_new_server_promises_counts(
    version: str, make_news: MakeNews, make_client: MakeClient
) -> None:
    host = make_news(version)
    host.answers["tools/call"] = lambda _: {"content": [], "structuredContent": {"n": 1}}
    client = make_client(host)
    client.list_tools()
    client.call_tool("echo")
    host.answers["tools/list"] = lambda _: {"tools": [tool("echo") | {"outputSchema": {"type": "array"}}]}
    back_again(client, host)
    with pytest.raises(errors.InvalidResponse):
        client.call_tool("echo")


@pytest.mark.requirement("connection:recover")
@over_both_wires
@both_eras
def test_a_second_loss_in_the_middle_of_it_begins_it_again(
    version: str, make_news: MakeNews, make_client: MakeClient
) -> None:
    host = make_news(version)
    client, gaps = make_client(host), Ear()
    client.on_gap(gaps)
    client.list_tools()
    client.subscribe_resource("toy:a")
    usual = host.answers["tools/list"]

    def die(request: Any) -> Any:
        if host.wires < 4:
            host.drop()
            return SILENCE
        return usual(request)

    host.answers["tools/list"] = die
    host.drop()
    host.await_wires(4)
    client.ping(wait=True)
    assert host.wanted_uris == {"toy:a"}
    assert gaps.wait_for(1) == [Gap("the connection was lost")]
    until(lambda: client.state == "ready")


@pytest.mark.requirement("connection:recover")
@over_both_wires
@both_eras
def test_a_client_whose_connection_crashed_forgets_nothing(
    version: str, make_news: MakeNews, make_client: MakeClient
) -> None:
    host = make_news(version)
    client = make_client(host)
    client.list_tools()
    client.subscribe_resource("toy:a")
    tree = client._trees.value
    assert tree is not None
    assert tree.connection is not None
    tree.connection.tell("no message at all")
    host.await_wires(2)
    client.ping(wait=True)
    assert host.wanted_uris == {"toy:a"}
    assert len(host.all_heard("tools/list")) == 2


@pytest.mark.requirement("connection:recover")
@over_both_wires
@both_eras
def test_a_call_that_was_lost_is_not_repeated(
    version: str, make_news: MakeNews, make_client: MakeClient
) -> None:
    host = make_news(version)
    host.answers["tools/call"] = lambda _: SILENCE
    client = make_client(host).wait_ready()
    call = in_thread(lambda: client.call_tool("pay"))
    host.await_heard("tools/call")
    back_again(client, host)
    error = call.exception(BOUND)
    assert isinstance(error, errors.ConnectionLost)
    assert (error.outcome, error.retryable) == ("unknown", False)
    assert len(host.all_heard("tools/call")) == 1
