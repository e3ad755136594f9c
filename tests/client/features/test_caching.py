"""Caching (2026-07-28): what a server lets its client keep, and everything that makes it old."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from mcp_actors import Client
from tests.client.features.ear import Ear
from tests.client.features.news_host import NewsHost
from tests.client.features.places import Place
from tests.client.toy_host import HANDSHAKES, STATELESS, ToyHost, asking, form, tool
from tests.client.waiting import until

MakeClient = Callable[..., Client]
MakeNews = Callable[..., NewsHost]
HOUR = 3_600_000

LISTS: dict[str, tuple[Callable[[Client], Any], str]] = {
    "tools/list": (lambda client: client.list_tools(), "tools"),
    "resources/list": (lambda client: client.list_resources(), "resources"),
    "resources/templates/list": (lambda client: client.list_resource_templates(), "resourceTemplates"),
    "prompts/list": (lambda client: client.list_prompts(), "prompts"),
}
NEWS = {
    "tools": {"tools/list"},
    "prompts": {"prompts/list"},
    "resources": {"resources/list", "resources/templates/list"},
}


def keeping(host: ToyHost, ttl: Any = HOUR, **more: Any) -> ToyHost:
    """Let every answer be numbered and carry a time to live."""
    numbers = itertools.count(1)

    def answer(member: str) -> Callable[[Any], Any]:
        def numbered(_: Any) -> Any:
            name = str(next(numbers))
            things = [tool(name) | {"uri": f"toy:{name}", "uriTemplate": f"toy:{name}"}]
            return {member: things, "ttlMs": ttl, "cacheScope": "private"} | more

        return numbered

    for method, (_, member) in LISTS.items():
        host.answers[method] = answer(member)
    host.answers["resources/read"] = lambda request: (
        {
            "contents": [{"uri": request["params"]["uri"], "text": str(next(numbers))}],
            "ttlMs": ttl,
            "cacheScope": "private",
        }
        | more
    )
    return host


def read(client: Client, uri: str, **manner: Any) -> str:
    return str(client.read_resource(uri, **manner).contents[0].raw["text"])


@pytest.fixture
def keeper(make_news: MakeNews) -> NewsHost:
    host = make_news(STATELESS)
    keeping(host)
    return host


@pytest.mark.requirement("feature:caching")
def test_what_may_be_kept_is_asked_for_once(place: Place) -> None:
    client = place.connect()
    for _ in range(3):
        assert client.read_resource("toy:text").contents[0].raw["text"] == "grüße"
        client.list_tools()
    for host in place.hosts:
        assert len(host.all_heard("resources/read")) == (1 if place.stateless else 3)
        # It may be kept for no time at all.
        assert len(host.all_heard("tools/list")) == 9


@pytest.mark.requirement("feature:caching")
@pytest.mark.parametrize("method", LISTS)
def test_every_list_is_kept_and_asked_for_anew_on_demand(
    method: str, keeper: NewsHost, make_client: MakeClient
) -> None:
    client, listed = make_client(keeper), LISTS[method][0]
    first = listed(client)
    assert listed(client)[0].name == first[0].name
    assert listed(client) is not first
    assert len(keeper.all_heard(method)) == 1
    name = listed.__code__.co_names[0]
    fresh = getattr(client, name)(fresh=True)
    assert fresh[0].name != first[0].name
    assert listed(client)[0].name == fresh[0].name
    assert len(keeper.all_heard(method)) == 2


@pytest.mark.requirement("feature:caching")
def test_a_fresh_read_replaces_what_was_kept(keeper: NewsHost, make_client: MakeClient) -> None:
    client = make_client(keeper)
    assert [read(client, "toy:a"), read(client, "toy:a"), read(client, "toy:b")] == ["1", "1", "2"]
    assert read(client, "toy:a", fresh=True) == "3"
    assert read(client, "toy:a") == "3"
    assert read(client, "toy:b") == "2"


@pytest.mark.requirement("feature:caching")
@pytest.mark.parametrize("ttl", [0, -1, None, True, 10**12])
def test_only_a_positive_time_lets_an_answer_be_kept(
    ttl: Any, host: ToyHost, make_client: MakeClient
) -> None:
    client = make_client(keeping(host, ttl))
    if ttl is True:
        # No number at all; the answer itself may be refused, but must not be kept.
        for _ in range(2):
            with pytest.raises(Exception, match="does not fit"):
                read(client, "toy:a")
        return
    kept = ttl == 10**12
    assert (read(client, "toy:a") == read(client, "toy:a")) is kept


@pytest.mark.requirement("feature:caching")
def test_time_ends_it(keeper: NewsHost, make_client: MakeClient) -> None:
    client = make_client(keeping(keeper, 20))
    first = read(client, "toy:a")
    until(lambda: read(client, "toy:a") != first)


@pytest.mark.requirement("feature:caching")
@pytest.mark.parametrize("what", NEWS)
def test_a_changed_list_is_asked_for_anew_and_the_others_are_not(
    what: str, keeper: NewsHost, make_client: MakeClient
) -> None:
    client, ear = make_client(keeper), Ear()
    getattr(client, f"on_{what}_changed")(ear)
    client.wait_ready()
    before = {method: listed(client)[0].name for method, (listed, _) in LISTS.items()}
    keeper.change(what)
    ear.wait_for(1)
    after = {method: listed(client)[0].name for method, (listed, _) in LISTS.items()}
    assert {method for method in LISTS if before[method] != after[method]} == NEWS[what]


@pytest.mark.requirement("feature:caching")
def test_a_handler_of_the_news_finds_the_new_list(keeper: NewsHost, make_client: MakeClient) -> None:
    client, names = make_client(keeper), Ear()
    client.on_tools_changed(lambda: names(client.list_tools()[0].name))
    client.wait_ready()
    old = client.list_tools()[0].name
    keeper.change("tools")
    assert names.wait_for(1) != [old]


@pytest.mark.requirement("feature:caching")
def test_an_updated_resource_is_read_anew_and_so_are_its_parts(
    keeper: NewsHost, make_client: MakeClient
) -> None:
    client, ear = make_client(keeper).wait_ready(), Ear()
    client.on_resource_updated(ear)
    client.subscribe_resource("file:///a")
    uris = ("file:///a", "file:///a/b", "file:///z")
    before = [read(client, uri) for uri in uris]
    assert [read(client, uri) for uri in uris] == before
    keeper.touch("file:///a")
    ear.wait_for(1)
    after = [read(client, uri) for uri in uris]
    assert [old == new for old, new in zip(before, after, strict=True)] == [False, False, True]


@pytest.mark.requirement("feature:caching")
def test_an_answer_that_was_overtaken_by_news_is_not_kept(keeper: NewsHost, make_client: MakeClient) -> None:
    client = make_client(keeper)
    client.on_resource_updated(Ear())
    client.wait_ready()
    client.subscribe_resource("toy:a")
    usual = keeper.answers["resources/read"]

    def overtaken(request: Any) -> Any:
        keeper.touch("toy:a")
        return usual(request)

    keeper.answers["resources/read"] = overtaken
    first = read(client, "toy:a")
    assert read(client, "toy:a") != first


@pytest.mark.requirement("feature:caching")
def test_a_lost_connection_empties_it(keeper: NewsHost, make_client: MakeClient) -> None:
    client = make_client(keeper)
    before = read(client, "toy:a")
    keeper.drop()
    keeper.await_wires(2)
    client.ping(wait=True)
    assert read(client, "toy:a") != before
    assert len(keeper.all_heard("resources/read")) == 2


@pytest.mark.requirement("feature:caching")
def test_a_stream_that_ended_empties_it(keeper: NewsHost, make_client: MakeClient) -> None:
    client, gaps = make_client(keeper).wait_ready(), Ear()
    client.on_gap(gaps)
    client.subscribe_resource("toy:a")
    before = read(client, "toy:a")
    keeper.end_stream()
    gaps.wait_for(1)
    assert read(client, "toy:a") != before


@pytest.mark.requirement("feature:caching")
def test_it_can_be_switched_off(keeper: NewsHost, make_client: MakeClient) -> None:
    client = make_client(keeper, use_cache=False)
    assert read(client, "toy:a") != read(client, "toy:a")
    assert client.list_tools()[0].name != client.list_tools()[0].name


@pytest.mark.requirement("feature:caching")
@pytest.mark.parametrize("scope", ["private", "public", "odd"])
def test_two_clients_share_nothing(scope: str, keeper: NewsHost, make_client: MakeClient) -> None:
    keeping(keeper, cacheScope=scope)
    one, other = make_client(keeper), make_client(keeper)
    assert read(one, "toy:a") != read(other, "toy:a")
    assert read(one, "toy:a") == read(one, "toy:a")


@pytest.mark.requirement("feature:caching")
def test_an_answer_that_took_questions_is_not_kept(keeper: NewsHost, make_client: MakeClient) -> None:
    usual = keeper.answers["resources/read"]
    keeper.answers["resources/read"] = lambda request: (
        usual(request) if "inputResponses" in request["params"] else asking({"q": form()})
    )
    client = make_client(keeper, elicitation_handler=lambda _: {"name": "Z"})
    assert read(client, "toy:a") != read(client, "toy:a")


@pytest.mark.requirement("feature:caching")
@pytest.mark.parametrize("version", HANDSHAKES)
def test_the_era_of_handshakes_knows_no_time_to_live(
    version: str, make_news: MakeNews, make_client: MakeClient
) -> None:
    host = make_news(version)
    keeping(host)
    client = make_client(host)
    assert read(client, "toy:a") != read(client, "toy:a")
    assert client.list_tools()[0].name != client.list_tools()[0].name


@pytest.mark.requirement("feature:caching")
def test_pages_are_kept_each_by_itself(keeper: NewsHost, make_client: MakeClient) -> None:
    pages = {None: ("a", "1"), "1": ("b", None)}

    def page(request: Any) -> Any:
        name, following = pages[request["params"].get("cursor")]
        result = {"tools": [tool(name)], "ttlMs": HOUR, "cacheScope": "public"}
        return result | ({} if following is None else {"nextCursor": following})

    keeper.answers["tools/list"] = page
    client = make_client(keeper)
    assert [one.name for one in client.list_tools()] == ["a", "b"]
    assert [one.name for one in client.list_tools()] == ["a", "b"]
    assert [one.tools[0].name for one in client.tool_pages(cursor="1")] == ["b"]
    assert len(keeper.all_heard("tools/list")) == 2


@pytest.mark.requirement("feature:caching")
def test_a_ping_is_never_answered_from_it(keeper: NewsHost, make_client: MakeClient) -> None:
    usual = keeper.answers["server/discover"]
    keeper.answers["server/discover"] = lambda request: usual(request) | {"ttlMs": HOUR}
    client = make_client(keeper).wait_ready()
    client.ping()
    client.ping()
    assert len(keeper.all_heard("server/discover")) == 3
