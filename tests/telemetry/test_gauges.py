"""Gauges of a process."""

from __future__ import annotations

import os
import subprocess
import sys

import psutil
import pytest

from mcp_actors.telemetry.gauges import process_gauges


def test_a_living_process_has_gauges() -> None:
    gauges = process_gauges(os.getpid())
    assert gauges is not None
    assert gauges.pid == os.getpid()
    assert gauges.rss > 1 << 20
    assert gauges.threads >= 1
    assert gauges.fds is None or gauges.fds >= 1


def test_a_process_that_is_gone_or_a_zombie_has_none() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert process_gauges(child.pid) is None
    child.wait(5.0)
    assert process_gauges(child.pid) is None


def test_descriptors_that_may_not_be_counted_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: psutil.Process) -> int:
        raise psutil.AccessDenied

    monkeypatch.setattr(psutil.Process, "num_fds", refuse)
    gauges = process_gauges(os.getpid())
    assert gauges is not None
    assert gauges.fds is None
