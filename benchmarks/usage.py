"""What this process uses: time on the processor, memory now and at its peak."""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Final, Self

_STATUS: Final = Path("/proc/self/status")
_CLEAR: Final = Path("/proc/self/clear_refs")
_RESET_PEAK: Final = "5"
MB: Final = 1_000_000


def cpu_seconds() -> float:
    """User and system time of all threads so far, children left out."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def rss_bytes() -> int:
    """Memory that is resident now."""
    if _STATUS.exists():
        return _status("VmRSS")
    # Imported late: where the system tells by itself, nobody needs to carry it.
    import psutil

    return int(psutil.Process().memory_info().rss)


def peak_bytes() -> int:
    """The greatest resident memory since the start, or since `forget_peak`."""
    if _STATUS.exists():
        # Not ru_maxrss: on Linux it begins with the peak of whoever started this process.
        return _status("VmHWM")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def forget_peak() -> bool:
    """Let the peak begin anew; False where that is not possible and an earlier peak may hide a later one."""
    try:
        _CLEAR.write_text(_RESET_PEAK)
    except OSError:
        return False
    return True


def _status(key: str) -> int:
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(key))
    return int(line.split()[1]) * 1024


class Meter:
    """Measures what happens inside ``with``: seconds, processor seconds, and how far memory rose at most."""

    def __init__(self) -> None:
        self.wall = 0.0
        self.cpu = 0.0
        self.growth = 0
        self.peak = 0

    def __enter__(self) -> Self:
        forget_peak()
        self._rss = rss_bytes()
        self._cpu = cpu_seconds()
        self._began = time.perf_counter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.wall = time.perf_counter() - self._began
        self.cpu = cpu_seconds() - self._cpu
        self.peak = peak_bytes()
        self.growth = max(0, self.peak - self._rss)
