"""Reconnecting: never sooner than the server wants, never a storm, and not for ever."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_actors.protocol.http.event_stream import ServerEvent
from mcp_actors.protocol.http.reconnection import Pace, Reconnection

pytestmark = pytest.mark.requirement("transport:http")

PRIMING = ServerEvent(id="1", retry=500)
FRACTIONS = st.floats(0, 1, exclude_max=True)
#: What one connection brings, and how long it lasts.
CONNECTIONS = st.tuples(
    st.lists(st.builds(ServerEvent, data=st.sampled_from([b"", b"{}"]), id=st.sampled_from([None, "", "a"]))),
    st.none() | st.floats(0, 100),
)


def never() -> float:
    return 0.0


def nearly_always() -> float:
    return 0.999


def delays(story: Reconnection, count: int, lasted: float | None = None) -> list[float | None]:
    return [story.delay(lasted, never) for _ in range(count)]


def test_the_server_s_time_is_waited_for() -> None:
    story = Reconnection(Pace())
    story.heard(PRIMING)
    assert story.delay(0.05, never) == 0.5


def test_chance_only_adds_to_it() -> None:
    story = Reconnection(Pace())
    story.heard(PRIMING)
    assert story.delay(0.05, nearly_always) == pytest.approx(0.6, abs=0.001)


def test_without_a_word_of_the_server_it_is_a_second() -> None:
    story = Reconnection(Pace())
    story.heard(ServerEvent(data=b"{}"))
    assert story.delay(10, never) == 1.0


def test_failed_connections_double_the_delay_until_there_are_no_more() -> None:
    story = Reconnection(Pace())
    story.heard(PRIMING)
    assert delays(story, 6) == [0.5, 1.0, 2.0, 4.0, 8.0, None]


def test_without_a_number_of_attempts_the_delay_grows_up_to_the_cap() -> None:
    story = Reconnection(Pace(attempts=None))
    assert delays(story, 8) == [2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0, 30.0]
    assert delays(story, 2000)[-1] == 30.0


def test_more_than_the_cap_is_waited_only_if_the_server_says_so() -> None:
    story = Reconnection(Pace())
    story.heard(ServerEvent(retry=60_000))
    assert story.delay(0, nearly_always) == 60.0
    assert story.delay(None, nearly_always) == 60.0


def test_zero_becomes_the_floor_and_grows_while_no_message_comes() -> None:
    story = Reconnection(Pace())
    waited = []
    for number in range(6):
        story.heard(ServerEvent(id=str(number), retry=0))
        waited.append(story.delay(0, never))
    assert waited == [0.1, 0.2, 0.4, 0.8, 1.0, 1.0]


def test_a_message_takes_the_delay_back_to_the_floor() -> None:
    story = Reconnection(Pace())
    story.heard(ServerEvent(retry=0))
    assert delays(story, 4, lasted=0) == [0.1, 0.4, 0.8, 1.6]
    story.heard(ServerEvent(data=b"{}"))
    assert story.delay(0, never) == 0.1


def test_an_idle_stream_that_lasted_has_not_failed() -> None:
    story = Reconnection(Pace(attempts=1))
    assert delays(story, 100, lasted=60) == [1.0] * 100
    assert story.delay(0, never) is None


def test_the_last_id_stays_over_connections_that_bring_none() -> None:
    story = Reconnection(Pace())
    assert not story.resumable
    story.heard(PRIMING)
    story.delay(0, never)
    story.heard(ServerEvent(data=b"{}"))
    assert (story.resumable, story.last_event_id) == (True, "1")
    story.heard(ServerEvent(id=""))
    assert not story.resumable


@given(st.lists(CONNECTIONS), st.none() | st.integers(0, 10**15), FRACTIONS)
def test_no_delay_is_below_what_the_server_or_the_floor_demands_or_above_the_cap(
    connections: list[tuple[list[ServerEvent], float | None]], retry: int | None, fraction: float
) -> None:
    pace = Pace(attempts=None)
    story = Reconnection(pace)
    story.heard(ServerEvent(retry=retry))
    for events, lasted in connections:
        for event in events:
            story.heard(event)
        delay = story.delay(lasted, lambda: fraction)
        assert delay is not None
        wanted = max(pace.usual if retry is None else retry / 1000, pace.floor)
        assert wanted <= delay <= max(pace.cap, wanted)


@given(st.lists(CONNECTIONS))
def test_it_gives_up_after_as_many_failures_in_a_row_as_it_may(
    connections: list[tuple[list[ServerEvent], float | None]],
) -> None:
    story = Reconnection(Pace(attempts=2))
    failures = 0
    for events, lasted in connections:
        for event in events:
            story.heard(event)
        failures = 0 if events or (lasted or 0) >= 5 else failures + 1
        assert (story.delay(lasted, never) is None) == (failures >= 2)
