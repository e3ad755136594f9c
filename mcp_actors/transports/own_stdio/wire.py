"""OwnStdioWire: the line to the client that started this process, over private copies of stdin and stdout."""

from __future__ import annotations

import os
import select
import stat
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.protocol.framing import FrameOverflow, Framer, FramingError
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.transports import inheritance
from mcp_actors.transports.contract import READ_BYTES, SendVerdict, WireEnded, WireStats
from mcp_actors.transports.own_stdio.patience import PatientWrite
from mcp_actors.transports.own_stdio.takeover import WireEnds
from mcp_actors.transports.stdio.descriptors import close_quietly, waiting_bytes
from mcp_actors.transports.stdio.writer import PipeWriter

# At the end, so long a client that still reads may take what was sent to it.
_LAST_WORDS: Final = 0.5
# How long closing waits at least for the reader to let go.
_GRACE: Final = 0.5
_EOF: Final = Ending(EndKind.EOF, "the client closed our stdin")
_UNREAD: Final = Ending(EndKind.BROKEN, "the client no longer reads our stdout")
_CLOSED: Final = Ending(EndKind.CLOSED, "the connection was closed")


@dataclass(frozen=True, slots=True)
class Linger:
    """What to do at the end of stdin, which is not the end of stdout: requests may still be answered.

    ``on_eof`` is called once, on the reader's thread, after everything that came before was handed out. The
    end of the wire is then told when it is closed, when nobody reads stdout any more, or after ``seconds``.
    """

    on_eof: Callable[[], object]
    seconds: float


class OwnStdioWire:
    """A wire over two descriptors that may block and may be shared. The reading state is the reader thread's.

    ``_reading`` keeps the descriptors open while the reader looks at them; once ``_ending`` is set the reader
    leaves them alone, and whoever closes the wire may close them.
    """

    def __init__(
        self, ends: WireEnds, framer: Framer, *, high_water: int, linger: Linger | None = None
    ) -> None:
        """Takes the descriptors over."""
        self._stdin, self._stdout, self._bell = ends.stdin, ends.stdout, ends.bell
        self._framer = framer
        self._linger = linger
        self._writer = PipeWriter(ends.stdout, high_water, ends.bell.ring, PatientWrite(ends.stdout))
        self._stdin_tells_end, self._stdout_tells_end = _tells_end(ends.stdin), _tells_end(ends.stdout)
        self._poller = select.poll()
        self._poller.register(ends.stdin, select.POLLIN)
        self._watch_end(self._poller)
        self._reading = threading.Lock()
        self._closing = threading.Lock()
        self._ending: Ending | None = None
        self._freed = False
        self._close_asked = False
        self._readable = False
        self._cause: Ending | None = None  # why nothing more will be read
        self._last_frames: list[bytes] = []
        self._bytes_in = 0
        self._frames_in = 0
        inheritance.remember(self)

    # -- the reader thread

    def wait(self) -> None:
        with self._reading:
            while not self._has_frames() and not self._readable:
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
            self._ending = self._ending or self._complete(_CLOSED)
        if self._ending is not None:
            raise WireEnded(self._ending)
        if self._framer.ready or self._last_frames:
            return True
        if self._cause is None and self._writer.broken:
            self._cause = _UNREAD
        if self._cause is not None:
            self._conclude(self._cause)
        return bool(self._last_frames)

    def _look(self, events: list[tuple[int, int]]) -> None:
        """Find out what woke us, without reading."""
        found = {fd for fd, _ in events}
        if self._stdin in found and not self._at_end():
            self._readable = True
        elif self._stdout in found:
            self._cause = _UNREAD
        elif self._stdin in found:
            self._cause = _EOF

    def _at_end(self) -> bool:
        """Whether nothing is left to read. Of a file or a terminal only reading tells."""
        # A socket whose peer will write no more looks as if there were something.
        return self._stdin_tells_end and not waiting_bytes(self._stdin)

    def _receive(self) -> None:
        if not self._readable:
            # The descriptor blocks: it is not read unless there is something.
            self._look(self._poller.poll(0))
        if not self._readable:
            return
        self._readable = False
        try:
            chunk = os.read(self._stdin, READ_BYTES)
        except BlockingIOError:
            return
        except OSError as error:
            self._cause = Ending(EndKind.BROKEN, f"reading our stdin failed: {str(error.strerror).lower()}")
            return
        if not chunk:
            self._cause = _EOF
            return
        self._bytes_in += len(chunk)
        try:
            self._framer.feed(chunk)
        except FrameOverflow as fault:
            self._cause = Ending(EndKind.OVERSIZED, f"the client sent {fault}")
        except FramingError as fault:
            self._cause = Ending(EndKind.BROKEN, f"the client broke the framing: {fault}")

    def _conclude(self, cause: Ending) -> None:
        """Everything was handed out: end, unless a last line without newline is left."""
        if cause is _EOF:
            if rest := self._framer.rest():
                self._last_frames = [rest]
                return
            self._stay()
        self._say_last_words(Deadline.after(_LAST_WORDS))
        self._ending = self._complete(cause)
        raise WireEnded(self._ending)

    def _stay(self) -> None:
        """Let the answers be written to those requests that came before the end of stdin."""
        if self._linger is not None:
            self._linger.on_eof()
            poller = select.poll()
            self._watch_end(poller)
            poller.poll(self._linger.seconds * 1000)

    def _watch_end(self, poller: select.poll) -> None:
        """Have the poller wake when the wire is closed or nobody reads stdout any more."""
        poller.register(self._bell.fd, select.POLLIN)
        if self._stdout_tells_end:
            # Errors are always told; when there is room for writing does not matter here.
            poller.register(self._stdout, 0)

    # -- any thread

    def send(self, frame: bytes, token: int | None) -> SendVerdict:
        return self._writer.send(self._framer.wrap(frame), token)

    def flush(self, deadline: Deadline) -> bool:
        return self._writer.flush(deadline)

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
        """As the contract says; what was sent is written first, if the client takes it soon.

        The standard descriptors stay as they are. Given back, they would let a handler that still runs print
        into the pipe, and hide the end from the client, who sees it only when nobody holds the pipe.
        """
        self._say_last_words(Deadline.after(min(_LAST_WORDS, deadline.remaining())))
        self._close_asked = True
        if self._closing.acquire(timeout=deadline.remaining()):
            try:
                if not self._freed:
                    self._bell.ring()
                    self._end_reading(deadline)
                    self._free()
            finally:
                self._closing.release()
        return self._ending or self._complete(_CLOSED)

    def forget(self) -> None:
        # The descriptors are closed where they are counted.
        self._close_asked = self._freed = True

    def _say_last_words(self, deadline: Deadline) -> None:
        if self._writer.backlog_bytes:
            self._writer.flush(deadline)

    def _complete(self, ending: Ending) -> Ending:
        return replace(ending, unsent=self._writer.end())

    # -- whoever closes

    def _end_reading(self, deadline: Deadline) -> None:
        """Make sure that the reader touches no descriptor any more."""
        held = self._reading.acquire(timeout=max(deadline.remaining(), _GRACE))
        self._ending = self._ending or self._complete(_CLOSED)
        if held:
            self._reading.release()

    def _free(self) -> None:
        self._writer.end()
        self._writer.close()
        self._bell.close()
        close_quietly(self._stdin)
        inheritance.release(self)
        self._freed = True


def _tells_end(fd: int) -> bool:
    """Whether there is somebody at the other end, whose leaving can be seen."""
    mode = os.fstat(fd).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
