"""Crew: the threads of one wire. Each runs an exchange or a stream, for as long as that takes."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Final, TypeAlias

from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.lock import Lock

Job: TypeAlias = Callable[[], None]

_IDLE_SECONDS: Final = 10.0

logger: Final = logging.getLogger("mcp_actors.transports")


class Crew:
    """At most ``most`` daemon threads, started on demand, gone when idle for long. Any thread may use it.

    A caller who leaves something to the crew may be interrupted between any two steps. So there is no
    condition here, which would stay locked, or lose somebody's wake-up: a lock, and a bell for each job.
    """

    def __init__(self, name: str, most: int) -> None:
        self._name = name
        self._most = most
        self._lock = Lock()
        self._bells: SimpleQueue[None] = SimpleQueue()
        self._jobs: deque[Job] = deque()
        self._threads: set[threading.Thread] = set()
        self._idle = 0
        self._started = 0
        self._closed = False

    def run(self, job: Job) -> bool:
        """Have a job run at once; False if everybody is busy, no thread can be had, or it is too late."""
        with self._lock:
            # Whoever is idle takes one job; those that wait are spoken for.
            if self._closed or (self._idle <= len(self._jobs) and not self._hire()):
                return False
            # The bell comes first: who is woken in vain waits on.
            self._bells.put(None)
            self._jobs.append(job)
            return True

    def close(self, deadline: Deadline) -> bool:
        """Take no more jobs and wait for those that run; True if nobody is left."""
        with self._lock:
            self._closed = True
            self._jobs.clear()
            for _ in self._threads:
                self._bells.put(None)
            others = self._threads - {threading.current_thread()}
        for thread in others:
            if thread.ident is not None:
                thread.join(deadline.remaining())
        return not any(thread.is_alive() for thread in others)

    def _hire(self) -> bool:
        if len(self._threads) >= self._most:
            return False
        self._started += 1
        name = f"{self._name}-{self._started}"
        thread = threading.Thread(target=self._work, name=name, daemon=True)
        # Before it runs, since an interrupt may strike as soon as it does.
        self._threads.add(thread)
        try:
            thread.start()
        except RuntimeError:
            self._threads.discard(thread)
            logger.warning("%s could not be started", name, exc_info=True)
            return False
        return True

    def _work(self) -> None:
        while (job := self._next()) is not None:
            try:
                job()
            except BaseException:  # SystemExit, too, ends a job and not the thread that others count on
                logger.exception("%s: an exchange failed", self._name)

    def _next(self) -> Job | None:
        with self._lock:
            self._idle += 1
        while True:
            rung = self._rung()
            with self._lock:
                if rung and not self._jobs and not self._closed:
                    continue
                self._idle -= 1
                if self._jobs:
                    return self._jobs.popleft()
                self._threads.discard(threading.current_thread())
                return None

    def _rung(self) -> bool:
        """Wait for a bell; False if there was none for long."""
        try:
            self._bells.get(timeout=_IDLE_SECONDS)
        except Empty:
            return False
        return True
