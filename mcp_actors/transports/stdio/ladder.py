"""The shutdown ladder: end a server and all that it started, gently first, with every wait bounded."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import psutil

from mcp_actors.runtime.deadline import Deadline
from mcp_actors.transports.stdio.process import Child

# A process that went meanwhile, or no descriptor left to look with.
_CANNOT_LOOK: Final = (psutil.Error, OSError)
# Survivors are no children of ours: no descriptor tells their end, so it has to be looked for.
_LOOK_AGAIN: Final = 0.01
# Even without any time left each rung gets this much, or a killed server would stay behind as a zombie.
_AT_LEAST: Final = 0.1


@dataclass(frozen=True, slots=True)
class Ladder:
    """Seconds given to a server after its stdin was closed, after SIGTERM, and after SIGKILL."""

    after_eof: float = 2.0
    after_term: float = 2.0
    after_kill: float = 2.0

    @property
    def total(self) -> float:
        """The longest that climbing it can take."""
        return self.after_eof + self.after_term + self.after_kill

    def signals(self) -> tuple[tuple[signal.Signals, float], ...]:
        """The rungs after the first: what to send, and how long to wait then."""
        return ((signal.SIGTERM, self.after_term), (signal.SIGKILL, self.after_kill))


class Tree:
    """A server and its descendants, also those that left its process group or session."""

    def __init__(self, child: Child) -> None:
        """To be made before stdin is closed: only while it lives are its descendants told from strangers."""
        self._child = child
        self._known: set[psutil.Process] = set()
        self._look()

    def _look(self) -> None:
        if self._child.status() is None:
            with contextlib.suppress(*_CANNOT_LOOK):
                self._known.update(psutil.Process(self._child.pid).children(recursive=True))

    def survivors(self) -> list[psutil.Process]:
        """Who of them still runs, the server itself left out."""
        with contextlib.suppress(*_CANNOT_LOOK):
            for pid in psutil.pids():
                if pid != self._child.pid and _session(pid) == self._child.pid:
                    self._known.add(psutil.Process(pid))
        return [process for process in self._known if _runs(process)]

    def signal(self, number: signal.Signals) -> None:
        """Signal the group, and one by one those outside of it."""
        self._look()
        self._child.signal_group(number)
        for process in self.survivors():
            with contextlib.suppress(*_CANNOT_LOOK):
                process.send_signal(number)

    def kill_group(self) -> None:
        """Kill what is left of the process group."""
        self._child.signal_group(signal.SIGKILL)

    def ended(self) -> bool:
        """Whether nobody is left."""
        return self._child.status() is not None and not self.survivors()

    def await_end(self, deadline: Deadline) -> None:
        """Wait until nobody is left."""
        while not self.ended() and not deadline.expired:
            time.sleep(_LOOK_AGAIN)


def climb(tree: Tree, ladder: Ladder, deadline: Deadline, await_exit: Callable[[Deadline], object]) -> bool:
    """End the tree of a server whose stdin was closed; True when nobody is left."""
    await_exit(_sooner(ladder.after_eof, deadline))
    for number, patience in ladder.signals():
        if tree.ended():
            break
        tree.signal(number)
        limit = _sooner(patience, deadline)
        await_exit(limit)
        tree.await_end(limit)
    # Whoever was overlooked: the group is safe to signal until its leader is reaped.
    tree.kill_group()
    return tree.ended()


def _sooner(seconds: float, deadline: Deadline) -> Deadline:
    return Deadline.after(min(seconds, max(deadline.remaining(), _AT_LEAST)))


def _session(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except OSError:
        return None


def _runs(process: psutil.Process) -> bool:
    # A zombie that its new parent does not collect is gone for all purposes.
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
    except _CANNOT_LOOK:
        return True
