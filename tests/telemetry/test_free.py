"""Telemetry costs nothing while nobody listens."""

from __future__ import annotations

import ast
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest

import mcp_actors.telemetry
from mcp_actors.telemetry.bus import Bus
from mcp_actors.telemetry.events import RequestStarted

PACKAGE = Path(mcp_actors.telemetry.__file__).parents[1]


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


def unguarded_emits(source: str) -> Iterator[int]:
    """Lines with ``….bus.emit(…)`` or ``bus.emit(…)`` outside an ``if … .active``."""
    guarded: set[ast.AST] = set()
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ".active" in ast.unparse(node.test):
            guarded.update(inner for statement in node.body for inner in ast.walk(statement))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("bus.emit") and node not in guarded:
            yield node.lineno


@pytest.mark.requirement("telemetry:free")
def test_every_emitter_of_the_library_asks_first_whether_anybody_listens() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}:{line}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for line in unguarded_emits(path.read_text("utf-8"))
    ]
    assert found == []


def test_the_search_for_unguarded_emitters_finds_one() -> None:
    assert list(unguarded_emits("if bus.active:\n    bus.emit(1)\nself._bus.emit(2)\n")) == [3]
