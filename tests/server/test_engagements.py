"""Engagements: a thread is engaged while it works, however deep, and whatever the work raises."""

from __future__ import annotations

import pytest

from mcp_actors.server.engagements import Engagements
from tests.client.waiting import BOUND, in_thread


def test_a_thread_is_engaged_while_it_works_and_no_other_is() -> None:
    engagements, seen = Engagements(), []

    def work() -> None:
        seen.append((engagements.here, in_thread(lambda: engagements.here).result(BOUND)))

    assert not engagements.here
    engagements.run(work)
    assert seen == [(True, False)]
    assert not engagements.here


def test_work_within_work_ends_no_engagement() -> None:
    engagements, seen = Engagements(), []

    def outer() -> None:
        engagements.run(lambda: None)
        seen.append(engagements.here)

    engagements.run(outer)
    assert seen == [True]


def test_work_that_fails_is_over() -> None:
    engagements = Engagements()

    def fail() -> None:
        raise SystemExit

    with pytest.raises(SystemExit):
        engagements.run(fail)
    assert not engagements.here
