"""TaskPool: runs other people's code on a bounded number of threads; each task is answered exactly once."""

from __future__ import annotations

import logging
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from typing import Any, TypeAlias, assert_never

from msgspec import Struct

from mcp_actors.runtime.actor import Actor
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.mailbox import TimerFired
from mcp_actors.runtime.ref import Reason, Ref
from mcp_actors.runtime.worker import Done, Failed, Finished, Freed, Outcome, Refused, Task, Worker

__all__ = [
    "Cancel",
    "Done",
    "Failed",
    "Finished",
    "Outcome",
    "PoolFull",
    "PoolStopped",
    "Refused",
    "Run",
    "TaskPool",
]

logger = logging.getLogger("mcp_actors.runtime")

# How often an ending pool looks whether a worker has begun to wait for the very end it is delaying.
_LOOK_AGAIN = 0.02
# How soon a pool without any worker tries again to get a thread for the tasks it must not refuse.
_HIRE_AGAIN = 0.25


class PoolFull(Exception):
    """All workers are busy and the queue is full. The task was not begun."""


class PoolStopped(Exception):
    """The pool stopped before the task was done."""


class Run(Struct, frozen=True):
    """Run `job()` on a worker and tell `reply_to` what came of it.

    A `vouched` task is never refused, neither because the queue is full nor for want of a thread: its sender
    has a bound of its own, and relies on its being run.
    """

    task_id: Hashable
    job: Callable[[], object]
    reply_to: Ref | None = None
    vouched: bool = False


class Cancel(Struct, frozen=True):
    """Take a task out of the queue. One that has begun, or is unknown, is left alone."""

    task_id: Hashable


_Message: TypeAlias = Run | Cancel | Freed | TimerFired


class TaskPool(Actor):
    """Hands tasks to workers: threads that are started on demand, reused, and ended when idle for long.

    The queue and the list of workers belong to the pool's own thread; a worker knows only its current task.
    """

    def __init__(
        self,
        max_workers: int = 32,
        max_queued: int = 1024,
        *,
        idle_timeout: float = 30.0,
        drain: float = 1.0,
        **actor: Any,
    ) -> None:
        super().__init__(**actor)
        self._max_workers = max_workers
        self._max_queued = max_queued
        self._idle_timeout = idle_timeout
        self._drain = drain
        self._queued: OrderedDict[Hashable, Task] = OrderedDict()
        self._workers: set[Worker] = set()
        # The last to become idle is on the right and the first to work again, so that the others can age.
        self._idle: deque[tuple[Worker, float]] = deque()
        self._hired = 0

    def handle(self, message: _Message) -> object:
        match message:
            case Run():
                self._admit(message)
            case Freed(worker):
                self._employ(worker)
            case Cancel(task_id):
                return self._cancel(task_id)
            case TimerFired():
                self._hire_again()
                self._dismiss_the_idle()
            case _:
                assert_never(message)
        return None

    def undelivered(self, message: _Message) -> None:
        """A task that came too late is answered, too. Any thread."""
        if isinstance(message, Run):
            _task(message).settle(Failed(PoolStopped("the pool has stopped")))

    def terminate(self, _reason: Reason) -> None:
        """Refuse what is queued, give what is running a bounded time, and abandon the rest by name."""
        for task in self._queued.values():
            task.settle(Failed(PoolStopped("the pool stopped before the task was begun")))
        for worker in self._workers:
            worker.dismiss()
        for worker in self._still_busy():
            self._abandon(worker)

    def _admit(self, run: Run) -> None:
        task = _task(run)
        if run.task_id in self._queued:
            task.settle(Failed(ValueError(f"a task with id {run.task_id!r} is queued already")))
        elif self._idle:
            self._idle.pop()[0].give(task)
        elif len(self._workers) < self._max_workers and self._hire(task):
            return
        elif run.vouched or (self._workers and len(self._queued) < self._max_queued):
            self._queued[run.task_id] = task
            if not self._workers:
                self.set_timer("hire", _HIRE_AGAIN)
        else:
            task.settle(Failed(PoolFull(f"{len(self._workers)} tasks running, {len(self._queued)} queued")))

    def _hire(self, task: Task) -> bool:
        self._hired += 1
        worker = Worker(f"{self.ref.name}-{self._hired}", self.ref)
        try:
            worker.start()
        except RuntimeError:
            logger.warning("%s could not start another worker", self.ref.name, exc_info=True)
            return False
        self._workers.add(worker)
        worker.give(task)
        return True

    def _hire_again(self) -> None:
        if not self._queued or self._workers:
            return
        task = self._queued.popitem(last=False)[1]
        # One is enough: when it is free it goes on with the next.
        if not self._hire(task):
            # From Python 3.12 on there are no new threads once the main thread has ended: better here than
            # never. What waits meanwhile could not be run anyway.
            task.settle(task.run())
            self.set_timer("hire", 0.0)

    def _employ(self, worker: Worker) -> None:
        if self._queued:
            worker.give(self._queued.popitem(last=False)[1])
            return
        self._idle.append((worker, self.mailbox.clock()))
        # One timer for all, set anew when it fires: a timer for each job would be set and cancelled in vain.
        if not self.mailbox.timers:
            self.set_timer("idle", self._idle_timeout)

    def _dismiss_the_idle(self) -> None:
        latest = self.mailbox.clock() - self._idle_timeout
        while self._idle and self._idle[0][1] <= latest:
            worker, _since = self._idle.popleft()
            self._workers.discard(worker)
            worker.dismiss()
        if self._idle:
            self.set_timer("idle", self._idle[0][1] - latest)

    def _cancel(self, task_id: Hashable) -> bool:
        task = self._queued.pop(task_id, None)
        if task is not None:
            task.settle(Refused())
        return task is not None

    def _still_busy(self) -> list[Worker]:
        """Wait for the workers, at most `drain` seconds; those that have not ended by then."""
        deadline = Deadline.after(self._drain)
        while busy := [worker for worker in self._workers if worker.is_worth_waiting_for]:
            if deadline.expired:
                return busy
            busy[0].join(min(_LOOK_AGAIN, deadline.remaining()))
        return []

    def _abandon(self, worker: Worker) -> None:
        task = worker.task
        if task is not None:
            logger.warning("%s is abandoned: task %r does not end", worker.name, task.task_id)
            task.settle(Failed(PoolStopped("the pool stopped while the task was running")))


def _task(run: Run) -> Task:
    return Task(run.task_id, run.job, run.reply_to)
