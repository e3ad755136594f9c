"""The descriptors that the pipes of child processes need: made, counted and closed in one place.

A forked child closes exactly those that are open in that moment: a number that was given back before belongs
to somebody else by then.
"""

from __future__ import annotations

import array
import contextlib
import fcntl
import os
import select
import signal
import termios
from collections.abc import Iterator

_ours: set[int] = set()


def make_pipe() -> tuple[int, int]:
    """A pipe: its reading and its writing end."""
    ends = os.pipe()
    _ours.update(ends)
    return ends


def adopt(fd: int) -> int:
    """Count a descriptor that was opened elsewhere as ours."""
    _ours.add(fd)
    return fd


def close_quietly(*fds: int) -> None:
    """Close descriptors of ours; one that is closed already is left alone."""
    for fd in fds:
        if fd in _ours:
            # First this: in a child that is forked in between it stays open, which harms nobody else.
            _ours.discard(fd)
            with contextlib.suppress(OSError):
                os.close(fd)


def _close_inherited() -> None:
    """In a forked child: the parent's pipes must end when the parent ends them."""
    close_quietly(*tuple(_ours))


os.register_at_fork(after_in_child=_close_inherited)


def waiting_bytes(fd: int) -> int:
    """How many bytes can be read from this pipe now."""
    count = array.array("i", [0])
    fcntl.ioctl(fd, termios.FIONREAD, count)
    return count[0]


def readable(fd: int, seconds: float) -> bool:
    """Wait until the descriptor has something to say, or has ended."""
    poller = select.poll()
    poller.register(fd, select.POLLIN)
    return bool(poller.poll(seconds * 1000))


@contextlib.contextmanager
def no_sigpipe() -> Iterator[None]:
    """Write to a pipe whose reader may be gone, without the signal that would end this process."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGPIPE})
    try:
        yield
    finally:
        if signal.SIGPIPE in signal.sigpending():
            signal.sigwait({signal.SIGPIPE})
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Bell:
    """Wakes a thread that polls: ``ring`` from any thread makes ``fd`` readable until ``close``."""

    def __init__(self) -> None:
        self.fd, self._handle = make_pipe()
        os.set_blocking(self._handle, False)

    def ring(self) -> None:
        """Wake the poller. Must not race with ``close``."""
        # A full pipe has been rung often enough.
        with contextlib.suppress(BlockingIOError):
            os.write(self._handle, b"\0")

    def close(self) -> None:
        close_quietly(self.fd, self._handle)
