"""Peers for the law suite: the other end of each transport, played by the test."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import socket
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from mcp_actors.protocol.endings import EndKind, Ending
from mcp_actors.protocol.framing import FramingName, LineFramer
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.testing import Peer
from mcp_actors.transports.contract import SendVerdict, Transport, Wire, WireEnded, WireStats
from mcp_actors.transports.memory import MemoryEnd, MemoryTransport
from mcp_actors.transports.stdio.transport import StdioTransport

LIMIT = 2 * 1024 * 1024
HIGH_WATER = 256 * 1024
PROCESS = Path(__file__).with_name("peer_process.py")


class MemoryPeer:
    """A host that plays the peer on the newest wire."""

    def __init__(self) -> None:
        self._end: MemoryEnd | None = None

    def accept(self, end: MemoryEnd) -> None:
        self._end = end

    @property
    def end(self) -> MemoryEnd:
        assert self._end is not None
        return self._end

    def receive(self, timeout: float) -> bytes:
        frame = self.end.read(Deadline.after(timeout))
        if frame is None:
            raise TimeoutError("no frame came")
        return frame

    def send(self, frame: bytes) -> None:
        if not self.end.write(frame, Deadline.after(10.0)):
            raise BrokenPipeError("the frame was not taken")

    def close(self) -> None:
        self.end.close()


class ProcessPeer:
    """Plays the peer in a child process, which is told over a socket what to do. Nothing is read unasked."""

    def __init__(self, directory: str) -> None:
        self.address = os.path.join(directory, "control")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self.address)
        self._listener.listen()
        self._listener.settimeout(10.0)
        self._control: socket.socket | None = None
        self._answers = b""

    def receive(self, timeout: float) -> bytes:
        answer = self._ask({"do": "receive"}, timeout)
        return base64.b64decode(answer)

    def send(self, frame: bytes) -> None:
        self._ask({"do": "send", "frame": base64.b64encode(frame).decode()}, 10.0)

    def close(self) -> None:
        self._say({"do": "exit"})
        self._hang_up()

    def shut_down(self) -> None:
        self._hang_up()
        self._listener.close()

    def _ask(self, order: object, timeout: float) -> bytes:
        control = self._say(order)
        control.settimeout(timeout)
        answer = bytearray()
        while not answer.endswith(b"\n"):
            part = control.recv(1 << 20)
            if not part:
                raise BrokenPipeError("the peer process is gone")
            answer += part
        return bytes(answer[:-1])

    def _say(self, order: object) -> socket.socket:
        control = self._newest()
        control.settimeout(10.0)
        control.sendall(json.dumps(order).encode() + b"\n")
        return control

    def _newest(self) -> socket.socket:
        """The control connection of the newest process, waited for if the last one is gone."""
        if self._control is not None and _at_end(self._control):
            self._hang_up()
        if self._control is None:
            self._control, _ = self._listener.accept()
        return self._control

    def _hang_up(self) -> None:
        if self._control is not None:
            self._control.close()
            self._control = None


def _at_end(control: socket.socket) -> bool:
    control.settimeout(0)
    try:
        return not control.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    except OSError:
        return True


@contextlib.contextmanager
def memory_maker() -> Iterator[tuple[Transport, Peer]]:
    peer = MemoryPeer()
    yield MemoryTransport(peer, max_frame_bytes=LIMIT, high_water=HIGH_WATER), peer


@contextlib.contextmanager
def stdio_maker(framing: FramingName = "line") -> Iterator[tuple[Transport, Peer]]:
    with tempfile.TemporaryDirectory() as directory:
        peer = ProcessPeer(directory)
        command = [sys.executable, "-S", str(PROCESS), peer.address, framing]
        try:
            yield StdioTransport(command, framing=framing, max_frame_bytes=LIMIT, high_water=HIGH_WATER), peer
        finally:
            peer.shut_down()


class SocketWire:
    """A wire as a user may write one: a socket pair, line framing, no thread of its own."""

    def __init__(self, line: socket.socket) -> None:
        line.setblocking(False)
        self._line = line
        self._framer = LineFramer(LIMIT)
        self._backlog = b""
        self._ending: Ending | None = None
        self._counts = [0, 0, 0, 0]
        self._gone = False

    def wait(self) -> None:
        if self._framer.ready:
            return
        if self._ending is not None:
            raise WireEnded(self._ending)
        select.select([self._line], [], [])
        if not self._peek():
            self._ending = self._ending or Ending(EndKind.EOF, "the peer closed the socket")
            raise WireEnded(self._ending)

    def read(self, limit: int | None) -> list[bytes]:
        if not self._framer.ready:
            self._receive()
        frames = self._framer.frames(limit)
        self._counts[2] += len(frames)
        if not frames and self._ending is not None:
            raise WireEnded(self._ending)
        return frames

    def send(self, frame: bytes, token: int | None) -> SendVerdict:
        del token
        if self._gone or self._ending is not None:
            return SendVerdict.CLOSED
        if self._backlog and len(self._backlog) + len(frame) > HIGH_WATER:
            return SendVerdict.BUSY
        self._backlog += self._framer.wrap(frame)
        self._counts[3] += 1
        return SendVerdict.SENT if self._write() else SendVerdict.QUEUED

    def flush(self, deadline: Deadline) -> bool:
        while not self._write():
            if not select.select([], [self._line], [], deadline.remaining())[1]:
                return False
        return True

    def close(self, deadline: Deadline) -> Ending:
        del deadline
        self._ending = self._ending or Ending(EndKind.CLOSED, "we closed the socket")
        if not self._gone:
            self._gone = True
            # Wakes the reader, which close() alone would not; the descriptor goes with the last reference.
            with contextlib.suppress(OSError):
                self._line.shutdown(socket.SHUT_RDWR)
        return self._ending

    def stats(self) -> WireStats:
        bytes_in, bytes_out, frames_in, frames_out = self._counts
        return WireStats(bytes_in, bytes_out, frames_in, frames_out, len(self._backlog))

    def forget(self) -> None:
        self._line.close()

    def _peek(self) -> bool:
        try:
            return bool(self._line.recv(1, socket.MSG_PEEK)) and not self._gone
        except OSError:
            return False

    def _receive(self) -> None:
        with contextlib.suppress(BlockingIOError):
            chunk = self._line.recv(65536)
            self._counts[0] += len(chunk)
            try:
                self._framer.feed(chunk)
            except Exception as error:  # noqa: BLE001 - any fault of the framing ends the wire
                self._ending = Ending(EndKind.OVERSIZED, str(error))

    def _write(self) -> bool:
        with contextlib.suppress(OSError):
            written = self._line.send(self._backlog) if self._backlog else 0
            self._counts[1] += written
            self._backlog = self._backlog[written:]
        return not self._backlog or self._gone
