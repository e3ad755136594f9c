"""Small operations on file descriptors that the pipes of a child process need."""

from __future__ import annotations

import array
import contextlib
import fcntl
import os
import select
import signal
import termios
from collections.abc import Iterator


def close_quietly(*fds: int) -> None:
    """Close descriptors; one that is closed already is no error."""
    for fd in fds:
        with contextlib.suppress(OSError):
            os.close(fd)


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
        self.fd, self._handle = os.pipe()
        os.set_blocking(self._handle, False)

    def ring(self) -> None:
        """Wake the poller. Must not race with ``close``."""
        # A full pipe has been rung often enough.
        with contextlib.suppress(BlockingIOError):
            os.write(self._handle, b"\0")

    def close(self) -> None:
        close_quietly(self.fd, self._handle)
