"""Pages: followed, resumed, and no further than a server may be believed."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, cast

import pytest

from mcp_actors import Client, errors
from mcp_actors.client.cache import ResponseCache
from mcp_actors.client.calls import Calls, Manner
from mcp_actors.client.pages import Pages
from mcp_actors.protocol import types
from mcp_actors.runtime.deadline import Deadline
from tests.client.keeping import TOOLS, FakeClock
from tests.client.paging import FakeCalls, names, pages_of, three_pages
from tests.client.toy_host import Refusal, ToyHost, tool
from tests.client.waiting import BOUND

pytestmark = pytest.mark.requirement("feature:pagination")

MakeClient = Callable[..., Client]
MakeHost = Callable[..., ToyHost]
BOTH_ERAS = ("2026-07-28", "2025-11-25")


@pytest.fixture
def calls() -> FakeCalls:
    return three_pages()


@pytest.fixture
def cache() -> ResponseCache:
    return ResponseCache()


# One after the other.


def test_pages_come_one_by_one_and_only_when_asked_for(calls: FakeCalls) -> None:
    pages = pages_of(calls)
    assert (calls.asked, pages.next_cursor, pages.done) == ([], None, False)
    first = pages.next_page()
    assert first is not None
    assert (calls.asked, pages.next_cursor, first.next_cursor) == ([None], "", "")
    assert names(pages) == "bc"
    assert (calls.asked, pages.next_cursor, pages.done) == ([None, "", "2"], None, True)
    assert pages.next_page() is None
    assert list(pages) == []
    assert len(calls.asked) == 3


def test_a_listing_is_resumed_at_a_cursor(calls: FakeCalls) -> None:
    pages = pages_of(calls)
    next(pages)
    assert names(pages_of(calls, cursor=pages.next_cursor)) == "bc"
    assert names(pages_of(calls, cursor="2")) == "c"


def test_a_cursor_is_a_string() -> None:
    with pytest.raises(TypeError, match="cursor must be a string, not int"):
        pages_of(FakeCalls({}), cursor=7)


def test_all_pages_are_collected(calls: FakeCalls) -> None:
    pages = pages_of(calls)
    assert [page.tools[0].name for page in pages.collect()] == ["a", "b", "c"]
    assert pages.collect() == []


def test_every_page_is_asked_for_with_the_same_meta(calls: FakeCalls) -> None:
    names(pages_of(calls, meta={"trace": 1}))
    assert calls.metas == [b'{"trace":1}'] * 3


def test_a_cursor_that_comes_again_ends_the_listing() -> None:
    calls = FakeCalls({None: ("a", "1"), "1": ("b", "2"), "2": ("c", "1")})
    pages = pages_of(calls)
    assert [next(pages).tools[0].name for _ in range(3)] == ["a", "b", "c"]
    for _ in range(2):
        with pytest.raises(errors.InvalidResponse) as caught:
            next(pages)
        assert str(caught.value) == "tools/list does not end: cursor '1' came again after 3 pages"
    assert len(calls.asked) == 3


def test_a_cursor_that_leads_back_to_where_the_caller_began_ends_the_listing() -> None:
    pages = pages_of(FakeCalls({"x": ("a", "y"), "y": ("b", "x")}), cursor="x")
    with pytest.raises(errors.InvalidResponse, match="cursor 'x' came again after 2 pages"):
        pages.collect()


def test_a_thousand_pages_are_enough() -> None:
    calls = FakeCalls({None: ("a", "0")} | {str(n): ("a", str(n + 1)) for n in range(2000)})
    with pytest.raises(errors.InvalidResponse) as caught:
        pages_of(calls).collect()
    assert str(caught.value) == "tools/list does not end: there is a cursor after 1000 pages"
    assert caught.value.details == {"pages": 1000}
    assert len(calls.asked) == 1000


def test_a_page_that_failed_can_be_asked_for_again(calls: FakeCalls) -> None:
    pages = pages_of(calls)
    next(pages)
    held = calls.pages.pop("")
    with pytest.raises(errors.RemoteError):
        next(pages)
    assert (pages.next_cursor, pages.restarted) == ("", False)
    calls.pages[""] = held
    assert names(pages) == "bc"


# Within one limit of time.


def test_all_pages_share_the_time_but_not_what_the_caller_does_between_them(calls: FakeCalls) -> None:
    clock = FakeClock()

    def take_a_while() -> None:
        clock.now += 10

    calls.before_answer = take_a_while
    pages = pages_of(calls, 30.0, clock=clock)
    left = []
    for _ in pages:
        clock.now += 1000
        deadline = calls.deadlines[-1]
        assert deadline is not None
        left.append(deadline.remaining())
    assert [round(seconds, -1) for seconds in left] == [30, 20, 10]


def test_the_deadline_of_a_larger_task_holds_for_all_pages(calls: FakeCalls) -> None:
    deadline = Deadline.after(BOUND)
    manner = Manner(BOUND, deadline=deadline)
    assert len(Pages(cast(Calls, calls), TOOLS, types.ListToolsResult, manner).collect()) == 3
    assert calls.deadlines == [deadline] * 3


# Over a wire.


def paged(host: ToyHost, *tools: str, ttl_ms: int | None = None) -> None:
    """Let the host list one tool per page, with cursors that only this list has."""
    cursors = [None, *(f"{'.'.join(tools)}/{n}" for n in range(1, len(tools))), None]
    pages = dict(zip(cursors, zip(tools, cursors[1:], strict=False), strict=False))

    def answer(request: dict[str, Any]) -> Any:
        cursor = request["params"].get("cursor")
        if cursor not in pages:
            raise Refusal(-32602, "Invalid cursor")
        name, following = pages[cursor]
        page = {"tools": [tool(name)]} | ({} if following is None else {"nextCursor": following})
        return page | ({} if ttl_ms is None else {"ttlMs": ttl_ms, "cacheScope": "private"})

    host.answers[TOOLS] = answer


@pytest.mark.parametrize("version", BOTH_ERAS)
def test_pages_of_a_server_are_followed_and_resumed(
    version: str, make_host: MakeHost, make_client: MakeClient
) -> None:
    host = make_host(version=version)
    paged(host, "a", "b", "c")
    client = make_client(host)
    pages = pages_of(client._calls)
    assert next(pages).tools[0].name == "a"
    assert names(pages_of(client._calls, cursor=pages.next_cursor)) == "bc"
    assert [page.tools[0].name for page in pages.collect()] == ["b", "c"]


@pytest.mark.requirement("feature:caching")
@pytest.mark.parametrize("version", BOTH_ERAS)
def test_a_server_that_gives_no_time_to_live_is_asked_each_time(
    version: str, make_host: MakeHost, make_client: MakeClient, cache: ResponseCache
) -> None:
    host = make_host(version=version)
    paged(host, "a", "b")
    client = make_client(host)
    for _ in range(2):
        assert names(pages_of(client._calls, cache=cache)) == "ab"
    assert len(host.all_heard(TOOLS)) == 4


@pytest.mark.requirement("feature:caching")
def test_a_server_whose_list_changed_under_its_kept_pages_is_listed_anew(
    host: ToyHost, client: Client, cache: ResponseCache
) -> None:
    paged(host, "a", "b", ttl_ms=60_000)
    next(pages_of(client._calls, cache=cache))
    paged(host, "x", "y", "z", ttl_ms=60_000)
    for fetched in (5, 5):
        collected = pages_of(client._calls, cache=cache).collect()
        assert [page.tools[0].name for page in collected] == ["x", "y", "z"]
        assert len(host.all_heard(TOOLS)) == fetched


def test_a_server_without_end_is_left_in_time(host: ToyHost, client: Client) -> None:
    numbers = itertools.count()
    host.answers[TOOLS] = lambda _: {"tools": [], "nextCursor": str(next(numbers))}
    with pytest.raises(errors.InvalidResponse, match="there is a cursor after 1000 pages"):
        pages_of(client._calls, 60.0).collect()
    assert len(host.all_heard(TOOLS)) == 1000
