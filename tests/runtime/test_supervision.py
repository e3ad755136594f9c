"""Supervision as arithmetic."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_actors.runtime.supervision import (
    Intensity,
    Plan,
    Strategy,
    one_for_all,
    one_for_one,
    rest_for_one,
)

NAMES = ("a", "b", "c", "d")
families = st.lists(st.text(min_size=1), min_size=1, max_size=8, unique=True)


@pytest.mark.requirement("runtime:supervisor:rest-for-one")
def test_rest_for_one_replaces_the_failed_child_and_those_after_it() -> None:
    assert rest_for_one(NAMES, "b") == Plan(stop=("d", "c"), start=("b", "c", "d"))


def test_one_for_one_replaces_the_failed_child_alone() -> None:
    assert one_for_one(NAMES, "b") == Plan(stop=(), start=("b",))


def test_one_for_all_replaces_everybody() -> None:
    assert one_for_all(NAMES, "b") == Plan(stop=("d", "c", "a"), start=NAMES)


@pytest.mark.parametrize("strategy", [one_for_one, rest_for_one, one_for_all])
@given(data=st.data(), names=families)
def test_every_plan_keeps_the_laws(strategy: Strategy, data: st.DataObject, names: list[str]) -> None:
    failed = data.draw(st.sampled_from(names))
    plan = strategy(names, failed)
    assert list(plan.start) == [name for name in names if name in plan.start], "starts are in order"
    assert list(plan.stop) == [name for name in reversed(names) if name in plan.stop], "stops are in reverse"
    assert {*plan.stop, failed} == set(plan.start), "what was stopped or failed is started, and nothing else"
    assert failed not in plan.stop, "the dead need no stop"


@pytest.mark.requirement("runtime:supervisor:intensity")
def test_the_fourth_restart_within_the_period_is_one_too_many() -> None:
    intensity = Intensity(limit=3, period=5.0)
    assert intensity.allows(10.0, [])
    assert intensity.allows(10.0, [6.0, 7.0])
    assert not intensity.allows(10.0, [6.0, 7.0, 8.0])
    assert not intensity.allows(10.0, [5.0, 7.0, 8.0])
    assert intensity.allows(10.0, [4.9, 7.0, 8.0])


def test_a_limit_of_nothing_allows_no_restart() -> None:
    assert not Intensity(limit=0).allows(1.0, [])


@pytest.mark.requirement("runtime:supervisor:intensity")
@given(
    st.integers(0, 4),
    st.integers(1, 6),
    st.lists(st.integers(0, 3), max_size=30),
)
def test_the_allowed_restarts_never_exceed_the_limit_in_any_window(
    limit: int, period: int, gaps: list[int]
) -> None:
    intensity = Intensity(limit, float(period))
    now = 0
    allowed: list[int] = []
    last: list[int] = []
    for gap in gaps:
        now += gap
        crowded = sum(1 for moment in allowed if moment >= now - period) >= limit
        # A supervisor keeps only the last `limit` moments: they must be enough.
        assert intensity.allows(now, last) == intensity.allows(now, allowed) == (not crowded)
        if not crowded:
            allowed.append(now)
            last = allowed[-limit:] if limit else []
    for start in range(now + 1):
        assert sum(1 for moment in allowed if start <= moment <= start + period) <= limit
