"""Facts about the machine and the versions: without them a number says nothing."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

import psutil

from benchmarks.contestants.roster import ROSTER
from benchmarks.harness import ROOT
from benchmarks.placement import can_pin

Facts: TypeAlias = dict[str, object]


def facts(contestants: Iterable[str]) -> Facts:
    """Everything that may explain a difference between two runs."""
    return {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "load": [round(value, 2) for value in os.getloadavg()],
        "memory_gb": round(psutil.virtual_memory().total / 1e9, 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "gil": getattr(sys, "_is_gil_enabled", lambda: True)(),
        "can_pin": can_pin(),
        "commit": _commit(),
        "versions": {name: ROSTER[name].version for name in contestants},
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _commit() -> str:
    """The commit, with a mark if the files differ from it; empty outside of a repository."""
    try:
        command = ["git", "--no-optional-locks", "-C", str(ROOT), "describe", "--always", "--dirty"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
