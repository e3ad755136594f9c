"""A transport of one's own: MCP over TCP, put to the laws, then used by a client."""

from __future__ import annotations

import contextlib
import select
import socket
import subprocess
import threading
from collections.abc import Iterator

from mcp_actors import Client
from mcp_actors.cli.demo_server import COMMAND
from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.protocol.framing import FramingError, LineFramer
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.testing import check_transport
from mcp_actors.transports.contract import OpenFailed, SendVerdict, WireEnded, WireStats

LIMIT = 1024 * 1024
HIGH_WATER = 256 * 1024


class TcpWire:
    """One connected socket. Only `wait` blocks, and no thread is needed but the library's reader."""

    def __init__(self, line: socket.socket) -> None:
        line.setblocking(False)
        self._line = line
        # Held by the reader while it uses the descriptor, so that nobody closes it under its hands.
        self._reading = threading.Lock()
        self._framer = LineFramer(LIMIT)
        self._unwritten = b""
        self._ending: Ending | None = None
        self._bytes_in = self._bytes_out = self._frames_in = self._frames_out = 0

    def wait(self) -> None:
        with self._reading:
            if self._framer.ready:
                return
            if self._ending is None:
                select.select([self._line], [], [])
            if self._ending is None and not self._readable():
                self._ending = Ending(EndKind.EOF, "the peer closed the connection")
            if self._ending is not None:
                raise WireEnded(self._ending)

    def read(self, limit: int | None) -> list[bytes]:
        with self._reading:
            if not self._framer.ready and self._ending is None:
                self._receive()
            frames = self._framer.frames(limit)
            self._frames_in += len(frames)
            if not frames and self._ending is not None:
                raise WireEnded(self._ending)
            return frames

    def send(self, frame: bytes, token: int | None) -> SendVerdict:
        del token  # names the frame in Ending.unsent, for wires that know what was not written
        if self._ending is not None:
            return SendVerdict.CLOSED
        if self._unwritten and len(self._unwritten) + len(frame) > HIGH_WATER:
            return SendVerdict.BUSY
        self._unwritten += self._framer.wrap(frame)
        self._frames_out += 1
        return SendVerdict.SENT if self._write() else SendVerdict.QUEUED

    def flush(self, deadline: Deadline) -> bool:
        while not self._write():
            if not select.select([], [self._line], [], deadline.remaining())[1]:
                return False
        return True

    def close(self, deadline: Deadline) -> Ending:
        del deadline
        if self._ending is None:
            self._ending = Ending(EndKind.CLOSED, "the connection was closed")
        # Shutting down wakes the reader, which closing the descriptor would not.
        with contextlib.suppress(OSError):
            self._line.shutdown(socket.SHUT_RDWR)
        with self._reading:
            self._line.close()
        return self._ending

    def stats(self) -> WireStats:
        counts = (self._bytes_in, self._bytes_out, self._frames_in, self._frames_out)
        return WireStats(*counts, backlog_bytes=len(self._unwritten))

    def forget(self) -> None:
        self._line.close()

    def _readable(self) -> bool:
        try:
            return bool(self._line.recv(1, socket.MSG_PEEK))
        except OSError:
            return False

    def _receive(self) -> None:
        try:
            chunk = self._line.recv(64 * 1024)
            self._bytes_in += len(chunk)
            self._framer.feed(chunk)
        except BlockingIOError:
            return
        except FramingError as error:
            self._ending = Ending(EndKind.OVERSIZED, str(error))
        except OSError as error:
            self._ending = Ending(EndKind.BROKEN, f"reading failed: {error.strerror}")

    def _write(self) -> bool:
        """True when nothing is left to write, or nothing more can be written: the reader sees that end."""
        try:
            written = self._line.send(self._unwritten) if self._unwritten else 0
        except BlockingIOError:
            return False
        except OSError:
            written = len(self._unwritten)
        self._bytes_out += written
        self._unwritten = self._unwritten[written:]
        return not self._unwritten


class TcpTransport:
    """Reaches a server that listens on a TCP port."""

    def __init__(self, host: str, port: int) -> None:
        self._address = (host, port)
        self.label = f"tcp://{host}:{port}"

    def open(self, deadline: Deadline) -> TcpWire:
        try:
            return TcpWire(socket.create_connection(self._address, timeout=deadline.remaining()))
        except OSError as error:
            reason = f"cannot connect to {self.label}: {error.strerror or error}"
            raise OpenFailed(Ending(EndKind.REFUSED, reason)) from error


class Peer:
    """Plays the server for the law suite: follows the newest connection, reads only when told to."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._line: socket.socket | None = None
        self._unread = b""

    def receive(self, timeout: float) -> bytes:
        line = self._newest()
        line.settimeout(timeout)
        parts = [self._unread]
        while b"\n" not in parts[-1]:
            parts.append(line.recv(65536))
        frame, _, self._unread = b"".join(parts).partition(b"\n")
        return frame

    def send(self, frame: bytes) -> None:
        line = self._newest()
        line.settimeout(10.0)
        line.sendall(frame + b"\n")

    def close(self) -> None:
        self._newest().close()

    def hang_up(self) -> None:
        if self._line is not None:
            self._line.close()

    def _newest(self) -> socket.socket:
        waiting, _, _ = select.select([self._listener], [], [], 0 if self._line else 10.0)
        if waiting:
            self.hang_up()
            self._line, self._unread = self._listener.accept()[0], b""
        assert self._line is not None
        return self._line


@contextlib.contextmanager
def maker() -> Iterator[tuple[TcpTransport, Peer]]:
    """A transport and the peer at its other end, for one law."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        peer = Peer(listener)
        try:
            yield TcpTransport(*listener.getsockname()), peer
        finally:
            peer.hang_up()


def serve(listener: socket.socket) -> None:
    """One connection: a server process that reads from and writes to the socket."""
    line, _ = listener.accept()
    with line:
        ends = line.fileno()
        subprocess.run(COMMAND, stdin=ends, stdout=ends, stderr=subprocess.DEVNULL, check=True)


def main() -> None:
    check_transport(maker, limit=LIMIT)
    print("all laws hold")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=serve, args=(listener,))
        server.start()
        with Client.connect(transport=TcpTransport(*listener.getsockname())) as client:
            print(f"over TCP: 2 + 3 = {client.call_tool('add', {'a': 2, 'b': 3}).text}")
        server.join(5.0)


if __name__ == "__main__":
    main()
