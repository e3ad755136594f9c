"""Peers for the law suite: the other end of each transport, played by the test."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import socket
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from mcp_actors.protocol.framing import FramingName
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.testing import Peer
from mcp_actors.transports.contract import Transport
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
        while self._control is None or _at_end(self._control):
            self._hang_up()
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
