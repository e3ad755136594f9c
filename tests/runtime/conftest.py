"""No test of the runtime may leave a thread or an actor behind."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import pykka
import pytest

from tests.runtime.probes import soon


@pytest.fixture(autouse=True)
def _nothing_is_left_behind() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    deadline = soon()
    left = [thread for thread in threading.enumerate() if thread not in before]
    for thread in left:
        thread.join(deadline.remaining())
    assert [thread for thread in left if thread.is_alive()] == []
    assert pykka.ActorRegistry.get_all() == []


@pytest.fixture
def hasty_switching() -> Iterator[None]:
    """Threads take turns every microsecond, so that races show."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)
