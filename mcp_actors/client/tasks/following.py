"""Following: how a future lasts until the task is over that its call became."""

from __future__ import annotations

import logging
import threading
from contextvars import Context
from typing import Any, Final

from mcp_actors import errors
from mcp_actors.client.futures import CallFuture
from mcp_actors.client.notifications import Progress, ProgressHandler
from mcp_actors.client.tasks.handle import TaskHandle
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.slot import Slot
from mcp_actors.telemetry.redaction import printable

logger: Final = logging.getLogger("mcp_actors.client")


class Follower:
    """Waits for a task as a blocking caller would, on a thread of its own, and finishes the future of its
    call.

    The thread ends with the task, with the future, at the deadline, and when the client is closed. In a
    forked child there is none: a future of the parent's says so itself.
    """

    def __init__(
        self,
        handle: TaskHandle[Any],
        seconds: float,
        on_progress: ProgressHandler | None,
        context: Context,
    ) -> None:
        self._handle = handle
        self._seconds = seconds
        self._on_progress = on_progress
        self._context = context
        self._unwanted: Slot[None] = Slot()

    def begin(self, future: CallFuture[Any], deadline: Deadline) -> None:
        """Follow the task from now on. On a worker's thread.

        Raises:
            Backpressure: there is no thread to be had. The task is cancelled.
        """
        future.on_cancel(self._give_up)
        if future.cancelled():
            # Perhaps before there was anything to give up.
            self._give_up()
            return
        name, work = f"mcp-task-{printable(self._handle.id, 16)}", (self._follow, future, deadline)
        try:
            threading.Thread(target=self._context.run, args=work, name=name, daemon=True).start()
        except RuntimeError as error:
            self._handle.withdraw()
            raise errors.Backpressure(f"no thread is free to follow {self._handle!r}: {error}") from error

    def _give_up(self) -> None:
        """Whoever held the future does not want it any more. Any thread."""
        self._handle.withdraw()
        self._unwanted.set(None)

    def _follow(self, future: CallFuture[Any], deadline: Deadline) -> None:
        try:
            progress = None if self._on_progress is None else self._tell
            result = self._handle.result_by(self._seconds, deadline, progress, self._unwanted)
        except BaseException as error:  # noqa: BLE001 - it is raised again, by result()
            # Nobody else knows of this task.
            self._handle.withdraw()
            future.fail(error)
        else:
            future.fulfil(result)

    def _tell(self, progress: Progress) -> None:
        assert self._on_progress is not None
        try:
            self._on_progress(progress)
        except Exception:
            # As it would be among the notification handlers.
            logger.exception("the progress handler of %r failed", self._handle)
