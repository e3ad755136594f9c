"""StdioWire: the line to a server process, over its stdin and stdout."""

from __future__ import annotations

import logging
import os
import select
import threading
from dataclasses import replace
from typing import Final

from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.protocol.framing import FrameOverflow, Framer, FramingError
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.transports import inheritance
from mcp_actors.transports.contract import READ_BYTES, SendVerdict, WireEnded, WireStats
from mcp_actors.transports.stdio.descriptors import Bell, close_quietly, waiting_bytes
from mcp_actors.transports.stdio.ladder import Ladder, Tree, climb
from mcp_actors.transports.stdio.process import Child, ExitStatus
from mcp_actors.transports.stdio.reaper import reaper
from mcp_actors.transports.stdio.stderr import StderrReader
from mcp_actors.transports.stdio.writer import PipeWriter

# A server that closed a pipe mostly exits at once: so long we wait for its status and last words.
_GRACE: Final = 0.25
_EOF: Final = Ending(EndKind.EOF, "the server closed its stdout")

logger = logging.getLogger("mcp_actors.transports")


class StdioWire:
    """A wire over the pipes of a child process. The reading state belongs to the reader thread.

    ``_reading`` keeps the descriptors open while the reader looks at them; once ``_ending`` is set the reader
    leaves them alone, and whoever closes the wire may close them.
    """

    def __init__(
        self, child: Child, framer: Framer, stderr: StderrReader, *, ladder: Ladder, high_water: int
    ) -> None:
        """Takes the child and its stderr over. Raises OSError if there is no descriptor left."""
        self._child = child
        self._framer = framer
        self._stderr = stderr
        self._ladder = ladder
        self._bell = Bell()
        self._writer = PipeWriter(child.stdin, high_water, self._bell.ring)
        self._poller = select.poll()
        for fd in (child.stdout, child.exit_fd, self._bell.fd):
            self._poller.register(fd, select.POLLIN)
        self._reading = threading.Lock()
        self._closing = threading.Lock()
        self._ending: Ending | None = None
        self._freed = False
        self._close_asked = False
        self._cause: Ending | None = None  # why no more than `_left` bytes will be read
        self._left = 0  # bytes that `read` may take
        self._last_frames: list[bytes] = []
        self._bytes_in = 0
        self._frames_in = 0
        inheritance.remember(self)

    # -- the reader thread

    def wait(self) -> None:
        with self._reading:
            while not self._left and not self._has_frames():
                self._look(self._poller.poll())

    def read(self, limit: int | None) -> list[bytes]:
        with self._reading:
            if not self._has_frames():
                self._receive()
            frames = self._framer.frames(limit)
            if not frames:
                frames, self._last_frames = self._last_frames, []
            self._frames_in += len(frames)
            return frames

    def _has_frames(self) -> bool:
        """Whether frames wait that were received before. Raises WireEnded if nothing will come any more."""
        if self._close_asked:
            self._ending = self._ending or self._closed_by_us()
        if self._ending is not None:
            raise WireEnded(self._ending)
        if self._framer.ready or self._last_frames:
            return True
        if self._cause is not None and not self._left:
            self._conclude(self._cause)
        return bool(self._last_frames)

    def _look(self, events: list[tuple[int, int]]) -> None:
        """Find out what woke us, without reading the pipe."""
        if events == [(self._child.stdout, select.POLLIN)]:
            self._left = READ_BYTES
            return
        status = self._child.status()
        if status is not None:
            # All that the server said is in the pipe by now. Others who hold it open are not waited for.
            self._stop_after_rest(_exit_ending(status))
        elif self._writer.broken:
            self._stop_after_rest(Ending(EndKind.BROKEN, "the server closed its stdin"))
        elif waiting_bytes(self._child.stdout):
            self._left = READ_BYTES
        elif any(fd == self._child.stdout for fd, _ in events):
            self._stop_after_rest(_EOF)

    def _receive(self) -> None:
        try:
            chunk = os.read(self._child.stdout, min(READ_BYTES, self._left or READ_BYTES))
        except BlockingIOError:
            self._left = 0
            return
        except OSError as error:
            self._stop(Ending(EndKind.BROKEN, f"reading from the server failed: {error.strerror}"))
            return
        if not chunk:
            self._stop(_EOF)
            return
        self._bytes_in += len(chunk)
        self._left = 0 if self._cause is None else self._left - len(chunk)
        try:
            self._framer.feed(chunk)
        except FrameOverflow as fault:
            self._stop(Ending(EndKind.OVERSIZED, f"the server sent {fault}"), overrule=True)
        except FramingError as fault:
            self._stop(Ending(EndKind.BROKEN, f"the server broke the framing: {fault}"), overrule=True)

    def _stop_after_rest(self, cause: Ending) -> None:
        """Read what is in the pipe now, and no more."""
        self._cause = cause
        self._left = waiting_bytes(self._child.stdout)

    def _stop(self, cause: Ending, *, overrule: bool = False) -> None:
        """Read no more."""
        if overrule or self._cause is None:
            self._cause = cause
        self._left = 0

    def _conclude(self, cause: Ending) -> None:
        """Everything was handed out: end, unless a last line without newline is left."""
        rest = self._framer.rest() if cause.kind in (EndKind.EOF, EndKind.EXIT) else b""
        if rest:
            self._last_frames = [rest]
            return
        if cause.kind is EndKind.EOF or self._writer.broken:
            status = self._child.await_exit(_GRACE)
            cause = cause if status is None else _exit_ending(status)
        if cause.kind is EndKind.EXIT:
            self._stderr.settle(Deadline.after(_GRACE))
        self._ending = self._complete(cause)
        raise WireEnded(self._ending)

    # -- any thread

    def send(self, frame: bytes, token: int | None) -> SendVerdict:
        return self._writer.send(self._framer.wrap(frame), token)

    def flush(self, deadline: Deadline) -> bool:
        return self._writer.flush(deadline)

    @property
    def pid(self) -> int:
        """The server's process."""
        return self._child.pid

    @property
    def stderr_tail(self) -> tuple[str, ...]:
        """The server's last words so far."""
        return self._stderr.tail()

    def stats(self) -> WireStats:
        writer = self._writer
        return WireStats(
            bytes_in=self._bytes_in,
            bytes_out=writer.bytes_out,
            frames_in=self._frames_in,
            frames_out=writer.frames_out,
            backlog_bytes=writer.backlog_bytes,
            greatest_backlog_bytes=writer.greatest_backlog_bytes,
            read_buffer_bytes=self._framer.buffered,
        )

    def close(self, deadline: Deadline) -> Ending:
        self._close_asked = True
        if self._closing.acquire(timeout=deadline.remaining()):
            try:
                if not self._freed:
                    self._bell.ring()
                    self._end_reading(deadline)
                    self._free(deadline)
            finally:
                self._closing.release()
        return self._ending or self._closed_by_us()

    def forget(self) -> None:
        # The descriptors are closed where they are counted.
        self._close_asked = self._freed = True

    # -- whoever closes

    def _end_reading(self, deadline: Deadline) -> None:
        """Make sure that the reader touches no descriptor any more."""
        held = self._reading.acquire(timeout=max(deadline.remaining(), 2 * _GRACE))
        self._ending = self._ending or self._closed_by_us()
        if held:
            self._reading.release()

    def _free(self, deadline: Deadline) -> None:
        child = self._child
        tree = Tree(child)
        self._writer.end()
        self._writer.close()
        if climb(tree, self._ladder, deadline, self._await_exit):
            reaper.drop(child.pid)
        else:
            logger.warning("the server (pid %d) or a process it started did not end", child.pid)
        self._add_exit_status()
        child.reap()
        self._stderr.close(Deadline.after(_GRACE))
        self._bell.close()
        close_quietly(child.stdout, child.exit_fd)
        inheritance.release(self)
        self._freed = True

    def _await_exit(self, deadline: Deadline) -> None:
        """Wait for the exit and throw away what the server still says: it may be stuck in saying it."""
        poller = select.poll()
        poller.register(self._child.exit_fd, select.POLLIN)
        poller.register(self._child.stdout, select.POLLIN)
        while self._child.status() is None and not deadline.expired:
            ready = {fd for fd, _ in poller.poll(deadline.remaining() * 1000)}
            if self._child.stdout in ready and not os.read(self._child.stdout, READ_BYTES):
                poller.unregister(self._child.stdout)

    def _closed_by_us(self) -> Ending:
        return self._complete(Ending(EndKind.CLOSED, "the connection was closed"))

    def _complete(self, ending: Ending) -> Ending:
        return replace(
            ending, pid=self._child.pid, stderr_tail=self._stderr.tail(), unsent=self._writer.end()
        )

    def _add_exit_status(self) -> None:
        status = self._child.status()
        if self._ending is not None and status is not None:
            self._ending = replace(self._ending, exit_code=status.code, signal=status.signal)


def _exit_ending(status: ExitStatus) -> Ending:
    return Ending(EndKind.EXIT, str(status), exit_code=status.code, signal=status.signal)
