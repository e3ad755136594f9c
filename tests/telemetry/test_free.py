"""Telemetry costs nothing while nobody listens."""

from __future__ import annotations

import sys
import threading
from types import FrameType

import pytest

from mcp_actors.telemetry.bus import Bus
from mcp_actors.telemetry.events import RequestStarted


def emitter(bus: Bus) -> None:
    if bus.active:
        bus.emit(RequestStarted("demo", "ping", 1, "c-1"))


def calls_made_by_the_emitter(bus: Bus) -> list[str]:
    made: list[str] = []

    def profile(frame: FrameType, event: str, arg: object) -> None:
        if event == "call":
            made.append(frame.f_code.co_name)
        elif event == "c_call":
            made.append(getattr(arg, "__name__", repr(arg)))

    sys.setprofile(profile)
    emitter(bus)
    sys.setprofile(None)
    return made


@pytest.mark.requirement("telemetry:free")
def test_an_inactive_bus_costs_one_attribute_read_and_no_call(bus: Bus) -> None:
    assert calls_made_by_the_emitter(bus) == ["emitter", "setprofile"]
    assert "active" in vars(bus)


@pytest.mark.requirement("telemetry:free")
def test_the_same_emitter_constructs_and_emits_once_somebody_listens(bus: Bus) -> None:
    detach = bus.attach(lambda _: None)
    made = calls_made_by_the_emitter(bus)
    assert bus.flush(5.0)
    detach()
    assert "emit" in made
    assert "__init__" in made
    assert calls_made_by_the_emitter(bus) == ["emitter", "setprofile"]


@pytest.mark.requirement("telemetry:free")
def test_an_unused_bus_has_no_thread() -> None:
    before = threading.active_count()
    Bus().emit(RequestStarted("demo", "ping", 1, "c-1"))
    assert threading.active_count() == before
