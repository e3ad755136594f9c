"""News: what is added, removed or updated while clients listen, in both eras."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_actors import Client, Server, errors
from mcp_actors.server import timekeeper
from tests.client.features.ear import Ear
from tests.client.waiting import until
from tests.server.conftest import Connect, MakeTalk
from tests.server.talk import HANDSHAKE, STATELESS, VERSIONS


@pytest.fixture
def shop(server: Server) -> Server:
    server.add_tool(lambda: 1, name="one")
    server.add_prompt(lambda: "", name="one")
    server.add_resource("shop://one", lambda: "")
    return server


def listening(client: Client, server: Server) -> Client:
    """As soon as the server knows that it listens."""
    until(lambda: server.host._audience)
    return client


CHANGES: dict[str, tuple[Any, Any, Any]] = {
    "tools": (
        lambda server: server.add_tool(lambda: 2, name="two"),
        lambda server: server.remove_tool("two"),
        lambda client: [tool.name for tool in client.list_tools(fresh=True)],
    ),
    "prompts": (
        lambda server: server.add_prompt(lambda: "", name="two"),
        lambda server: server.remove_prompt("two"),
        lambda client: [prompt.name for prompt in client.list_prompts(fresh=True)],
    ),
    "resources": (
        lambda server: server.add_resource("shop://two", lambda: ""),
        lambda server: server.remove_resource("shop://two"),
        lambda client: [one.uri.removeprefix("shop://") for one in client.list_resources(fresh=True)],
    ),
}


@pytest.mark.requirement("feature:list-changed")
@pytest.mark.requirement("feature:subscriptions")
@pytest.mark.parametrize("kind", CHANGES)
@pytest.mark.parametrize("version", VERSIONS)
def test_who_listens_hears_of_what_is_added_and_removed(
    shop: Server, connect: Connect, version: str, kind: str
) -> None:
    add, remove, names = CHANGES[kind]
    heard = Ear()
    client = connect(shop, version)
    getattr(client, f"on_{kind}_changed")(heard)
    listening(client, shop)
    add(shop)
    heard.wait_for(1)
    assert names(client) == ["one", "two"]
    remove(shop)
    heard.wait_for(2)
    assert names(client) == ["one"]


def test_a_template_that_comes_and_goes_is_a_change_of_resources(
    shop: Server, connect: Connect, era: str
) -> None:
    heard = Ear()
    client = connect(shop, era)
    client.on_resources_changed(heard)
    listening(client, shop)
    shop.add_resource("shop://{x}/y", lambda x: x)
    heard.wait_for(1)
    shop.remove_resource("shop://{x}/y")
    heard.wait_for(2)
    assert client.list_resource_templates(fresh=True) == []


@pytest.mark.requirement("feature:list-changed")
def test_many_changes_are_told_at_once_and_the_last_is_never_lost(
    shop: Server, talk: MakeTalk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timekeeper, "QUIET_SECONDS", 0.05)
    one = talk(shop, HANDSHAKE)
    until(lambda: shop.host._audience)
    for number in range(200):
        shop.add_tool(lambda: 1, name=f"tool-{number}")
    assert one.read()["method"] == "notifications/tools/list_changed"
    assert one.read()["method"] == "notifications/tools/list_changed"
    assert len(one.call("tools/list", cursor=None)["result"]["tools"]) == 100
    assert len(one.heard) < 10, "so many changes need few words"


@pytest.mark.requirement("feature:resources")
@pytest.mark.requirement("feature:subscriptions")
@pytest.mark.parametrize("version", VERSIONS)
def test_who_subscribed_hears_of_updates(shop: Server, connect: Connect, version: str) -> None:
    heard = Ear()
    client = connect(shop, version)
    client.on_resource_updated(heard)
    client.subscribe_resource("shop://one")
    until(lambda: shop.host._audience)
    shop.resource_updated("shop://other")
    shop.resource_updated("shop://one")
    assert heard.wait_for(1) == ["shop://one"]
    client.unsubscribe_resource("shop://one")
    shop.resource_updated("shop://one")
    client.ping()
    assert heard.heard == ["shop://one"]


@pytest.mark.requirement("feature:subscriptions")
def test_a_stream_is_told_what_it_was_granted_and_ends_in_good_order(shop: Server, talk: MakeTalk) -> None:
    one = talk(shop, STATELESS)
    wanted = {"toolsListChanged": True, "promptsListChanged": False, "resourceSubscriptions": ["shop://one"]}
    stream = one.ask("subscriptions/listen", notifications=wanted)
    told = one.read()
    assert told["method"] == "notifications/subscriptions/acknowledged"
    assert told["params"]["notifications"] == {
        "toolsListChanged": True,
        "resourceSubscriptions": ["shop://one"],
    }
    shop.add_prompt(lambda: "", name="unheard")
    shop.resource_updated("shop://one")
    updated = one.read()
    assert updated["params"]["uri"] == "shop://one"
    assert updated["params"]["_meta"] == {"io.modelcontextprotocol/subscriptionId": stream}
    shop.close()
    assert one.answer_to(stream)["result"]["resultType"] == "complete"
    assert one.at_end()


@pytest.mark.requirement("feature:subscriber-cleanup")
@pytest.mark.parametrize("leave", ["close", "cancel"])
def test_a_dead_subscriber_leaves_nothing(shop: Server, talk: MakeTalk, leave: str) -> None:
    one = talk(shop, STATELESS)
    stream = one.ask("subscriptions/listen", notifications={"toolsListChanged": True})
    one.read()
    assert len(shop.host._audience) == 1
    if leave == "close":
        one.close()
    else:
        one.tell("notifications/cancelled", requestId=stream)
    until(lambda: not shop.host._audience)


@pytest.mark.requirement("feature:subscriber-cleanup")
def test_a_session_that_ends_is_forgotten_with_its_subscriptions(shop: Server, talk: MakeTalk) -> None:
    one = talk(shop, HANDSHAKE)
    one.call("resources/subscribe", uri="shop://one")
    assert len(shop.host._audience) == 1
    one.close()
    until(lambda: not shop.host._audience)
    until(lambda: len(shop.host.lines) == 1)
    shop.resource_updated("shop://one")


def test_news_before_anybody_came_are_no_news(server: Server) -> None:
    server.resource_updated("shop://one")
    server.add_tool(lambda: 1, name="one")
    assert server._hosts.value is None


def test_what_a_server_does_not_declare_cannot_be_subscribed_to(
    server: Server, connect: Connect, talk: MakeTalk
) -> None:
    server.add_tool(lambda: 1, name="one")
    with pytest.raises(errors.CapabilityMissing):
        connect(server, HANDSHAKE).subscribe_resource("shop://one")
    one = talk(server, STATELESS)
    one.ask("subscriptions/listen", notifications={"resourceSubscriptions": ["shop://one"]})
    assert one.read()["params"]["notifications"] == {}
