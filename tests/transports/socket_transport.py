"""A transport as a user may write one, over a socket pair: proof that the contract suffices."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
from collections.abc import Iterator

from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.protocol.framing import FrameOverflow, LineFramer
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.testing import Peer
from mcp_actors.transports.contract import SendVerdict, Transport, WireEnded, WireStats
from tests.transports.peers import HIGH_WATER, LIMIT


class SocketWire:
    """Lines over a socket. ``_reading`` is held by the reader thread, ``_writing`` by whoever writes."""

    def __init__(self, line: socket.socket) -> None:
        line.setblocking(False)
        self._line = line
        self._framer = LineFramer(LIMIT)
        self._reading = threading.Lock()
        self._writing = threading.Lock()
        self._backlog = b""
        self._ending: Ending | None = None
        self._bytes_in = self._bytes_out = self._frames_in = self._frames_out = 0

    def wait(self) -> None:
        with self._reading:
            if self._framer.ready:
                return
            if self._ending is None:
                select.select([self._line], [], [])
            if self._ending is None and not self._peek():
                self._ending = Ending(EndKind.EOF, "the peer closed the socket")
            if self._ending is not None:
                raise WireEnded(self._ending)

    def read(self, limit: int | None) -> list[bytes]:
        with self._reading:
            if not self._framer.ready and self._ending is None:
                self._receive()
            frames = self._framer.frames(limit)
            if not frames and self._ending is not None:
                raise WireEnded(self._ending)
            self._frames_in += len(frames)
            return frames

    def send(self, frame: bytes, token: int | None) -> SendVerdict:
        del token
        with self._writing:
            if self._ending is not None:
                return SendVerdict.CLOSED
            if self._backlog and len(self._backlog) + len(frame) > HIGH_WATER:
                return SendVerdict.BUSY
            self._backlog += self._framer.wrap(frame)
            self._frames_out += 1
            return SendVerdict.SENT if self._write() else SendVerdict.QUEUED

    def flush(self, deadline: Deadline) -> bool:
        with self._writing:
            if self._ending is not None or self._write():
                return True
        select.select([], [self._line], [], deadline.remaining())
        return False

    def close(self, deadline: Deadline) -> Ending:
        del deadline
        self._ending = self._ending or Ending(EndKind.CLOSED, "we closed the socket")
        # Closing alone would not wake the reader.
        with contextlib.suppress(OSError):
            self._line.shutdown(socket.SHUT_RDWR)
        with self._reading, self._writing:
            self._line.close()
        return self._ending

    def stats(self) -> WireStats:
        return WireStats(
            self._bytes_in, self._bytes_out, self._frames_in, self._frames_out, len(self._backlog)
        )

    def forget(self) -> None:
        self._line.close()

    def _peek(self) -> bytes:
        try:
            return self._line.recv(1, socket.MSG_PEEK)
        except ConnectionError:
            return b""

    def _receive(self) -> None:
        chunk = self._line.recv(65536)
        self._bytes_in += len(chunk)
        try:
            self._framer.feed(chunk)
        except FrameOverflow as fault:
            self._ending = Ending(EndKind.OVERSIZED, str(fault))

    def _write(self) -> bool:
        with contextlib.suppress(BlockingIOError, ConnectionError):
            written = self._line.send(self._backlog) if self._backlog else 0
            self._bytes_out += written
            self._backlog = self._backlog[written:]
        return not self._backlog


class SocketTransport:
    """The transport, and the peer at its other end."""

    label = "socketpair"

    def __init__(self) -> None:
        self._peer: socket.socket | None = None
        self._unread = b""

    def open(self, deadline: Deadline) -> SocketWire:
        del deadline
        ours, theirs = socket.socketpair()
        self.close()
        self._peer, self._unread = theirs, b""
        return SocketWire(ours)

    @property
    def peer(self) -> socket.socket:
        assert self._peer is not None
        return self._peer

    def receive(self, timeout: float) -> bytes:
        self.peer.settimeout(timeout)
        parts = [self._unread]
        while b"\n" not in parts[-1]:
            parts.append(self.peer.recv(65536))
        line, _, self._unread = b"".join(parts).partition(b"\n")
        return line

    def send(self, frame: bytes) -> None:
        self.peer.settimeout(10.0)
        self.peer.sendall(frame + b"\n")

    def close(self) -> None:
        if self._peer is not None:
            self._peer.close()


@contextlib.contextmanager
def socket_maker() -> Iterator[tuple[Transport, Peer]]:
    transport = SocketTransport()
    yield transport, transport
    transport.close()
