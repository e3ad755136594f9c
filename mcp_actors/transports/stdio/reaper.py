"""The reaper: a few lines of ``sh`` beside us that end our servers if we are killed."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
import time
from typing import Final

from mcp_actors.runtime.deadline import Deadline
from mcp_actors.transports.stdio.descriptors import close_quietly, make_pipe, no_sigpipe

_PATIENCE: Final = 1.0
_LOOK_AGAIN: Final = 0.001

# Its stdin is a pipe from us; when that ends, so have we. Without groups there is nothing left to do.
_SCRIPT: Final = """
trap '' HUP INT QUIT TERM PIPE TSTP TTIN TTOU USR1 USR2
groups=' '
while IFS= read -r line; do
  group=${line#?}
  case $line in
    +*) groups="$groups$group " ;;
    -*) groups="${groups%% $group *} ${groups#* $group }" ;;
  esac
done
[ "$groups" = ' ' ] && exit 0
for group in $groups; do kill -s TERM -- "-$group"; done
sleep 1
for group in $groups; do kill -s KILL -- "-$group"; done
"""


class Reaper:
    """Knows the process groups of our servers; lives while there is one. Any thread may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._groups: set[int] = set()
        self._pipe: int | None = None
        self._pid = 0

    def prepare(self) -> None:
        """Be there before a server is started, so that it is unknown for a moment only."""
        with self._lock:
            self._say("")

    def add(self, group: int) -> None:
        """End this group if we die."""
        with self._lock:
            self._groups.add(group)
            self._say(f"+{group}\n")

    def release_if_idle(self) -> None:
        """Leave if there is no group to watch: the server could not be started."""
        with self._lock:
            if not self._groups:
                self._hang_up()

    def drop(self, group: int) -> None:
        """This group has ended. After the last one the reaper leaves."""
        with self._lock:
            self._groups.discard(group)
            # If somebody killed it and no other can be started: that must not keep a wire from ending.
            with contextlib.suppress(OSError, RuntimeError):
                self._say(f"-{group}\n")
            if not self._groups:
                self._hang_up()

    def forget(self) -> None:
        """In a forked child: the parent's servers are not ours, and its reaper must see the parent's end."""
        self.__init__()  # type: ignore[misc]  # the lock may be held by a thread that does not exist here

    def _say(self, line: str) -> None:
        if self._pipe is not None and not _write(self._pipe, line):
            self._hang_up()  # somebody killed it
        if self._pipe is None:
            self._start()

    def _start(self) -> None:
        """Start it, and name all groups."""
        reading, writing = make_pipe()
        try:
            process = subprocess.Popen(
                ["/bin/sh", "-c", _SCRIPT],
                stdin=reading,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={"PATH": "/usr/bin:/bin"},
                cwd="/",
                start_new_session=True,
            )
        except (OSError, RuntimeError):
            close_quietly(writing)
            raise
        finally:
            close_quietly(reading)
        # We wait for it ourselves; without a code Popen would warn when it is collected.
        process.returncode = 0
        self._pid, self._pipe = process.pid, writing
        _write(writing, "".join(f"+{group}\n" for group in self._groups))

    def _hang_up(self) -> None:
        """Let it go: without a group it ends when its pipe does."""
        if self._pipe is None:
            return
        close_quietly(self._pipe)
        self._pipe = None
        give_up = Deadline.after(_PATIENCE)
        # Never killed: if the host ignores SIGCHLD, its pid may be somebody else's by now.
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(self._pid, os.WNOHANG)[0] == 0 and not give_up.expired:
                time.sleep(_LOOK_AGAIN)


def _write(pipe: int, text: str) -> bool:
    with contextlib.suppress(BrokenPipeError), no_sigpipe():
        os.write(pipe, text.encode() or b"\n")
        return True
    return False


reaper: Final = Reaper()
# Always, not only while it runs: the lock is held while it is being started, and while it leaves.
os.register_at_fork(after_in_child=reaper.forget)
