"""The reaper: a few lines of ``sh`` beside us that end our servers if we are killed."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
from typing import Final

from mcp_actors.transports import inheritance
from mcp_actors.transports.stdio.descriptors import close_quietly, no_sigpipe

# The work runs in the background of a shell that ends at once: then the reaper is no child of ours, never becomes
# a zombie, and nobody who waits for our children meets it. Its stdin is the pipe; when that ends, so have we.
_SCRIPT: Final = """
trap '' HUP INT QUIT TERM PIPE TSTP TTIN TTOU USR1 USR2
exec 3<&0
{
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
} <&3 3<&- &
"""


class Reaper:
    """Knows the process groups of this host process, and lives while there is one. Any thread may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._groups: set[int] = set()
        self._pipe: int | None = None

    def prepare(self) -> None:
        """Be there before a server is started, so that the moment in which it is not yet known stays short."""
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
                self._hang_up("")

    def drop(self, group: int) -> None:
        """This group has ended. After the last one the reaper leaves."""
        with self._lock:
            self._groups.discard(group)
            if self._groups:
                self._say(f"-{group}\n")
            else:
                self._hang_up(f"-{group}\n")

    def forget(self) -> None:
        """In a forked child: the parent's servers are not ours, and its reaper must see the parent's end."""
        if self._pipe is not None:
            close_quietly(self._pipe)
        self.__init__()  # type: ignore[misc]  # the lock may be held by a thread that does not exist here

    def _say(self, line: str) -> None:
        if self._pipe is not None:
            with contextlib.suppress(BrokenPipeError), no_sigpipe():
                os.write(self._pipe, line.encode())
                return
            self._hang_up("")
        self._start()

    def _start(self) -> None:
        """Start it, or start it again if somebody killed it, and name all groups."""
        reading, writing = os.pipe()
        try:
            subprocess.run(
                ["/bin/sh", "-c", _SCRIPT],
                stdin=reading,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={"PATH": "/usr/bin:/bin"},
                cwd="/",
                start_new_session=True,
                check=False,
            )
            os.write(writing, "".join(f"+{group}\n" for group in self._groups).encode())
        except OSError:
            close_quietly(writing)
            raise
        finally:
            close_quietly(reading)
        self._pipe = writing
        inheritance.remember(self)

    def _hang_up(self, last_line: str) -> None:
        if self._pipe is not None:
            with contextlib.suppress(BrokenPipeError), no_sigpipe():
                os.write(self._pipe, last_line.encode())
            close_quietly(self._pipe)
        self._pipe = None
        inheritance.release(self)


reaper: Final = Reaper()
