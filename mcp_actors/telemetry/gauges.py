"""What a server process uses right now."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ProcessGauges", "process_gauges"]


@dataclass(frozen=True, slots=True)
class ProcessGauges:
    """Resident memory in bytes, threads, and open file descriptors (None where the system does not tell)."""

    pid: int
    rss: int
    threads: int
    fds: int | None


def process_gauges(pid: int) -> ProcessGauges | None:
    """The gauges of a process; None when it is gone or belongs to somebody else."""
    import psutil  # at first use: most programs never ask

    try:
        process = psutil.Process(pid)
        with process.oneshot():
            if process.status() == psutil.STATUS_ZOMBIE:
                return None
            rss, threads = process.memory_info().rss, process.num_threads()
        try:
            fds = process.num_fds()
        except psutil.AccessDenied:
            fds = None
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return None
    return ProcessGauges(pid, rss, threads, fds)
