"""Taking stdin and stdout over: the wire gets them, and nothing else in this process can reach it."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import io
import os
import sys
from dataclasses import dataclass
from typing import Final

from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.transports.contract import OpenFailed
from mcp_actors.transports.stdio.descriptors import Bell, adopt, close_quietly

_STDERR: Final = 2
# A private descriptor must not get the number of a standard one that happens to be closed.
_LOWEST_PRIVATE: Final = 3
# Later there may be room again.
_SHORTAGES: Final = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)

# Which of the standard descriptors were taken over. Other numbers come again, and may stand for anything.
_taken: set[int] = set()


@dataclass(frozen=True, slots=True)
class WireEnds:
    """The descriptors of a wire: ours alone, but for the pipes behind them, and the bell that wakes it."""

    stdin: int
    stdout: int
    bell: Bell


def take_over(stdin: int, stdout: int) -> WireEnds:
    """Private copies of both, which no child process inherits.

    Afterwards ``stdin`` is /dev/null and ``stdout`` a copy of stderr: whatever handlers, C code or child
    processes read or print cannot disturb the wire.

    Raises:
        OpenFailed: one of them is closed, or was taken over before, or there is no descriptor left. Then
            they are as they were.
    """
    if stdin in _taken or stdout in _taken:
        raise OpenFailed(Ending(EndKind.IMPOSSIBLE, "stdin and stdout were taken over before"))
    try:
        with contextlib.ExitStack() as undo:
            ends = _copy_both(stdin, stdout, undo)
            _put_in_place(stdin, stdout)
            undo.pop_all()
    except OSError as error:
        kind = EndKind.REFUSED if error.errno in _SHORTAGES else EndKind.IMPOSSIBLE
        reason = f"cannot take over stdin and stdout: {str(error.strerror).lower()}"
        raise OpenFailed(Ending(kind, reason)) from error
    _taken.update(fd for fd in (stdin, stdout) if fd < _LOWEST_PRIVATE)
    _show_prints(stdout)
    return ends


def _copy_both(stdin: int, stdout: int, undo: contextlib.ExitStack) -> WireEnds:
    # Before anything is opened, which could get the number of one that is closed.
    for fd in (stdin, stdout):
        os.fstat(fd)
    _plug_stderr()
    copies = []
    for fd in (stdin, stdout):
        copy = adopt(fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _LOWEST_PRIVATE))
        undo.callback(close_quietly, copy)
        copies.append(copy)
    bell = Bell()
    undo.callback(bell.close)
    return WireEnds(copies[0], copies[1], bell)


def _plug_stderr() -> None:
    """A closed stderr becomes /dev/null: the next file to be opened would become stderr otherwise."""
    try:
        os.fstat(_STDERR)
    except OSError:
        _put_nothing(_STDERR)


def _put_in_place(stdin: int, stdout: int) -> None:
    """What others find at these numbers from now on, child processes included."""
    _put_nothing(stdin)
    os.dup2(_STDERR, stdout)


def _put_nothing(fd: int) -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    if nothing == fd:
        os.set_inheritable(fd, True)
        return
    try:
        os.dup2(nothing, fd)
    finally:
        os.close(nothing)


def _show_prints(stdout: int) -> None:
    """What was printed and not yet written goes to stderr now, and from now on each line at once."""
    stream = sys.stdout
    # A stderr that is broken, or a stream that is closed: prints fail, as they would without us.
    with contextlib.suppress(OSError, ValueError):
        if isinstance(stream, io.TextIOWrapper) and stream.fileno() == stdout:
            stream.reconfigure(line_buffering=True)
            stream.flush()
