"""Listings: pages are followed to their end, and no further than a server may be believed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mcp_actors import Client, errors
from tests.client.toy_host import SILENCE, VERSIONS, ToyHost, tool
from tests.client.waiting import until

MakeClient = Callable[..., Client]
MakeHost = Callable[..., ToyHost]


def paged(method: str, pages: dict[str | None, tuple[list[Any], str | None]]) -> Callable[[Any], Any]:
    """An answer that gives the page of the cursor it is asked for."""
    member = method.split("/")[0]

    def answer(request: dict[str, Any]) -> Any:
        items, following = pages[request["params"].get("cursor")]
        return {member: items} | ({} if following is None else {"nextCursor": following})

    return answer


@pytest.mark.parametrize("version", VERSIONS)
def test_all_pages_are_followed(version: str, make_host: MakeHost, make_client: MakeClient) -> None:
    host = make_host(version=version)
    host.answers["tools/list"] = paged(
        "tools/list", {None: ([tool("a")], "1"), "1": ([], "2"), "2": ([tool("b")], None)}
    )
    host.answers["resources/list"] = paged(
        "resources/list",
        {None: ([{"uri": "x:1", "name": "1"}], "z"), "z": ([{"uri": "x:2", "name": "2"}], None)},
    )
    host.answers["prompts/list"] = paged(
        "prompts/list", {None: ([{"name": "p"}], "ü"), "ü": ([{"name": "q"}], None)}
    )
    client = make_client(host)
    assert [one.name for one in client.list_tools()] == ["a", "b"]
    assert [one.uri for one in client.list_resources()] == ["x:1", "x:2"]
    assert [one.name for one in client.list_prompts()] == ["p", "q"]


def test_an_empty_cursor_is_a_cursor(client: Client, host: ToyHost) -> None:
    host.answers["tools/list"] = paged("tools/list", {None: ([tool("a")], ""), "": ([tool("b")], None)})
    assert [one.name for one in client.list_tools()] == ["a", "b"]


def test_a_cursor_that_comes_again_is_the_servers_mistake(client: Client, host: ToyHost) -> None:
    host.answers["tools/list"] = paged("tools/list", {None: ([], "1"), "1": ([], "2"), "2": ([], "1")})
    with pytest.raises(errors.InvalidResponse) as caught:
        client.list_tools()
    assert str(caught.value) == "tools/list does not end: cursor '1' came again after 3 pages"
    assert len(host.all_heard("tools/list")) == 3
    client.ping()


def test_pages_without_end_are_given_up_after_a_thousand(client: Client, host: ToyHost) -> None:
    host.answers["tools/list"] = lambda request: {
        "tools": [],
        "nextCursor": str(int(request["params"].get("cursor", "0")) + 1),
    }
    with pytest.raises(errors.InvalidResponse) as caught:
        client.list_tools(timeout=60)
    assert str(caught.value) == "tools/list does not end: there is a cursor after 1000 pages"
    assert caught.value.details == {"pages": 1000}
    assert len(host.all_heard("tools/list")) == 1000


def test_one_deadline_covers_all_pages_and_is_told_in_full(client: Client, host: ToyHost) -> None:
    host.answers["tools/list"] = lambda request: (
        SILENCE if request["params"].get("cursor") == "1" else {"tools": [], "nextCursor": "1"}
    )
    with pytest.raises(errors.RequestTimeout) as caught:
        client.list_tools(timeout=0.1)
    assert str(caught.value).splitlines()[0] == "no answer to tools/list within 0.1 s (state: ready)"


def test_a_page_of_the_wrong_shape_is_named(client: Client, host: ToyHost) -> None:
    host.answers["tools/list"] = lambda _: {"tools": [{"title": "no name"}]}
    with pytest.raises(errors.InvalidResponse, match=r"tools/list got an answer that does not fit: .*name"):
        client.list_tools()


@pytest.mark.requirement("connection:recover")
def test_listing_again_after_a_loss_follows_pages_but_not_in_circles(client: Client, host: ToyHost) -> None:
    client.list_tools()
    host.answers["tools/list"] = paged("tools/list", {None: ([], "1"), "1": ([], "1")})
    host.drop()
    host.await_wires(2)
    client.wait_ready()
    assert len(host.all_heard("tools/list")) == 3


@pytest.mark.requirement("connection:recover")
def test_what_a_tool_promises_after_a_reconnect_is_what_counts(client: Client, host: ToyHost) -> None:
    host.answers["tools/list"] = lambda _: {"tools": [tool("x", readOnlyHint=True)]}
    client.list_tools()
    assert client._listings.repeatable("x")
    host.answers["tools/list"] = lambda _: {"tools": [tool("x")]}
    host.drop()
    until(lambda: client.stats().reconnects == 1)
    assert not client._listings.repeatable("x")


@pytest.mark.requirement("connection:recover")
def test_a_listing_that_fails_after_a_reconnect_does_not_keep_the_client_from_being_ready(
    client: Client, host: ToyHost
) -> None:
    client.list_tools()
    client.list_prompts()
    host.answers.pop("tools/list")
    host.drop()
    host.await_wires(2)
    client.wait_ready()
    assert [one.name for one in client.list_prompts()] == ["greet"]
