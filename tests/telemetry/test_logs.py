"""Events as log records, and the names of loggers."""

from __future__ import annotations

import logging

import pytest

from mcp_actors.telemetry.bus import Bus
from mcp_actors.telemetry.events import (
    EVENTS,
    ChildRestarted,
    ConnectionTransition,
    Event,
    NotificationReceived,
    NotificationsDropped,
    ProtocolViolation,
    RequestFailed,
    RequestStarted,
    RequestStopped,
    TransportIo,
    UnknownResponse,
)
from mcp_actors.telemetry.logs import LINES, log_events, logger_for, stderr_logger

LINE_OF: list[tuple[Event, str, int]] = [
    (RequestStarted("demo", "ping", 1, "c-1"), "> ping id=1 [c-1]", logging.DEBUG),
    (RequestStopped("demo", "ping", "x", "c-1", 0.25), "< ping id=x in 0.250 s [c-1]", logging.DEBUG),
    (
        RequestFailed("demo", "ping", 1, "c-1", 3, "transport"),
        "! ping id=1: transport after 3.000 s [c-1]",
        logging.INFO,
    ),
    (
        RequestFailed("demo", "ping", 1, "c-1", 30, "timeout"),
        "% ping id=1: timeout after 30.000 s [c-1]",
        logging.INFO,
    ),
    (
        ConnectionTransition("demo", "ready", "backoff", "exit code 3"),
        "= ready -> backoff: exit code 3",
        logging.INFO,
    ),
    (ConnectionTransition("demo", "initializing", "ready"), "= initializing -> ready", logging.INFO),
    (NotificationReceived("demo", "notifications/progress"), "< notifications/progress", logging.DEBUG),
    (
        NotificationsDropped("demo", 5, 2),
        "! 5 notifications dropped, 2 merged: the handlers are too slow",
        logging.WARNING,
    ),
    (
        ProtocolViolation("demo", "bad-json", "near {", 12),
        "! protocol violation bad-json in a frame of 12 bytes: near {",
        logging.WARNING,
    ),
    (
        ProtocolViolation("demo", "bad-id"),
        "! protocol violation bad-id",
        logging.WARNING,
    ),
    (UnknownResponse("demo", 7), "< answer to an unknown request dropped, id=7", logging.DEBUG),
    (UnknownResponse("demo", 7, True), "< late answer dropped, id=7", logging.DEBUG),
    (TransportIo("demo", "in", 2, 300), "< 2 frames, 300 bytes", logging.DEBUG),
    (TransportIo("demo", "out", 1, 30), "> 1 frames, 30 bytes", logging.DEBUG),
    (
        ChildRestarted("demo", "transport", "KeyError: 1"),
        "! transport restarted after a bug: KeyError: 1",
        logging.ERROR,
    ),
]


def logged(bus: Bus, caplog: pytest.LogCaptureFixture, *events: Event) -> list[logging.LogRecord]:
    for event in events:
        bus.emit(event)
    assert bus.flush(5.0)
    return caplog.records


@pytest.mark.requirement("telemetry:logs")
@pytest.mark.parametrize(("event", "line", "level"), LINE_OF)
def test_each_event_has_its_line_its_level_and_its_logger(
    bus: Bus, caplog: pytest.LogCaptureFixture, event: Event, line: str, level: int
) -> None:
    detach = log_events("debug", source=bus)
    with caplog.at_level(logging.DEBUG, "mcp_actors"):
        (record,) = logged(bus, caplog, event)
    detach()
    assert (record.getMessage(), record.levelno, record.name) == (line, level, "mcp_actors.client.demo")
    assert record.__dict__["mcp"] == event.to_json()


@pytest.mark.requirement("telemetry:logs")
def test_every_event_of_the_catalogue_has_a_line() -> None:
    assert set(LINES) == set(EVENTS) == {type(event) for event, _, _ in LINE_OF}


def test_the_level_is_a_threshold(bus: Bus, caplog: pytest.LogCaptureFixture) -> None:
    detach = log_events(logging.WARNING, source=bus)
    with caplog.at_level(logging.DEBUG, "mcp_actors"):
        records = logged(bus, caplog, *(event for event, _, _ in LINE_OF))
    detach()
    assert {record.levelno for record in records} == {logging.WARNING, logging.ERROR}


def test_a_logger_that_is_off_gets_no_record(bus: Bus, caplog: pytest.LogCaptureFixture) -> None:
    detach = log_events(source=bus)
    with caplog.at_level(logging.CRITICAL, "mcp_actors"):
        assert logged(bus, caplog, ChildRestarted("demo", "transport", "KeyError")) == []
    detach()


def test_a_level_above_all_events_attaches_nothing(bus: Bus) -> None:
    detach = log_events(logging.CRITICAL, source=bus)
    assert not bus.active
    detach()


def test_an_unknown_level_is_refused(bus: Bus) -> None:
    with pytest.raises(ValueError, match="not a logging level"):
        log_events("loud", source=bus)


@pytest.mark.requirement("telemetry:logs")
def test_text_of_the_peer_can_neither_forge_a_line_nor_leak_a_secret(
    bus: Bus, caplog: pytest.LogCaptureFixture
) -> None:
    detach = log_events(source=bus)
    with caplog.at_level(logging.INFO, "mcp_actors"):
        (record,) = logged(
            bus, caplog, ProtocolViolation("demo", "x", '\x1b[2J{"token": "abc"}\n= ready %s', 9)
        )
    detach()
    assert record.getMessage().endswith(r': {"token": "***"}\n= ready %s')
    assert "abc" not in str(record.__dict__["mcp"])


@pytest.mark.requirement("telemetry:logs")
@pytest.mark.parametrize(
    ("name", "fit"),
    [
        ("time", "time"),
        ("my.server v2\n", "my_server_v2_"),
        ("@scope/pkg", "_scope_pkg"),
        ("", "unnamed"),
        ("x" * 500, "x" * 64),
        ("größe-1", "größe-1"),
    ],
)
def test_a_name_is_one_level_of_the_logger_tree(name: str, fit: str) -> None:
    assert logger_for(name).name == f"mcp_actors.client.{fit}"
    assert stderr_logger(name).name == f"mcp_actors.stderr.{fit}"
