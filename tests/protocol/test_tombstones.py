"""Ids nobody waits for: remembered long enough, not too long, and not too many."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_actors.protocol.tombstones import Tombstones

pytestmark = pytest.mark.requirement("request:tombstones")


def test_a_buried_id_is_remembered() -> None:
    graves = Tombstones(75.0, 60.0)
    graves.bury(1)
    assert 1 in graves
    assert 2 not in graves
    assert len(graves) == 1


@pytest.mark.parametrize("id_", [True, 1.0, "1", None])
def test_an_id_of_another_type_is_another_id(id_: object) -> None:
    graves = Tombstones(75.0, 60.0)
    graves.bury(1)
    assert id_ not in graves


@given(st.floats(1, 500), st.floats(1, 100), st.floats(0, 1))
def test_an_id_lives_at_least_its_time_and_at_most_two_sweeps_more(
    ttl: float, sweep: float, when: float
) -> None:
    graves = Tombstones(ttl, sweep)
    graves.bury(1)
    # Buried this long before the first sweep.
    age = sweep * when
    sweeps = 0
    while 1 in graves and sweeps < 1000:
        graves.sweep()
        sweeps += 1
    lived = age + (sweeps - 1) * sweep
    assert ttl * 0.999999 <= lived <= ttl + 2 * sweep
    assert sweeps == math.ceil(ttl / sweep) + 1


def test_burying_again_starts_the_time_again() -> None:
    graves = Tombstones(60.0, 60.0)
    graves.bury(1)
    graves.sweep()
    graves.bury(1)
    graves.sweep()
    assert 1 in graves
    graves.sweep()
    assert 1 not in graves


@pytest.mark.requirement("request:no-leak")
def test_beyond_the_limit_the_oldest_go_first() -> None:
    graves = Tombstones(75.0, 60.0, limit=3)
    for id_ in range(1, 6):
        graves.bury(id_)
    assert [id_ for id_ in range(1, 6) if id_ in graves] == [3, 4, 5]
