"""Which share of the events a handler gets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_actors.telemetry.bus import Bus
from mcp_actors.telemetry.events import Event, NotificationReceived, RequestFailed, RequestStarted

WAIT = 5.0


def note(number: int) -> NotificationReceived:
    return NotificationReceived("demo", f"n/{number}")


@pytest.mark.parametrize("sample", [-0.1, 1.1, float("nan")])
def test_a_sample_outside_0_to_1_is_refused(bus: Bus, sample: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        bus.attach(print, sample=sample)


@pytest.mark.requirement("telemetry:free")
@given(sample=st.floats(0.0, 1.0), ids=st.lists(st.text(), max_size=20, unique=True))
def test_a_request_is_sampled_whole_or_not_at_all(sample: float, ids: list[str]) -> None:
    bus = Bus()
    seen: dict[str, list[type]] = {}
    detach = bus.attach(
        lambda event: seen.setdefault(event.correlation_id, []).append(type(event)), sample=sample
    )
    for correlation_id in ids:
        bus.emit(RequestStarted("demo", "ping", 1, correlation_id))
    for correlation_id in reversed(ids):
        bus.emit(RequestFailed("demo", "ping", 1, correlation_id, 0.1, "timeout"))
    assert bus.flush(WAIT)
    detach()
    assert all(kinds == [RequestStarted, RequestFailed] for kinds in seen.values())
    if sample in (0.0, 1.0):
        assert len(seen) == len(ids) * sample


def test_the_share_of_sampled_requests_is_what_was_asked_for(bus: Bus) -> None:
    seen: list[Event] = []
    detach = bus.attach(seen.append, sample=0.25)
    for number in range(8000):
        bus.emit(RequestStarted("demo", "ping", number, f"0123456789ab-{number:x}"))
    assert bus.flush(WAIT)
    detach()
    assert 1800 < len(seen) < 2200


def test_other_events_are_sampled_one_by_one() -> None:
    draws = iter([0.1, 0.9, 0.49, 0.5])
    bus = Bus(chance=lambda: next(draws))
    seen: list[str] = []
    detach = bus.attach(lambda event: seen.append(event.method), sample=0.5)
    for number in range(4):
        bus.emit(note(number))
    assert bus.flush(WAIT)
    detach()
    assert seen == ["n/0", "n/2"]
