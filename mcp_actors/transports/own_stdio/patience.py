"""Writing without waiting to a descriptor that blocks, and must go on to: others may share it."""

from __future__ import annotations

import os
import select
from typing import Final

# A descriptor that is ready for writing takes this much without blocking, says POSIX of pipes.
_PORTION: Final = select.PIPE_BUF
# A reader that keeps up must not keep the sender busy for ever.
_AT_ONCE: Final = 64 * 1024


class PatientWrite:
    """Writes to one descriptor in portions, each only when it is ready. One thread at a time.

    Not O_NONBLOCK: it would belong to all processes that share the pipe or the terminal, and those that do
    not expect it take it for an end.
    """

    def __init__(self, fd: int) -> None:
        self._poller = select.poll()
        self._poller.register(fd, select.POLLOUT)

    def __call__(self, fd: int, data: bytes | memoryview) -> int:
        """How much was written. Raises BlockingIOError if nothing can be now, OSError if it is broken."""
        view = memoryview(data)[:_AT_ONCE]
        written = 0
        # Any event will do: where nobody reads any more, writing says so without blocking.
        while written < len(view) and self._poller.poll(0):
            try:
                written += os.write(fd, view[written : written + _PORTION])
            except BlockingIOError:
                # Somebody else has set O_NONBLOCK, and filled the pipe.
                break
        if not written:
            raise BlockingIOError
        return written
