"""A client at the other end of a wire over two descriptors that stand for stdin and stdout."""

from __future__ import annotations

import contextlib
import os
import select
import socket
from collections.abc import Callable, Iterator
from typing import Any

from mcp_actors.protocol.framing import FramingName, make_framer
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.testing import Peer
from mcp_actors.transports.contract import Transport, WireEnded
from mcp_actors.transports.own_stdio.transport import OwnStdioTransport
from mcp_actors.transports.own_stdio.wire import OwnStdioWire
from tests.transports.peers import HIGH_WATER, LIMIT

BOUND = 5.0

MakePair = Callable[[], tuple[int, int]]


def socket_pair() -> tuple[int, int]:
    """A connection as some hosts give it to their children instead of a pipe: reading and writing end."""
    ours, theirs = socket.socketpair()
    return ours.detach(), theirs.detach()


class ClientSide:
    """Opens wires, and plays the client of the newest. All descriptors but the wire's are its own."""

    label = "own-stdio"

    def __init__(self, framing: FramingName = "line", pair: MakePair = os.pipe, **options: Any) -> None:
        self._options = {"max_frame_bytes": LIMIT, "high_water": HIGH_WATER, "framing": framing, **options}
        self._pair = pair
        self._fds: list[int] = []

    def open(self, deadline: Deadline) -> OwnStdioWire:
        """A wire over new descriptors."""
        self.close()
        self._framer = make_framer(self._options["framing"], LIMIT)
        stdin, self.to_server = self._pair()
        self.from_server, stdout = self._pair()
        self._fds = [self.to_server, self.from_server]
        # What they become when they are taken over is of no interest, except that they must be closed.
        try:
            return OwnStdioTransport(stdin=stdin, stdout=stdout, **self._options).open(deadline)
        finally:
            os.close(stdin)
            os.close(stdout)

    def receive(self, timeout: float) -> bytes:
        """The next frame from the server."""
        poller = select.poll()
        poller.register(self.from_server, select.POLLIN)
        while not self._framer.ready:
            if not poller.poll(timeout * 1000):
                raise TimeoutError("no frame came")
            chunk = os.read(self.from_server, 1 << 16)
            if not chunk:
                raise EOFError("the server closed its stdout")
            self._framer.feed(chunk)
        return self._framer.frames(1)[0]

    def send(self, frame: bytes) -> None:
        """Send a frame; waits while the server does not read."""
        self.write(make_framer(self._options["framing"], LIMIT).wrap(frame))

    def write(self, data: bytes) -> None:
        """Send bytes."""
        view = memoryview(data)
        while view:
            view = view[os.write(self.to_server, view) :]

    def end_sending(self) -> None:
        """Close the server's stdin only."""
        self._close(self.to_server)

    def end_reading(self) -> None:
        """Close the server's stdout only."""
        self._close(self.from_server)

    def close(self) -> None:
        """Go away."""
        for fd in list(self._fds):
            self._close(fd)

    def _close(self, fd: int) -> None:
        self._fds.remove(fd)
        os.close(fd)


@contextlib.contextmanager
def own_stdio_maker(
    framing: FramingName = "line", pair: MakePair = os.pipe
) -> Iterator[tuple[Transport, Peer]]:
    client = ClientSide(framing, pair)
    yield client, client
    client.close()


@contextlib.contextmanager
def connected(**options: Any) -> Iterator[tuple[OwnStdioWire, ClientSide]]:
    """A wire and its client; both are gone at the end, with all that they had open."""
    before = len(os.listdir("/dev/fd"))
    client = ClientSide(**options)
    wire = client.open(Deadline.after(BOUND))
    try:
        yield wire, client
    finally:
        wire.close(Deadline.after(BOUND))
        client.close()
    assert len(os.listdir("/dev/fd")) == before


def read_to_end(wire: OwnStdioWire) -> tuple[list[bytes], WireEnded]:
    """Everything the client says, and how it ends."""
    frames: list[bytes] = []
    try:
        while True:
            wire.wait()
            frames += wire.read(None)
    except WireEnded as ended:
        return frames, ended
