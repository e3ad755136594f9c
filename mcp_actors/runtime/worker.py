"""Worker: one thread of a task pool, the task it runs, and what can come of a task."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Hashable
from queue import SimpleQueue
from typing import TypeAlias

from msgspec import Struct

from mcp_actors.runtime.ref import Ref, waits_for_an_end

__all__ = ["Done", "Failed", "Finished", "Freed", "Outcome", "Refused", "Task", "Worker"]

logger = logging.getLogger("mcp_actors.runtime")


class Done(Struct, frozen=True):
    """The job returned `value`."""

    value: object


class Failed(Struct, frozen=True):
    """The job raised `error`, or the pool could not run it (`PoolFull`, `PoolStopped`)."""

    error: BaseException


class Refused(Struct, frozen=True):
    """The job was cancelled before it was begun."""


Outcome: TypeAlias = Done | Failed | Refused


class Finished(Struct, frozen=True):
    """News for whoever wanted the task run: there is exactly one for each `Run`."""

    task_id: Hashable
    outcome: Outcome


class Freed(Struct, frozen=True):
    """News for the pool: this worker has nothing to do."""

    worker: Worker


class Task:
    """A job on its way. Pool and worker may both try to settle it; the first wins."""

    __slots__ = ("_claim", "job", "reply_to", "task_id")

    def __init__(self, task_id: Hashable, job: Callable[[], object], reply_to: Ref | None) -> None:
        self.task_id = task_id
        self.job = job
        self.reply_to = reply_to
        self._claim = [True]

    def settle(self, outcome: Outcome) -> None:
        """Tell what came of it, unless that was told already. Any thread."""
        try:
            # list.pop is atomic: exactly one settler gets the claim.
            self._claim.pop()
        except IndexError:
            return
        if self.reply_to is not None:
            self.reply_to.tell(Finished(self.task_id, outcome))

    def run(self) -> Outcome:
        """Run the job on this thread. Whatever it raises, SystemExit included, is its outcome."""
        try:
            return Done(self.job())
        except BaseException as error:
            if self.reply_to is None:
                logger.error("task %r failed", self.task_id, exc_info=error)
            return Failed(error)


class Worker:
    """A daemon thread that runs one task after the other. Its methods are for the pool's thread."""

    def __init__(self, name: str, pool: Ref) -> None:
        self.task: Task | None = None
        self._pool = pool
        self._inbox: SimpleQueue[Task | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)

    @property
    def name(self) -> str:
        """The name of the thread."""
        return self._thread.name

    @property
    def is_worth_waiting_for(self) -> bool:
        """Whether the thread has yet to end, and does not itself wait for an actor's end, maybe ours."""
        return self._thread.is_alive() and not waits_for_an_end(self._thread)

    def start(self) -> None:
        """Start the thread, or raise RuntimeError if there is none to be had."""
        self._thread.start()

    def give(self, task: Task) -> None:
        """Have `task` run; the pool hears `Freed` afterwards."""
        self.task = task
        self._inbox.put(task)

    def dismiss(self) -> None:
        """Have the thread end after its current task."""
        self._inbox.put(None)

    def join(self, seconds: float) -> None:
        """Wait for the thread's end, but not longer than `seconds`."""
        self._thread.join(seconds)

    def _work(self) -> None:
        while (task := self._inbox.get()) is not None:
            outcome = task.run()
            self.task = None
            # Freed goes first: whoever hears Finished and sends the next task finds this worker free.
            self._pool.tell(Freed(self))
            task.settle(outcome)
            # An idle worker must not keep the last job and its result alive.
            del task, outcome
