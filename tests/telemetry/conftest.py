"""A bus for each test, checked for leaks."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from mcp_actors.telemetry.bus import Bus


@pytest.fixture
def bus() -> Iterator[Bus]:
    one = Bus()
    yield one
    assert not one.active, "a test left a handler attached"


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    left = [thread for thread in threading.enumerate() if thread not in before]
    for thread in left:
        thread.join(5.0)
    assert not [thread.name for thread in left if thread.is_alive()]
