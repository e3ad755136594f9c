"""The catalogue: names, fields and correlation ids."""

from __future__ import annotations

import dataclasses
import os
import threading
import time

import pytest

from mcp_actors.telemetry import events as catalogue
from mcp_actors.telemetry.events import EVENTS, Event, RequestFailed, RequestStarted, new_correlation_id

SCHEMA = {
    "request.started": ("client", "method", "request_id", "correlation_id"),
    "request.stopped": ("client", "method", "request_id", "correlation_id", "duration"),
    "request.failed": ("client", "method", "request_id", "correlation_id", "duration", "error_type"),
    "connection.transition": ("client", "before", "after", "reason"),
    "notification.received": ("client", "method"),
    "notification.dropped": ("client", "dropped", "merged"),
    "protocol.violation": ("client", "kind", "detail", "frame_bytes"),
    "response.unknown": ("client", "request_id", "late"),
    "transport.io": ("client", "direction", "frames", "bytes"),
    "child.restarted": ("client", "child", "error"),
}


@pytest.mark.requirement("telemetry:events")
def test_the_schema_of_the_catalogue_is_stable() -> None:
    found = {
        kind.name: tuple(one.name for one in dataclasses.fields(kind) if one.name != "time")
        for kind in EVENTS
    }
    assert found == SCHEMA


@pytest.mark.requirement("telemetry:events")
def test_every_event_class_is_in_the_catalogue_with_a_docstring_and_its_own_name() -> None:
    abstract = {Event, catalogue.RequestEvent}
    defined = {
        one for one in vars(catalogue).values() if isinstance(one, type) and issubclass(one, Event)
    } - abstract
    assert defined == set(EVENTS)
    assert len({kind.name for kind in EVENTS}) == len(EVENTS)
    assert all(kind.__doc__ and not kind.__doc__.startswith(kind.__name__) for kind in EVENTS)


def test_an_event_is_frozen_and_slotted() -> None:
    event = RequestStarted("demo", "ping", 1, "c-1")
    with pytest.raises(dataclasses.FrozenInstanceError):
        event.method = "other"  # type: ignore[misc]
    assert not hasattr(event, "__dict__")


def test_an_event_carries_the_time_of_its_creation_and_prints_as_json() -> None:
    before = time.time()
    event = RequestFailed("demo", "tools/call", 17, "c-1", 0.5, "timeout")
    assert before <= event.time <= time.time()
    assert event.to_json() == {
        "event": "request.failed",
        "client": "demo",
        "time": event.time,
        "method": "tools/call",
        "request_id": 17,
        "correlation_id": "c-1",
        "duration": 0.5,
        "error_type": "timeout",
    }


@pytest.mark.requirement("telemetry:events")
def test_correlation_ids_of_many_threads_never_repeat() -> None:
    ids: list[str] = []

    def take() -> None:
        ids.extend([new_correlation_id() for _ in range(1000)])

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5.0)
    assert len(ids) == len(set(ids)) == 8000


@pytest.mark.requirement("telemetry:events")
def test_a_forked_child_has_its_own_correlation_prefix() -> None:
    parent_prefix = new_correlation_id().partition("-")[0]
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(writer, new_correlation_id().partition("-")[0].encode())
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as pipe:
        child_prefix = pipe.read().decode()
    os.waitpid(pid, 0)
    assert child_prefix
    assert child_prefix != parent_prefix
    assert new_correlation_id().partition("-")[0] == parent_prefix
