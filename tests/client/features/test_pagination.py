"""Pagination: all pages at once or one by one, and no further than a server may be believed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mcp_actors import Client, errors
from tests.client.features.places import Place
from tests.client.toy_host import STATELESS, Refusal, ToyHost, tool

MakeClient = Callable[..., Client]
MakeHost = Callable[..., ToyHost]

#: How to list, how to turn pages, the method, and where the things are.
LISTS = {
    "tools": ("list_tools", "tool_pages", "tools/list", "tools"),
    "resources": ("list_resources", "resource_pages", "resources/list", "resources"),
    "templates": (
        "list_resource_templates",
        "resource_template_pages",
        "resources/templates/list",
        "resource_templates",
    ),
    "prompts": ("list_prompts", "prompt_pages", "prompts/list", "prompts"),
}
WIRE = {"resource_templates": "resourceTemplates"}
each_list = pytest.mark.parametrize("what", LISTS)
both_eras = pytest.mark.parametrize("version", [STATELESS, "2025-11-25"])


def thing(name: str) -> dict[str, Any]:
    """Something that fits in any list."""
    return tool(name) | {"uri": f"toy:{name}", "uriTemplate": f"toy:{name}"}


def paged(what: str, pages: dict[str | None, tuple[list[str], str | None]]) -> Callable[[Any], Any]:
    member = LISTS[what][3]

    def answer(request: dict[str, Any]) -> Any:
        cursor = request["params"].get("cursor")
        if cursor not in pages:
            raise Refusal(-32602, "no such page")
        names, following = pages[cursor]
        page: dict[str, Any] = {WIRE.get(member, member): [thing(name) for name in names]}
        return page | ({} if following is None else {"nextCursor": following})

    return answer


@pytest.mark.requirement("feature:pagination")
def test_pages_can_be_turned_one_by_one_and_taken_up_later(place: Place) -> None:
    client = place.connect()
    pages = client.tool_pages()
    first = pages.next_page()
    assert first is not None
    assert [one.name for one in first.tools] == ["add", "lie", "ask"]
    assert (pages.next_cursor, pages.done) == ("3", False)
    rest = client.tool_pages(cursor=pages.next_cursor)
    assert [[one.name for one in page.tools] for page in rest] == [
        ["log", "change", "touch"],
        ["count", "meta"],
    ]
    assert (rest.done, rest.next_cursor, rest.next_page()) == (True, None, None)


@pytest.mark.requirement("feature:pagination")
@each_list
@both_eras
def test_every_list_follows_its_cursors(
    version: str, what: str, make_host: MakeHost, make_client: MakeClient
) -> None:
    all_at_once, one_by_one, method, member = LISTS[what]
    host = make_host(version=version)
    host.answers[method] = paged(what, {None: (["a"], ""), "": ([], "ü"), "ü": (["b", "c"], None)})
    client = make_client(host)
    assert [one.name for one in getattr(client, all_at_once)()] == ["a", "b", "c"]
    cursors = [one["params"].get("cursor") for one in host.all_heard(method)]
    assert cursors == [None, "", "ü"]
    pages = [[one.name for one in getattr(page, member)] for page in getattr(client, one_by_one)()]
    assert pages == [["a"], [], ["b", "c"]]


@pytest.mark.requirement("feature:pagination")
@each_list
def test_a_cursor_that_comes_again_is_the_servers_mistake(
    what: str, host: ToyHost, make_client: MakeClient
) -> None:
    all_at_once, one_by_one, method, _ = LISTS[what]
    host.answers[method] = paged(what, {None: ([], "1"), "1": ([], "2"), "2": ([], "1")})
    client = make_client(host)
    with pytest.raises(errors.InvalidResponse, match="cursor '1' came again after 3 pages"):
        getattr(client, all_at_once)()
    with pytest.raises(errors.InvalidResponse, match="came again"):
        list(getattr(client, one_by_one)())
    client.ping()


@pytest.mark.requirement("feature:pagination")
@both_eras
def test_a_cursor_the_server_does_not_know_is_its_error(
    version: str, make_host: MakeHost, make_client: MakeClient
) -> None:
    host = make_host(version=version)
    host.answers["tools/list"] = paged("tools", {None: (["a"], None)})
    client = make_client(host)
    with pytest.raises(errors.RemoteError, match="no such page"):
        client.tool_pages(cursor="old").next_page()
    with pytest.raises(TypeError, match="cursor must be a string, not int"):
        client.tool_pages(cursor=5)  # type: ignore[arg-type]


@pytest.mark.requirement("feature:pagination")
def test_a_page_that_failed_can_be_asked_for_again(host: ToyHost, make_client: MakeClient) -> None:
    pages = {None: (["a"], "1")}
    host.answers["tools/list"] = paged("tools", pages)  # type: ignore[arg-type]
    listing = make_client(host).tool_pages()
    assert listing.next_page() is not None
    with pytest.raises(errors.RemoteError):
        listing.next_page()
    host.answers["tools/list"] = paged("tools", {"1": (["b"], None)})
    page = listing.next_page()
    assert page is not None
    assert [one.name for one in page.tools] == ["b"]
    assert listing.done
