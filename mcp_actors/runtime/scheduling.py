"""Scheduling: threads that are woken by messages do not push aside whoever woke them."""

from __future__ import annotations

import os

__all__ = ["wake_patiently"]


def wake_patiently() -> None:
    """Ask the kernel not to preempt a waker in favour of this thread. Linux only; elsewhere nothing happens.

    Whoever sends a message holds the GIL until it blocks. A receiver that preempts it finds the GIL taken and
    goes back to sleep: two switches for nothing at every hop. SCHED_BATCH is an ordinary thread without that
    privilege. It is inherited, so it is for threads that start neither threads nor processes.
    """
    try:
        if os.sched_getscheduler(0) == os.SCHED_OTHER:
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    except (AttributeError, OSError):
        # Not Linux, or a sandbox that forbids it: it is only a hint.
        return
