"""Kept answers: as long as the server lets us, for whom it lets us, and never after it said otherwise."""

from __future__ import annotations

import sys

import msgspec
import pytest
from msgspec import Raw

from mcp_actors.client.cache import CacheStats, ResponseCache
from tests.client.keeping import (
    DAY,
    KEPT,
    PROMPTS,
    PROMPTS_CHANGED,
    READ,
    RESOURCES,
    RESOURCES_CHANGED,
    TEMPLATES,
    TOOLS,
    TOOLS_CHANGED,
    UPDATED,
    FakeClock,
    found,
    keep,
    params_of,
)

pytestmark = pytest.mark.requirement("feature:caching")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def cache(clock: FakeClock) -> ResponseCache:
    return ResponseCache(clock)


# How long.


def test_an_answer_is_kept_until_its_time_is_over(cache: ResponseCache, clock: FakeClock) -> None:
    keep(cache, ttl_ms=1500)
    clock.now += 1.499
    assert found(cache) == b"1"
    clock.now += 0.001
    assert found(cache) is None
    assert cache.stats == CacheStats(hits=1, misses=1, stored=1)


def test_its_time_begins_when_the_answer_is_there(cache: ResponseCache, clock: FakeClock) -> None:
    ticket = cache.ticket(TOOLS, b"{}")
    clock.now += 60
    cache.store(ticket, Raw(b"1"), 1000, "private")
    assert found(cache) == b"1"


@pytest.mark.parametrize("ttl_ms", [None, 0, -1, -(10**30), True, 1000.0, "1000", [1000]])
def test_an_answer_without_a_time_to_live_is_not_kept(cache: ResponseCache, ttl_ms: object) -> None:
    keep(cache, ttl_ms=ttl_ms)
    assert found(cache) is None
    assert cache.stats.stored == 0


@pytest.mark.parametrize("ttl_ms", [24 * 60 * 60 * 1000 + 1, 2**63, 10**400])
def test_no_answer_is_kept_for_longer_than_a_day(cache: ResponseCache, clock: FakeClock, ttl_ms: int) -> None:
    keep(cache, ttl_ms=ttl_ms)
    clock.now += DAY - 1
    assert found(cache) == b"1"
    clock.now += 1
    assert found(cache) is None


@pytest.mark.parametrize("method", KEPT)
def test_answers_to_these_methods_are_kept(cache: ResponseCache, method: str) -> None:
    keep(cache, method)
    assert found(cache, method) == b"1"
    assert [found(cache, other) for other in KEPT if other != method] == [None] * 5


@pytest.mark.parametrize("method", ["tools/call", "prompts/get", "completion/complete", "x"])
def test_answers_to_other_methods_are_not(cache: ResponseCache, method: str) -> None:
    keep(cache, method)
    cache.forget(method, b"{}")
    cache.drop_pages(method)
    assert found(cache, method) is None
    assert cache.stats == CacheStats()


def test_each_set_of_params_has_its_own_answer(cache: ResponseCache) -> None:
    keep(cache, params=b"{}", result=b"1")
    keep(cache, params=b'{"cursor":""}', result=b"2")
    assert found(cache) == b"1"
    assert found(cache, params=b'{"cursor":""}') == b"2"
    assert found(cache, params=b'{"cursor":"1"}') is None


def test_the_newest_answer_counts(cache: ResponseCache) -> None:
    keep(cache, result=b"1")
    keep(cache, result=b"2")
    assert found(cache) == b"2"
    assert (cache.stats.stored, cache.stats.entries) == (2, 1)


# For whom.


@pytest.mark.parametrize("scope", ["private", None, "PUBLIC", "shared", 7])
def test_what_is_not_public_is_for_its_own_principal_alone(cache: ResponseCache, scope: object) -> None:
    keep(cache, scope=scope, partition="ann")
    assert found(cache, partition="ann") == b"1"
    assert found(cache, partition="bob") is None
    assert found(cache) is None


def test_what_is_public_is_for_everybody(cache: ResponseCache) -> None:
    keep(cache, scope="public", partition="ann")
    assert [found(cache, partition=who) for who in ("ann", "bob", "")] == [b"1"] * 3


def test_an_answer_that_became_private_is_public_no_more(cache: ResponseCache, clock: FakeClock) -> None:
    keep(cache, result=b"1", scope="public", ttl_ms=60_000)
    keep(cache, result=b"2", partition="ann")
    assert found(cache, partition="ann") == b"2"
    assert found(cache, partition="bob") is None
    clock.now += 1
    assert found(cache, partition="ann") is None


def test_an_answer_that_became_public_hides_the_private_one_no_more(cache: ResponseCache) -> None:
    keep(cache, result=b"1", partition="ann")
    keep(cache, result=b"2", scope="public", partition="ann")
    assert found(cache, partition="ann") == b"2"


# Until the server says otherwise.


@pytest.mark.parametrize(
    ("notification", "dropped"),
    [
        (TOOLS_CHANGED, {TOOLS}),
        (PROMPTS_CHANGED, {PROMPTS}),
        (RESOURCES_CHANGED, {RESOURCES, TEMPLATES}),
        (UPDATED, {READ}),
        ("notifications/message", set()),
        ("notifications/progress", set()),
        ("tools/list_changed", set()),
    ],
)
def test_a_notification_drops_what_it_concerns_and_nothing_else(
    cache: ResponseCache, notification: str, dropped: set[str]
) -> None:
    early = {method: cache.ticket(method, b'{"cursor":"1"}') for method in KEPT}
    for method in KEPT:
        keep(cache, method)
        keep(cache, method, b'{"cursor":"2"}', scope="public")
    cache.heard(notification)
    for ticket in early.values():
        cache.store(ticket, Raw(b"1"), 1000, "private")
    for cursor in (b"{}", b'{"cursor":"1"}', b'{"cursor":"2"}'):
        assert {method for method in KEPT if found(cache, method, cursor) is None} == dropped


@pytest.mark.parametrize(
    ("updated", "dropped"),
    [
        ("x:/a/b", ["x:/", "x:/a", "x:/a/b", "x:/a/b/c", "x:/a/bc"]),
        ("x:/a", ["x:/", "x:/a", "x:/a/b", "x:/a/b/c", "x:/a/bc", "x:/ab"]),
        ("y:/a", ["y:/a"]),
        ("z:", []),
        ("", ["x:/", "x:/a", "x:/a/b", "x:/a/b/c", "x:/a/bc", "x:/ab", "y:/a"]),
    ],
)
def test_an_update_drops_the_reads_above_and_below_it(
    cache: ResponseCache, updated: str, dropped: list[str]
) -> None:
    uris = ["x:/", "x:/a", "x:/a/b", "x:/a/b/c", "x:/a/bc", "x:/ab", "y:/a"]
    for uri in uris:
        keep(cache, READ, params_of(uri))
    cache.heard(UPDATED, updated)
    assert [uri for uri in uris if found(cache, READ, params_of(uri)) is None] == dropped


def test_an_update_that_names_nothing_drops_all_reads(cache: ResponseCache) -> None:
    keep(cache, READ, params_of("x:"))
    cache.heard(UPDATED, None)
    assert cache.stats.entries == 0


def test_a_read_without_a_uri_goes_with_any_update(cache: ResponseCache) -> None:
    keep(cache, READ, b'{"uri":7}')
    cache.heard(UPDATED, "x:")
    assert cache.stats.entries == 0


def test_an_answer_overtaken_at_the_last_moment_is_not_kept() -> None:
    def hear_and_tell_the_time() -> float:
        overtaken.heard(TOOLS_CHANGED)
        return 0.0

    overtaken = ResponseCache(hear_and_tell_the_time)
    keep(overtaken)
    assert overtaken.stats == CacheStats()


def test_an_answer_to_a_request_sent_after_the_notification_is_kept(cache: ResponseCache) -> None:
    cache.heard(TOOLS_CHANGED)
    keep(cache)
    assert found(cache) == b"1"


def test_a_loss_of_the_connection_drops_everything_also_what_is_on_its_way(cache: ResponseCache) -> None:
    tickets = [cache.ticket(method, b'{"uri":"x"}') for method in KEPT]
    for method in KEPT:
        keep(cache, method)
    cache.clear()
    for ticket in tickets:
        cache.store(ticket, Raw(b"1"), 1000, "public")
    assert cache.stats.entries == 0


def test_an_unknown_cursor_drops_the_pages_of_its_list(cache: ResponseCache) -> None:
    late = cache.ticket(TOOLS, b'{"cursor":"2"}')
    for method in KEPT:
        keep(cache, method)
        keep(cache, method, b'{"cursor":"1"}')
    cache.drop_pages(TOOLS)
    cache.store(late, Raw(b"1"), 1000, "private")
    cache.drop_pages(READ)
    assert {method for method in KEPT if found(cache, method) is None} == {TOOLS}
    assert found(cache, TOOLS, b'{"cursor":"1"}') is found(cache, TOOLS, b'{"cursor":"2"}') is None


def test_an_answer_asked_for_before_somebody_wanted_a_fresh_one_does_not_replace_it(
    cache: ResponseCache,
) -> None:
    slow = cache.ticket(TOOLS, b"{}")
    keep(cache, params=b'{"cursor":"1"}')
    keep(cache, partition="bob")
    keep(cache, scope="public")
    cache.forget(TOOLS, b"{}")
    assert found(cache) is None
    assert found(cache, params=b'{"cursor":"1"}') == found(cache, partition="bob") == b"1"
    keep(cache, result=b"new")
    cache.store(slow, Raw(b"old"), 1000, "private")
    assert found(cache) == b"new"


# Within bounds.


def test_what_nobody_looked_at_for_longest_makes_room(clock: FakeClock) -> None:
    cache = ResponseCache(clock, most=3)
    for method in (TOOLS, READ, PROMPTS):
        keep(cache, method)
    found(cache, TOOLS)
    keep(cache, RESOURCES)
    assert [method for method in KEPT if found(cache, method)] == [TOOLS, PROMPTS, RESOURCES]


def test_what_is_over_makes_room_first(clock: FakeClock) -> None:
    cache = ResponseCache(clock, most=2)
    keep(cache, TOOLS, ttl_ms=60_000)
    keep(cache, READ, ttl_ms=1000)
    clock.now += 1
    keep(cache, PROMPTS)
    assert found(cache, TOOLS) == found(cache, PROMPTS) == b"1"


def test_the_bytes_are_bounded_too(clock: FakeClock) -> None:
    cache = ResponseCache(clock, most_bytes=100)
    for n in range(10):
        keep(cache, params=b'{"cursor":"%d"}' % n, result=b"x" * 18)
    assert cache.stats.entries == 3
    assert cache.stats.bytes <= 100
    assert found(cache, params=b'{"cursor":"9"}') is not None
    keep(cache, result=b"x" * 98)
    assert cache.stats.entries == 1


def test_an_answer_larger_than_the_cache_drives_nobody_out(clock: FakeClock) -> None:
    cache = ResponseCache(clock, most_bytes=100)
    keep(cache)
    keep(cache, PROMPTS, result=b"x" * 99)
    assert found(cache) == b"1"
    assert found(cache, PROMPTS) is None
    keep(cache, PROMPTS, result=b"x" * 98)
    assert (found(cache), found(cache, PROMPTS)) == (None, b"x" * 98)


def test_a_cache_of_no_size_keeps_nothing(clock: FakeClock) -> None:
    cache = ResponseCache(clock, most=0)
    keep(cache)
    assert cache.stats.entries == 0


def test_an_answer_does_not_hold_on_to_the_frame_it_came_in(cache: ResponseCache) -> None:
    frame = b'{"result":[1,2],"more":"' + b"x" * 100 + b'"}'
    holders = sys.getrefcount(frame)
    result = msgspec.json.decode(frame, type=dict[str, Raw])["result"]
    cache.store(cache.ticket(TOOLS, b"{}"), result, 1000, "public")
    del result
    assert found(cache) == b"[1,2]"
    assert sys.getrefcount(frame) == holders
