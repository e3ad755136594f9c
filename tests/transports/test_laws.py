"""Every transport passes the law suite, and so does one that a user wrote."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from mcp_actors.runtime.deadline import Deadline
from mcp_actors.testing import LAWS, Bench, Maker, Peer, check_law
from mcp_actors.transports.contract import Transport
from tests.transports.peers import LIMIT, SocketWire, memory_maker, stdio_maker

MAKERS: dict[str, Maker] = {
    "memory": memory_maker,
    "stdio-line": stdio_maker,
    "stdio-content-length": partial(stdio_maker, "content-length"),
}


class SocketTransport:
    """A user's own transport, and the peer at its other end."""

    label = "socketpair"

    def __init__(self) -> None:
        self._peer: socket.socket | None = None
        self._unread = b""

    def open(self, deadline: Deadline) -> SocketWire:
        del deadline
        ours, theirs = socket.socketpair()
        if self._peer is not None:
            self._peer.close()
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
        self.peer.close()


@contextlib.contextmanager
def socket_maker() -> Iterator[tuple[Transport, Peer]]:
    transport = SocketTransport()
    yield transport, transport
    transport.close()


@pytest.mark.requirement("transport:contract")
@pytest.mark.requirement("transport:memory")
@pytest.mark.requirement("transport:stdio")
@pytest.mark.requirement("transport:stats")
@pytest.mark.requirement("runtime:permits:active-once")
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("name", MAKERS)
def test_every_transport_keeps_the_laws(name: str, law: Callable[[Bench], None]) -> None:
    check_law(law, MAKERS[name], limit=LIMIT)


@pytest.mark.requirement("transport:custom")
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_a_transport_of_a_user_keeps_the_laws(law: Callable[[Bench], None]) -> None:
    check_law(law, socket_maker, limit=LIMIT)
