"""PipeWriter: writes frames to a pipe without ever blocking the sender, with a bounded backlog."""

from __future__ import annotations

import os
import select
import signal
import threading
from collections import deque
from collections.abc import Callable
from typing import Final, TypeAlias

from mcp_actors.runtime.deadline import Deadline
from mcp_actors.transports.contract import SendVerdict
from mcp_actors.transports.stdio.descriptors import close_quietly, no_sigpipe

# While somebody flushes, the end of the pipe is noticed at the latest after this time.
_SLICE: Final = 0.05

#: Writes bytes to a descriptor: how many it took.
Write: TypeAlias = Callable[[int, bytes | memoryview], int]


class PipeWriter:
    """The writing half of a wire. One thread sends, another flushes, any may end it; a lock parts them.

    ``write`` writes what the pipe takes now, or raises BlockingIOError: ``os.write``, if the pipe does not
    block. It is called by one thread at a time.
    """

    def __init__(
        self, fd: int, high_water: int, on_broken: Callable[[], None], write: Write = os.write
    ) -> None:
        self._fd = fd
        self._write_now = write
        self._high_water = high_water
        # Python ignores SIGPIPE, but a host may have undone that: then a dead server would kill the host.
        self._shielded = signal.getsignal(signal.SIGPIPE) is signal.SIG_DFL
        self._on_broken = on_broken
        self._lock = threading.Lock()
        self._flushing = threading.Lock()
        self._backlog: deque[tuple[memoryview, int | None]] = deque()
        self._ended = False
        self.unsent: frozenset[int] = frozenset()
        self.broken = False
        self.bytes_out = 0
        self.frames_out = 0
        self.backlog_bytes = 0
        self.greatest_backlog_bytes = 0

    def send(self, data: bytes, token: int | None) -> SendVerdict:
        """Write what the pipe takes now and keep the rest; nothing is taken above the high-water mark."""
        with self._lock:
            if self._ended or self.broken:
                return SendVerdict.CLOSED
            if self._backlog and self.backlog_bytes + len(data) > self._high_water:
                return SendVerdict.BUSY
            written = 0 if self._backlog else self._write(data)
            if written is None:
                return SendVerdict.CLOSED
            if written == len(data):
                self.frames_out += 1
                return SendVerdict.SENT
            self._keep(memoryview(data)[written:], token)
            return SendVerdict.QUEUED

    def flush(self, deadline: Deadline) -> bool:
        """Write the backlog as the pipe takes it; True when nothing is left, or nowhere to write it."""
        with self._flushing:
            poller = select.poll()
            poller.register(self._fd, select.POLLOUT)
            while True:
                with self._lock:
                    self._write_backlog()
                    if self._ended or self.broken or not self._backlog:
                        return True
                if deadline.expired:
                    return False
                poller.poll(min(_SLICE, deadline.remaining()) * 1000)

    def end(self) -> frozenset[int]:
        """Take and write nothing more; the tokens of the frames that were not completely written."""
        with self._lock:
            self._ended = True
            self.unsent |= {token for _, token in self._backlog if token is not None}
            self._backlog.clear()
            self.backlog_bytes = 0
            return self.unsent

    def close(self) -> None:
        """Close the pipe, after ``end``. The caller makes sure it is called once."""
        with self._flushing:
            close_quietly(self._fd)

    def _write_backlog(self) -> None:
        while self._backlog and not self.broken:
            view, token = self._backlog[0]
            written = self._write(view)
            if written is None:
                return
            self.backlog_bytes -= written
            if written < len(view):
                self._backlog[0] = (view[written:], token)
                return
            self._backlog.popleft()
            self.frames_out += 1

    def _write(self, data: bytes | memoryview) -> int | None:
        """How much the pipe took; None if it is broken."""
        try:
            if self._shielded:
                with no_sigpipe():
                    written = self._write_now(self._fd, data)
            else:
                written = self._write_now(self._fd, data)
        except BlockingIOError:
            return 0
        except OSError:
            # The reader judges the end, for it knows what the server still said. It is told under the lock:
            # the bell it waits for stays open until `end` had the lock.
            self.broken = True
            self._on_broken()
            return None
        self.bytes_out += written
        return written

    def _keep(self, rest: memoryview, token: int | None) -> None:
        self._backlog.append((rest, token))
        self.backlog_bytes += len(rest)
        self.greatest_backlog_bytes = max(self.greatest_backlog_bytes, self.backlog_bytes)
