"""Child: a server process with its three pipes, its own session and a descriptor that tells its exit."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.transports.contract import OpenFailed
from mcp_actors.transports.stdio.descriptors import adopt, close_quietly, make_pipe, no_sigpipe, readable

# What no second attempt can mend: the command or directory is not there or not usable.
_HOPELESS: Final = frozenset(
    {
        errno.ENOENT,
        errno.EACCES,
        errno.EPERM,
        errno.ENOTDIR,
        errno.EISDIR,
        errno.ENOEXEC,
        errno.E2BIG,
        errno.ELOOP,
    }
)

# Older systems can only collect a status, which frees the pid, and not look at it first.
_CAN_LOOK: Final = hasattr(os, "waitid")


@dataclass(frozen=True, slots=True)
class Command:
    """What to start, and in which surroundings."""

    arguments: Sequence[str]
    environment: Mapping[str, str]
    directory: str | None = None


@dataclass(frozen=True, slots=True)
class ExitStatus:
    """How a process ended. Both are None if somebody else collected the status."""

    code: int | None = None
    signal: int | None = None

    def __str__(self) -> str:
        if self.signal is not None:
            return f"the server was killed by {_signal_name(self.signal)}"
        if self.code is not None:
            return f"the server exited with code {self.code}"
        return "the server ended; its exit status is not known"


class Child:
    """A running server. It leads its own session and process group, so both are named by ``pid``."""

    def __init__(self, command: Command) -> None:
        """Start it. Raises OpenFailed."""
        near: list[int] = []
        far: list[int] = []
        try:
            _make_pipes(near, far)
            self.pid = _spawn(command, far)
        except (OSError, RuntimeError) as error:
            # RuntimeError: from Python 3.12 on nothing can be started while the interpreter ends.
            close_quietly(*near)
            raise OpenFailed(_failure(command, error)) from error
        finally:
            close_quietly(*far)
        self.stdin, self.stdout, self.stderr = near
        self._status: ExitStatus | None = None
        self._lock = threading.Lock()
        self.exit_fd = self._watch_exit(command, near)

    def status(self) -> ExitStatus | None:
        """How it ended, or None while it runs. Does not free the pid where the system allows to look only."""
        with self._lock:
            if self._status is None:
                self._status = _look(self.pid)
            return self._status

    def await_exit(self, seconds: float) -> ExitStatus | None:
        """Wait for the end; None if it still runs."""
        if self.status() is None:
            readable(self.exit_fd, seconds)
        return self.status()

    def signal_group(self, number: signal.Signals) -> None:
        """Signal the whole process group, which may outlive its leader."""
        # macOS answers EPERM for a group of zombies.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def reap(self) -> None:
        """Free the pid of an ended process. Afterwards no signal may be sent to it."""
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, os.WNOHANG)

    def abandon(self) -> None:
        """Kill it and close its pipes but stderr: the wire around it could not be made."""
        self._kill()
        close_quietly(self.stdin, self.stdout, self.exit_fd)

    def _kill(self) -> None:
        self.signal_group(signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)

    def _watch_exit(self, command: Command, near: list[int]) -> int:
        try:
            return self._open_exit_fd()
        except (OSError, RuntimeError) as error:
            self._kill()
            close_quietly(*near)
            raise OpenFailed(_failure(command, error)) from error

    def _open_exit_fd(self) -> int:
        """A descriptor that becomes readable when the process ends."""
        with contextlib.suppress(AttributeError, OSError):
            return adopt(os.pidfd_open(self.pid))
        reading, writing = make_pipe()
        watch = threading.Thread(
            target=self._tell_exit, args=(writing,), name=f"mcp-exit-{self.pid}", daemon=True
        )
        try:
            watch.start()
        except RuntimeError:
            close_quietly(reading, writing)
            raise
        return reading

    def _tell_exit(self, writing: int) -> None:
        """Where there is no pidfd: wait on a thread of its own, and tell the end through a pipe."""
        status = ExitStatus()
        with contextlib.suppress(ChildProcessError):
            if _CAN_LOOK:
                os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
            else:
                status = _from_code(os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1]))
        if not _CAN_LOOK:
            self._status = status
        # Closing alone would tell nothing while a forked process holds a copy of this end. Whoever has seen
        # the status meanwhile may have closed the other end.
        with contextlib.suppress(BrokenPipeError), no_sigpipe():
            os.write(writing, b"\0")
        close_quietly(writing)


def _make_pipes(near: list[int], far: list[int]) -> None:
    """Three pipes: ours are the writing end of the first and the reading ends of the others."""
    for ours_is_reading in (False, True, True):
        reading, writing = make_pipe()
        near.append(reading if ours_is_reading else writing)
        far.append(writing if ours_is_reading else reading)
    for fd in near:
        # Safe for the server: the other end of a pipe is another open file description.
        os.set_blocking(fd, False)


def _spawn(command: Command, far: list[int]) -> int:
    process = subprocess.Popen(
        list(command.arguments),
        stdin=far[0],
        stdout=far[1],
        stderr=far[2],
        env=dict(command.environment),
        cwd=command.directory,
        start_new_session=True,
        close_fds=True,
    )
    # We wait for the process ourselves; without a code Popen would warn, and wait too, when it is collected.
    process.returncode = 0
    return process.pid


def _failure(command: Command, error: OSError | RuntimeError) -> Ending:
    """Say in plain words why the server could not be started."""
    program = command.arguments[0]
    number = error.errno if isinstance(error, OSError) else None
    kind = EndKind.IMPOSSIBLE if number in _HOPELESS else EndKind.REFUSED
    if number in _HOPELESS and command.directory is not None and not os.path.isdir(command.directory):
        return Ending(kind, f"cannot start {program!r}: no such working directory: {command.directory!r}")
    cause = {
        errno.ENOENT: "no such command" + ("; its arguments must be given apart" if " " in program else ""),
        errno.EACCES: "it is a directory" if os.path.isdir(program) else "it is not executable",
        errno.ENOEXEC: "it is not a program",
    }.get(number or 0, (os.strerror(number) if number else str(error)).lower())
    return Ending(kind, f"cannot start {program!r}: {cause}")


def _look(pid: int) -> ExitStatus | None:
    if not _CAN_LOOK:
        return None  # the watching thread collects it
    try:
        # Not reaped yet: as long as the zombie holds the pid, signals to the group cannot hit a stranger.
        news = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return ExitStatus()
    if news is None:
        return None
    return _from_code(news.si_status if news.si_code == os.CLD_EXITED else -news.si_status)


def _from_code(code: int) -> ExitStatus:
    return ExitStatus(code=code) if code >= 0 else ExitStatus(signal=-code)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
