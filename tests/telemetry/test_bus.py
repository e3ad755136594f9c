"""Delivery, overflow, failing handlers and detaching."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable

import pytest

from mcp_actors.telemetry.bus import Bus
from mcp_actors.telemetry.events import (
    Event,
    NotificationReceived,
    RequestEvent,
    RequestStarted,
    RequestStopped,
    new_correlation_id,
)

WAIT = 5.0


def note(number: int) -> NotificationReceived:
    return NotificationReceived("demo", f"n/{number}")


def dispatchers() -> int:
    return [thread.name for thread in threading.enumerate()].count("mcp-telemetry")


def test_events_reach_the_handler_in_order_and_off_the_emitting_thread(bus: Bus) -> None:
    seen: list[tuple[str, bool]] = []
    caller = threading.current_thread()
    detach = bus.attach(lambda event: seen.append((event.method, threading.current_thread() is caller)))
    for number in range(100):
        bus.emit(note(number))
    assert bus.flush(WAIT)
    detach()
    assert seen == [(f"n/{number}", False) for number in range(100)]


def test_a_handler_gets_only_the_classes_it_asked_for(bus: Bus) -> None:
    stops: list[Event] = []
    requests: list[Event] = []
    detach_stops = bus.attach(stops.append, RequestStopped)
    detach_requests = bus.attach(requests.append, RequestEvent)
    started = RequestStarted("demo", "ping", 1, "c-1")
    stopped = RequestStopped("demo", "ping", 1, "c-1", 0.1)
    for event in (started, note(1), stopped):
        bus.emit(event)
    assert bus.flush(WAIT)
    detach_stops()
    detach_requests()
    assert (stops, requests) == ([stopped], [started, stopped])


def test_a_full_queue_drops_the_oldest_and_counts_while_emit_goes_on() -> None:
    bus = Bus(capacity=3)
    entered, release = threading.Event(), threading.Event()
    seen: list[str] = []

    def handler(event: NotificationReceived) -> None:
        seen.append(event.method)
        entered.set()
        release.wait(WAIT)

    detach = bus.attach(handler)
    bus.emit(note(0))
    assert entered.wait(WAIT)
    for number in range(1, 11):
        bus.emit(note(number))
    assert bus.dropped == 7
    release.set()
    assert bus.flush(WAIT)
    detach()
    assert seen == ["n/0", "n/8", "n/9", "n/10"]


def test_flush_does_not_take_dropped_events_for_the_one_still_in_hand() -> None:
    bus = Bus(capacity=1)
    entered, release = threading.Event(), threading.Event()

    def handler(_: Event) -> None:
        entered.set()
        release.wait(WAIT)

    detach = bus.attach(handler)
    bus.emit(note(0))
    assert entered.wait(WAIT)
    assert not bus.flush(0.0)
    for number in range(1, 5):
        bus.emit(note(number))
    assert not bus.flush(0.0)
    release.set()
    assert bus.flush(WAIT)
    detach()


def test_flush_from_a_handler_returns_false_at_once(bus: Bus) -> None:
    answers: list[bool] = []
    detach = bus.attach(lambda _: answers.append(bus.flush(WAIT)))
    bus.emit(note(1))
    assert bus.flush(WAIT)
    detach()
    assert answers == [False]


def test_flush_of_an_idle_bus_is_immediate(bus: Bus) -> None:
    assert bus.flush(0.0)


def test_a_raising_handler_is_logged_once_counted_and_harms_nobody(
    bus: Bus, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[Event] = []

    def broken(event: Event) -> None:
        raise SystemExit("handler bug") if event == events[1] else ValueError("handler bug")

    events = [note(1), note(2), note(3)]
    detach_broken = bus.attach(broken)
    detach = bus.attach(seen.append)
    with caplog.at_level(logging.WARNING, "mcp_actors.telemetry"):
        for event in events:
            bus.emit(event)
        assert bus.flush(WAIT)
    detach_broken()
    detach()
    assert seen == events
    assert bus.failures == 3
    (record,) = caplog.records
    assert record.exc_info is not None
    assert "notification.received" in record.getMessage()


def test_a_logging_filter_that_raises_costs_one_event_and_the_next_emit_recovers(bus: Bus) -> None:
    seen: list[str] = []
    refuse = _RaisingFilter()
    logger = logging.getLogger("mcp_actors.telemetry")
    hooked: list[object] = []
    original, threading.excepthook = threading.excepthook, lambda args: hooked.append(args.exc_type)

    def handler(event: NotificationReceived) -> None:
        seen.append(event.method)
        if event.method == "n/1":
            raise ValueError("handler bug")

    logger.addFilter(refuse)
    detach = bus.attach(handler)
    try:
        bus.emit(note(1))
        assert bus.flush(WAIT)
        bus.emit(note(2))
        assert bus.flush(WAIT)
    finally:
        detach()
        logger.removeFilter(refuse)
        threading.excepthook = original
    assert seen == ["n/1", "n/2"]
    assert hooked == [RuntimeError]


class _RaisingFilter(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        raise RuntimeError(record.name)


def test_detaching_is_idempotent_and_ends_the_thread(bus: Bus) -> None:
    assert dispatchers() == 0
    first, second = bus.attach(print), bus.attach(print)
    assert dispatchers() == 1
    first()
    first()
    assert bus.active
    second()
    assert dispatchers() == 0


def test_a_handler_may_detach_itself_and_is_not_called_again(bus: Bus) -> None:
    seen: list[Event] = []
    detached = threading.Event()

    def once(event: Event) -> None:
        seen.append(event)
        detach()
        detached.set()

    detach = bus.attach(once)
    bus.emit(note(1))
    assert detached.wait(WAIT)
    bus.emit(note(2))
    assert bus.flush(WAIT)
    assert len(seen) == 1
    assert not bus.active


def test_a_handler_detached_by_an_earlier_one_misses_the_same_event(bus: Bus) -> None:
    seen: list[Event] = []
    detach_later: list[Callable[[], None]] = []
    detach = bus.attach(lambda _: detach_later[0]())
    detach_later.append(bus.attach(seen.append))
    bus.emit(note(1))
    assert bus.flush(WAIT)
    detach()
    assert seen == []


def test_detaching_does_not_wait_for_ever_for_a_stuck_handler(
    bus: Bus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_actors.telemetry.bus.JOIN_TIMEOUT", 0.01)
    entered, release = threading.Event(), threading.Event()
    seen: list[Event] = []

    def stuck(_: Event) -> None:
        entered.set()
        release.wait(WAIT)

    detach = bus.attach(stuck)
    bus.emit(note(1))
    assert entered.wait(WAIT)
    detach()
    detach_next = bus.attach(seen.append)
    bus.emit(note(2))
    assert bus.flush(WAIT)
    release.set()
    bus.emit(note(3))
    assert bus.flush(WAIT)
    detach_next()
    assert [event for event in seen if isinstance(event, NotificationReceived)] == seen
    assert len(seen) == 2


def test_emitting_without_a_listener_keeps_nothing(bus: Bus) -> None:
    bus.emit(note(1))
    seen: list[Event] = []
    detach = bus.attach(seen.append)
    assert bus.flush(WAIT)
    detach()
    assert seen == []


def test_emit_survives_a_system_without_threads_and_delivers_later(
    bus: Bus, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    seen: list[Event] = []
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        detach = bus.attach(seen.append)
        bus.emit(note(1))
        assert not bus.flush(0.0)
    assert bus.flush(WAIT)
    detach()
    assert len(seen) == 1


def test_something_else_than_an_event_class_is_refused(bus: Bus) -> None:
    with pytest.raises(TypeError, match="not an event class"):
        bus.attach(print, int)  # type: ignore[arg-type]


def test_a_capacity_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Bus(capacity=0)


@pytest.mark.stress
def test_no_event_is_lost_or_repeated_when_many_threads_emit() -> None:
    bus = Bus(capacity=100_000)
    seen: list[str] = []
    detach = bus.attach(lambda event: seen.append(event.correlation_id))
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def emit_many() -> None:
        for _ in range(300):
            bus.emit(RequestStarted("demo", "ping", 1, new_correlation_id()))

    threads = [threading.Thread(target=emit_many) for _ in range(8)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT)
    finally:
        sys.setswitchinterval(interval)
    assert bus.flush(WAIT)
    detach()
    assert len(seen) == len(set(seen)) == 2400
