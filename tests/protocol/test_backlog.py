"""Waiting notifications: bounds hold, state news merge before anything is dropped, order is kept."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from mcp_actors.protocol.backlog import Backlog
from mcp_actors.protocol.jsonrpc import Notification

pytestmark = pytest.mark.requirement("flow:slow-handler")
TOOLS = "notifications/tools/list_changed"
UPDATED = "notifications/resources/updated"
PROGRESS = "notifications/progress"
LOG = "notifications/message"


def news(method: str, size: int = 10, **params: Any) -> Notification:
    return Notification(method, Raw(json.dumps(params).encode()) if params else None, size)


def drain(backlog: Backlog) -> list[Notification]:
    out = []
    while (item := backlog.pop()) is not None:
        out.append(item)
    return out


def test_notifications_leave_in_the_order_they_came() -> None:
    backlog = Backlog()
    items = [news(LOG, data=n) for n in range(5)]
    assert not backlog.push(items[:2])
    assert not backlog.push(items[2:])
    assert len(backlog) == 5
    assert drain(backlog) == items
    assert (len(backlog), backlog.bytes, backlog.pop()) == (0, 0, None)


def test_a_backlog_is_full_at_its_number_and_eased_at_half_of_it() -> None:
    backlog = Backlog(4)
    assert not backlog.push([news(LOG)] * 3)
    assert backlog.push([news(LOG)])
    backlog.pop()
    assert not backlog.full
    assert not backlog.eased
    backlog.pop()
    assert backlog.eased


def test_a_backlog_is_full_at_its_bytes_whatever_their_number() -> None:
    backlog = Backlog(100, most_bytes=1000)
    assert not backlog.push([news(LOG, 100)])
    assert backlog.push([news(LOG, 500)])
    assert not backlog.eased
    assert backlog.greatest_bytes == backlog.bytes == 1000


def test_a_backlog_that_dropped_for_its_bytes_says_so_though_a_gap_is_left() -> None:
    backlog = Backlog(100, most_bytes=1000)
    assert not backlog.push([news(LOG, 100)])
    assert backlog.push([news(LOG, 600)])
    assert (backlog.dropped, backlog.full) == (1, False)


def test_one_notification_above_every_bound_is_dropped_and_leaves_room() -> None:
    backlog = Backlog(100, most_bytes=1000)
    assert not backlog.push([news(LOG, 2000)])
    assert (backlog.dropped, len(backlog), backlog.bytes) == (1, 0, 0)


def test_beyond_the_bound_the_oldest_are_dropped_and_counted() -> None:
    backlog = Backlog(3)
    items = [news(LOG, data=n) for n in range(5)]
    assert backlog.push(items)
    assert (backlog.dropped, backlog.merged) == (2, 0)
    assert drain(backlog) == items[2:]


def test_with_drop_off_nothing_is_dropped_or_merged() -> None:
    backlog = Backlog(3, drop=False)
    items = [news(TOOLS)] * 9
    assert backlog.push(items)
    assert (backlog.dropped, backlog.merged) == (0, 0)
    assert drain(backlog) == items


def test_state_news_of_one_subject_keep_only_the_latest() -> None:
    backlog = Backlog(5)
    keep = [
        news(LOG),
        news(UPDATED, uri="b"),
        news(TOOLS),
        news(UPDATED, uri="a", n=2),
        news(PROGRESS, progressToken=1),
    ]
    backlog.push([news(TOOLS), news(UPDATED, uri="a", n=1), news(PROGRESS, progressToken=1), *keep])
    assert drain(backlog) == keep
    assert (backlog.merged, backlog.dropped) == (3, 0)


def test_nothing_is_merged_while_there_is_room() -> None:
    backlog = Backlog(5)
    assert backlog.push([news(TOOLS)] * 5)
    assert len(backlog) == 5


def test_tokens_of_different_types_are_different_subjects() -> None:
    backlog = Backlog(3)
    items = [news(PROGRESS, progressToken=token) for token in (1, "1", True)]
    backlog.push([*items, news(TOOLS), news(TOOLS)])
    assert (backlog.merged, backlog.dropped) == (1, 1)


@pytest.mark.parametrize(
    "item",
    [
        news(LOG, data=1),
        news(UPDATED),
        news(UPDATED, uri=None),
        news(PROGRESS, progressToken=[1]),
        Notification(UPDATED, Raw(b"{nonsense"), 10),
        Notification(UPDATED, Raw(b"[1]"), 10),
    ],
)
def test_news_without_a_subject_each_count_for_themselves(item: Notification) -> None:
    backlog = Backlog(2)
    backlog.push([item, item, item])
    assert (backlog.merged, backlog.dropped) == (0, 1)


def test_news_that_can_be_merged_later_is_merged_before_others_are_dropped() -> None:
    backlog = Backlog(8)
    logs = [news(LOG, data=n) for n in range(4)]
    backlog.push([*logs, *[news(TOOLS)] * 5])
    backlog.push([news(TOOLS)] * 4)
    assert (backlog.dropped, len(backlog)) == (0, 5)


def test_a_subject_that_left_the_backlog_is_forgotten() -> None:
    backlog = Backlog(2)
    backlog.push([news(TOOLS)] * 3)
    assert backlog.merged == 2
    assert backlog.pop() == news(TOOLS)
    backlog.push([news(LOG), news(LOG), news(TOOLS)])
    assert (backlog.merged, backlog.dropped) == (2, 1)
    assert drain(backlog) == [news(LOG), news(TOOLS)]


ITEMS = st.builds(
    lambda method, subject, size: news(method, size, uri=str(subject), progressToken=subject),
    st.sampled_from((TOOLS, UPDATED, PROGRESS, LOG)),
    st.integers(0, 2),
    st.integers(0, 400),
)
DEEDS = st.lists(st.lists(ITEMS, max_size=6) | st.integers(1, 4), max_size=20)


def subjects(items: Sequence[Notification]) -> list[tuple[str, bytes]]:
    """What the items report the state of; one entry for each item that reports a state."""
    return [
        (item.method, b"" if item.method == TOOLS or item.params is None else bytes(item.params))
        for item in items
        if item.method != LOG
    ]


@given(DEEDS, st.integers(1, 8), st.integers(400, 3000))
def test_bounds_and_order_hold_after_any_pushes_and_pops(
    deeds: list[list[Notification] | int], most: int, most_bytes: int
) -> None:
    backlog = Backlog(most, most_bytes)
    came: list[Notification] = []
    left: list[Notification] = []
    for deed in deeds:
        if isinstance(deed, int):
            left += [item for _ in range(deed) if (item := backlog.pop()) is not None]
        else:
            came += deed
            dropped = backlog.dropped
            backlog.push(deed)
            assert len(backlog) <= most
            assert backlog.bytes <= most_bytes
            waiting = list(backlog._waiting.values())
            assert backlog.dropped == dropped or len(set(subjects(waiting))) == len(subjects(waiting))
    left += drain(backlog)
    assert len(left) + backlog.dropped + backlog.merged == len(came)
    assert backlog.bytes == 0
    assert in_order(left, came)


@given(DEEDS, st.integers(1, 8))
def test_the_latest_state_of_each_subject_survives_merging(
    deeds: list[list[Notification] | int], most: int
) -> None:
    backlog = Backlog(most)
    came = [item for deed in deeds if isinstance(deed, list) for item in deed]
    backlog.push(came)
    if not backlog.dropped:
        left = drain(backlog)
        assert set(subjects(left)) == set(subjects(came))
        assert [item for item in left if item.method == LOG] == [item for item in came if item.method == LOG]


def in_order(some: list[Notification], everything: list[Notification]) -> bool:
    """Each of ``some`` is found in ``everything``, one after the other."""
    rest = iter(everything)
    return all(any(item is other for other in rest) for item in some)


def test_who_fills_a_backlog_with_a_reserve_is_told_before_anything_is_dropped() -> None:
    backlog = Backlog(most=8, reserve=0.25)
    assert not backlog.push([news("a")] * 5)
    assert backlog.push([news("a")])
    assert backlog.push([news("a"), news("a")])
    assert (len(backlog), backlog.dropped) == (8, 0)
    assert backlog.push([news("a")])
    assert (len(backlog), backlog.dropped) == (8, 1)
