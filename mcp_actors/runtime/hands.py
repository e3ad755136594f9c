"""Hands: worker threads that share one queue of jobs; one thread hop for each job, and no stampede."""

from __future__ import annotations

import contextlib
import functools
import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from threading import TIMEOUT_MAX
from typing import Any, TypeAlias

from msgspec import Struct

from mcp_actors.runtime.actor import Actor
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.lock import Lock
from mcp_actors.runtime.ref import Reason, waits_for_an_end

__all__ = ["Hands", "HandsKeeper", "HandsStats", "Job"]

Job: TypeAlias = Callable[[], object]

logger = logging.getLogger("mcp_actors.runtime")

# How often whoever closes looks whether a worker has begun to wait for the very end it is delaying.
_LOOK_AGAIN = 0.02


class HandsStats(Struct, frozen=True):
    """The numbers of one moment; `refused` and `abandoned` count from the beginning."""

    workers: int
    idle: int
    queued: int
    running: int
    refused: int
    abandoned: int


class _Worker:
    """One thread, and the bell that wakes it: a lock that is held while there is nothing to hear."""

    __slots__ = ("abandoned", "bell", "idle", "job", "thread")

    def __init__(self, name: str, live: Callable[[_Worker], None]) -> None:
        self.thread = threading.Thread(target=live, args=(self,), name=name, daemon=True)
        self.bell = threading.Lock()
        self.bell.acquire()
        self.job: Job | None = None
        self.idle = False
        self.abandoned = False

    def ring(self) -> None:
        # It may be ringing already: an interrupt can come before that is noted.
        with contextlib.suppress(RuntimeError):
            self.bell.release()

    @property
    def is_worth_waiting_for(self) -> bool:
        """Whether the thread has yet to end, and neither is this one nor waits for an actor's end itself."""
        thread = self.thread
        return thread.is_alive() and thread is not threading.current_thread() and not waits_for_an_end(thread)

    def work(self) -> None:
        """Run the job. Whatever it raises, SystemExit included, is logged and harms nobody."""
        job = self.job
        assert job is not None
        try:
            job()
        except BaseException as error:
            # A filter of the host's logging must not cost us the thread.
            with contextlib.suppress(Exception):
                logger.error("%s: job %s failed", self.thread.name, _name_of(job), exc_info=error)


class Hands:
    """Runs jobs on daemon threads that are started on demand, reused, and ended when idle for long.

    A submission wakes at most one worker, the one that has been idle for the shortest time; a worker that
    begins a job while more are queued wakes the next; and only one wake-up (or start of a thread) is under
    way at a time, until the woken worker runs and says so. So a burst of short jobs is done by one or two
    threads instead of many that fight for the interpreter, and long jobs get one thread each.

    Invariant, whenever the lock is free: the queue is empty, or a wake-up is under way, or nobody is idle and
    there may not or cannot be another worker. Everything that could break it happens under the lock:
    submitting (wakes, then appends), beginning a job (takes it, then wakes if more are there), becoming idle
    (only if the queue is empty), being woken (ends the wake-up, then begins a job or finds none), and leaving
    (ends its own wake-up, then wakes another if something is queued). While there is no worker the queue is
    empty, for the first one is started before the job is taken.

    Every step comes in an order that an interrupt (main thread, KeyboardInterrupt) may break off: a worker
    may be woken for nothing, but no job is queued that nobody will see. The lock is reentrant for the sake of
    signal handlers. Any thread may call anything.
    """

    def __init__(
        self,
        max_workers: int = 32,
        max_queued: int = 1024,
        *,
        idle_timeout: float = 30.0,
        name: str = "mcp-hands",
    ) -> None:
        if max_workers < 1 or max_queued < 1:
            raise ValueError(f"max_workers and max_queued must be at least 1: {max_workers}, {max_queued}")
        self.name = name
        self._max_workers = max_workers
        self._max_queued = max_queued
        self._idle_timeout = min(idle_timeout, TIMEOUT_MAX)
        self._lock = Lock()
        self._queue: deque[Job] = deque()
        self._workers: set[_Worker] = set()
        self._idle: list[_Worker] = []
        self._waking: _Worker | None = None
        self._closed = False
        self._hired = 0
        self._short_of_threads = False
        self._refused = 0
        self._abandoned = 0

    def submit(self, job: Job) -> bool:
        """Have `job()` run soon. Never waits for room or for a worker that is busy.

        False, and nothing was done: it is closed, or too many jobs are waiting, or there is no worker and no
        thread to be had for one.
        """
        with self._lock:
            queue = self._queue
            if self._closed or len(queue) >= self._max_queued or not (self._workers or self._hire()):
                self._refused += 1
                return False
            if self._waking is None:
                self._rouse()
            queue.append(job)
        return True

    def submit_all(self, jobs: Sequence[Job]) -> int:
        """As `submit` for a burst: how many were taken, from the left."""
        with self._lock:
            room = 0 if self._closed else self._max_queued - len(self._queue)
            taken = jobs[:room]
            if taken and not (self._workers or self._hire()):
                taken = ()
            self._refused += len(jobs) - len(taken)
            if taken and self._waking is None:
                self._rouse()
            self._queue.extend(taken)
        return len(taken)

    def close(self, deadline: Deadline) -> list[Job]:
        """Take no more jobs and wait for those that run; the jobs that were never begun. Idempotent.

        A job that has not ended at the deadline is abandoned: its thread cannot be stopped, and ends with it.
        A job may close the hands that run it, and is then not waited for.
        """
        with self._lock:
            self._closed = True
            for worker in self._idle:
                worker.ring()
            workers = list(self._workers)
        for worker in _still_busy(workers, deadline):
            self._abandon(worker)
        with self._lock:
            # Not before: after an interrupt they must still be there for the next to close.
            left = list(self._queue)
            self._queue.clear()
        return left

    def forget(self) -> None:
        """In a forked child: the threads and the jobs are the parent's. Nothing can be submitted any more."""
        self._lock = Lock()
        self._closed = True
        self._queue, self._workers, self._idle, self._waking = deque(), set(), [], None

    def stats(self) -> HandsStats:
        """The numbers now."""
        with self._lock:
            return HandsStats(
                workers=len(self._workers),
                idle=len(self._idle),
                queued=len(self._queue),
                running=sum(worker.job is not None for worker in self._workers),
                refused=self._refused,
                abandoned=self._abandoned,
            )

    # -- under the lock

    def _rouse(self) -> None:
        """Get one more worker going, if there is one or may be one. No wake-up must be under way."""
        if self._idle:
            worker = self._idle[-1]
            worker.ring()
            self._waking = worker
        elif len(self._workers) < self._max_workers:
            self._hire()

    def _hire(self) -> bool:
        """Start a worker. False if there is no thread to be had.

        Under the lock, though starting a thread takes a moment: nobody may rely on one that does not come.
        """
        self._hired += 1
        worker = _Worker(f"{self.name}-{self._hired}", self._live)
        try:
            self._workers.add(worker)
            self._waking = worker
            worker.thread.start()
        except BaseException as error:
            # Should the thread have been started all the same, it finds itself unknown and ends.
            self._workers.discard(worker)
            self._waking = None
            if not isinstance(error, RuntimeError):
                raise
            self._complain(error)
            return False
        self._short_of_threads = False
        return True

    def _complain(self, error: RuntimeError) -> None:
        # Each job that is submitted meanwhile tries again; one line is enough.
        if not self._short_of_threads:
            self._short_of_threads = True
            logger.warning("%s could not start another worker: %s", self.name, error)

    # -- the worker's thread

    def _live(self, worker: _Worker) -> None:
        try:
            while self._fetch(worker):
                worker.work()
                # An idle worker must not keep the last job alive.
                worker.job = None
        finally:
            self._leave(worker)

    def _fetch(self, worker: _Worker) -> bool:
        """Wait for the next job; False if it is time to end."""
        while True:
            with self._lock:
                if self._waking is worker:
                    self._waking = None
                if self._closed or worker not in self._workers:
                    return False
                if self._queue:
                    self._begin(worker)
                    return True
                if not worker.idle:
                    worker.idle = True
                    self._idle.append(worker)
            if not worker.bell.acquire(True, self._idle_timeout) and self._dismiss(worker):
                return False

    def _begin(self, worker: _Worker) -> None:
        if worker.idle:
            worker.idle = False
            self._idle.remove(worker)
        worker.job = self._queue.popleft()
        if self._queue and self._waking is None:
            self._rouse()

    def _dismiss(self, worker: _Worker) -> bool:
        """Let a worker go that has been idle for long, unless it was woken in the last moment."""
        with self._lock:
            if worker.bell.acquire(False):
                return False
            self._leave(worker)
            return True

    def _leave(self, worker: _Worker) -> None:
        with self._lock:
            self._workers.discard(worker)
            if worker.idle:
                worker.idle = False
                self._idle.remove(worker)
            if self._waking is worker:
                self._waking = None
            if self._queue and self._waking is None and not self._closed:
                self._rouse()

    # -- whoever closes

    def _abandon(self, worker: _Worker) -> None:
        with self._lock:
            job = worker.job
            if job is None or worker.abandoned:
                return
            worker.abandoned = True
            self._abandoned += 1
        logger.warning("%s is abandoned: job %s does not end", worker.thread.name, _name_of(job))


class HandsKeeper(Actor):
    """Gives a supervisor something to start, restart and stop: an actor that owns a `Hands`.

    `publish` is told the hands at the start and None at the end, on the actor's thread; `never_begun` is
    given the jobs that were queued at the end.
    """

    def __init__(
        self,
        make: Callable[[], Hands],
        publish: Callable[[Hands | None], object],
        *,
        drain: float = 2.0,
        never_begun: Callable[[list[Job]], object] = lambda _jobs: None,
        **actor: Any,
    ) -> None:
        super().__init__(**actor)
        self._make = make
        self._publish = publish
        self._drain = drain
        self._never_begun = never_begun

    def init(self) -> None:
        self._hands = self._make()
        self._publish(self._hands)

    def terminate(self, _reason: Reason) -> None:
        """Give what runs `drain` seconds, and hand back what was not begun."""
        try:
            # First: whoever comes now must not find hands that take nothing.
            self._publish(None)
        finally:
            self._never_begun(self._hands.close(Deadline.after(self._drain)))


def _still_busy(workers: Sequence[_Worker], deadline: Deadline) -> list[_Worker]:
    """Wait for the workers' threads; those that have not ended at the deadline."""
    while busy := [worker for worker in workers if worker.is_worth_waiting_for]:
        if deadline.expired:
            return busy
        busy[0].thread.join(min(_LOOK_AGAIN, deadline.remaining()))
    return []


def _name_of(job: Job) -> str:
    """A name without the arguments, which are nobody's business; an object may choose its own by `repr`."""
    while isinstance(job, functools.partial):
        job = job.func
    name = getattr(job, "__qualname__", None)
    return name if isinstance(name, str) else repr(job)
