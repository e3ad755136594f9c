"""Pages that are kept: not asked for again, and begun anew when the list changed under them."""

from __future__ import annotations

import pytest
from msgspec import Raw

from mcp_actors import errors
from mcp_actors.client.cache import ResponseCache
from tests.client.keeping import TOOLS, TOOLS_CHANGED
from tests.client.paging import FakeCalls, names, pages_of, three_pages

pytestmark = pytest.mark.requirement("feature:caching")


@pytest.fixture
def calls() -> FakeCalls:
    return three_pages()


@pytest.fixture
def cache() -> ResponseCache:
    return ResponseCache()


def test_pages_that_are_kept_are_not_asked_for_again(calls: FakeCalls, cache: ResponseCache) -> None:
    assert names(pages_of(calls, cache=cache)) == names(pages_of(calls, cache=cache)) == "abc"
    assert names(pages_of(calls, cache=cache, cursor="2", meta={"trace": 1})) == "c"
    assert calls.asked == [None, "", "2"]


def test_nobody_can_alter_the_page_of_another(calls: FakeCalls, cache: ResponseCache) -> None:
    first, second = (next(pages_of(calls, cache=cache)) for _ in range(2))
    first.tools.clear()
    first.raw["tools"].clear()
    assert [one.name for one in second.tools] == ["a"]
    assert second.raw["tools"] != []


def test_fresh_pages_are_asked_for_and_kept(calls: FakeCalls, cache: ResponseCache) -> None:
    names(pages_of(calls, cache=cache))
    calls.pages = {None: ("x", "1"), "1": ("y", None)}
    assert names(pages_of(calls, cache=cache, fresh=True)) == "xy"
    assert names(pages_of(calls, cache=cache)) == "xy"
    assert calls.asked == [None, "", "2", None, "1"]


def test_an_older_answer_does_not_replace_a_fresh_page(calls: FakeCalls, cache: ResponseCache) -> None:
    ticket = cache.ticket(TOOLS, b"{}")
    next(pages_of(calls, cache=cache, fresh=True))
    cache.store(ticket, Raw(b'{"tools":[]}'), 60_000, "private")
    assert names(pages_of(calls, cache=cache)) == "abc"


@pytest.mark.parametrize("ttl_ms", [0, None, -1])
def test_pages_without_a_time_to_live_are_not_kept(
    calls: FakeCalls, cache: ResponseCache, ttl_ms: int | None
) -> None:
    calls.ttl_ms = ttl_ms
    assert names(pages_of(calls, cache=cache)) == names(pages_of(calls, cache=cache)) == "abc"
    assert len(calls.asked) == 6


def test_a_page_overtaken_by_news_of_a_change_is_not_kept(calls: FakeCalls, cache: ResponseCache) -> None:
    calls.before_answer = lambda: cache.heard(TOOLS_CHANGED)
    assert names(pages_of(calls, cache=cache)) == "abc"
    assert cache.stats.entries == 0


def test_pages_are_kept_for_their_own_principal(calls: FakeCalls, cache: ResponseCache) -> None:
    names(pages_of(calls, cache=cache, partition="ann"))
    names(pages_of(calls, cache=cache, partition="bob"))
    names(pages_of(calls, cache=cache, partition="ann"))
    assert len(calls.asked) == 6


# Begun again.


def first_page_kept(calls: FakeCalls, cache: ResponseCache) -> None:
    """Let the first page be kept; then the list changes, and the server knows its old cursors no more."""
    next(pages_of(calls, cache=cache))
    calls.asked.clear()
    calls.pages = {None: ("x", "1"), "1": ("y", None)}


def test_a_listing_whose_kept_page_is_too_old_begins_again(calls: FakeCalls, cache: ResponseCache) -> None:
    first_page_kept(calls, cache)
    pages = pages_of(calls, cache=cache)
    assert next(pages).tools[0].name == "a"
    assert not pages.restarted
    assert next(pages).tools[0].name == "x"
    assert (pages.restarted, pages.next_cursor) == (True, "1")
    assert names(pages) == "y"
    assert calls.asked == ["", None, "1"]
    assert names(pages_of(calls, cache=cache)) == "xy"
    assert len(calls.asked) == 3


def test_whoever_collects_gets_each_page_of_the_new_listing_once(
    calls: FakeCalls, cache: ResponseCache
) -> None:
    first_page_kept(calls, cache)
    assert [page.tools[0].name for page in pages_of(calls, cache=cache).collect()] == ["x", "y"]


def test_a_cursor_of_the_older_listing_may_come_again_in_the_new_one(
    calls: FakeCalls, cache: ResponseCache
) -> None:
    pages_of(calls, cache=cache).collect()
    cache.forget(TOOLS, b'{"cursor":"2"}')
    calls.pages = {None: ("x", ""), "": ("y", None)}
    pages = pages_of(calls, cache=cache)
    assert names(pages) == "abxy"
    assert pages.restarted
    assert names(pages_of(calls, cache=cache)) == "xy"


def test_the_old_pages_of_other_readers_go_too(calls: FakeCalls, cache: ResponseCache) -> None:
    names(pages_of(calls, cache=cache, partition="ann"))
    first_page_kept(calls, cache)
    pages_of(calls, cache=cache).collect()
    assert names(pages_of(calls, cache=cache, partition="ann")) == "xy"


def test_a_listing_begins_again_only_once(calls: FakeCalls, cache: ResponseCache) -> None:
    first_page_kept(calls, cache)
    # Meanwhile somebody else has a page kept that is too old again.
    other = FakeCalls({"1": ("y", "old")})
    calls.before_answer = lambda: next(pages_of(other, cache=cache, cursor="1"))
    pages = pages_of(calls, cache=cache)
    assert [next(pages).tools[0].name for _ in range(3)] == ["a", "x", "y"]
    with pytest.raises(errors.RemoteError, match="no such cursor"):
        next(pages)
    assert calls.asked == ["", None, "old"]


def test_a_caller_who_gave_the_cursor_hears_that_it_is_too_old(
    calls: FakeCalls, cache: ResponseCache
) -> None:
    names(pages_of(calls, cache=cache, cursor=""))
    cache.forget(TOOLS, b'{"cursor":"2"}')
    calls.pages = {None: ("x", None)}
    pages = pages_of(calls, cache=cache, cursor="")
    assert next(pages).tools[0].name == "b"
    with pytest.raises(errors.RemoteError, match="no such cursor"):
        next(pages)
    assert not pages.restarted
    assert cache.stats.entries == 0


def test_a_cursor_of_a_page_that_just_came_is_not_excused(calls: FakeCalls, cache: ResponseCache) -> None:
    next(pages_of(calls, cache=cache))
    calls.pages.pop("2")
    pages = pages_of(calls, cache=cache)
    with pytest.raises(errors.RemoteError, match="no such cursor"):
        pages.collect()
    assert (calls.asked, pages.restarted) == ([None, "", "2"], False)


def test_other_errors_leave_the_kept_pages_alone(cache: ResponseCache) -> None:
    calls = FakeCalls({None: ("a", "1")})
    calls.refusal = -32603
    with pytest.raises(errors.RemoteError, match="no such cursor"):
        pages_of(calls, cache=cache).collect()
    with pytest.raises(errors.RemoteError, match="no such cursor"):
        pages_of(calls, cache=cache).collect()
    assert calls.asked == [None, "1", "1"]


def test_a_refusal_that_is_not_about_a_cursor_leaves_the_kept_pages_alone(cache: ResponseCache) -> None:
    calls = FakeCalls({None: ("a", None)})
    names(pages_of(calls, cache=cache))
    calls.pages.clear()
    with pytest.raises(errors.RemoteError, match="no such cursor"):
        next(pages_of(calls, cache=cache, partition="ann"))
    assert cache.stats.entries == 1
