"""Delays: exponential, spread, and never above the cap."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_actors.protocol.backoff import Backoff, spread

pytestmark = pytest.mark.requirement("connection:backoff")
FRACTIONS = st.floats(0, 1, exclude_max=True)


def middle() -> float:
    return 0.5


def test_delays_double_from_the_base_until_the_cap() -> None:
    delays = [Backoff().delay(attempt, middle) for attempt in range(7)]
    assert delays == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]


def test_jitter_moves_a_delay_to_both_sides() -> None:
    backoff = Backoff(base=10.0, cap=100.0, jitter=0.2)
    assert backoff.delay(0, lambda: 0.0) == pytest.approx(8.0)
    assert backoff.delay(0, lambda: 0.999999) == pytest.approx(12.0, abs=0.001)


@given(st.integers(0, 10**6), FRACTIONS, st.floats(0.001, 100), st.floats(0.001, 1000), st.floats(0, 1))
def test_no_delay_is_above_the_cap_or_below_its_spread(
    attempt: int, fraction: float, base: float, cap: float, jitter: float
) -> None:
    delay = Backoff(base=base, cap=cap, jitter=jitter).delay(attempt, lambda: fraction)
    assert min(base, cap) * (1 - jitter) * 0.999999 <= delay <= cap


@given(st.floats(0, 1000), st.floats(0, 1), FRACTIONS)
def test_a_spread_stays_within_its_fraction(seconds: float, jitter: float, fraction: float) -> None:
    moved = spread(seconds, jitter, lambda: fraction)
    assert seconds * (1 - jitter) <= moved * 1.000001
    assert moved <= seconds * (1 + jitter) * 1.000001
