"""Relay: a host of this process as a server over stdio, by way of a process that passes everything on."""

from __future__ import annotations

import contextlib
import math
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from mcp_actors.runtime.deadline import Deadline
from mcp_actors.transports.channel import Channel
from mcp_actors.transports.contract import HIGH_WATER_BYTES, MAX_FRAME_BYTES, OpenFailed
from mcp_actors.transports.memory import MemoryEnd, MemoryHost
from tests.client.programs import relayed
from tests.client.waiting import BOUND

_FOREVER: Final = Deadline.after(math.inf)
#: For tests of a host in this process: over a memory wire, and over stdio.
over_both_wires = pytest.mark.parametrize("wire", ["memory", "stdio"])


class Relay:
    """Gives ``host`` a wire for each process that connects. One thread admits, two serve each wire."""

    def __init__(self, host: MemoryHost) -> None:
        self._host = host
        self._door = socket.create_server(("127.0.0.1", 0))
        self._links: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._closing = False
        self._run(self._admit)

    @property
    def command(self) -> list[str]:
        """The command of the process."""
        return [sys.executable, "-S", "-E", str(Path(relayed.__file__)), str(self._door.getsockname()[1])]

    def close(self) -> None:
        """Admit nobody any more, and end what there is."""
        self._closing = True
        # Only a connection wakes a thread that waits for one, on every system.
        socket.create_connection(self._door.getsockname(), BOUND).close()
        self._threads[0].join(BOUND)
        for link in self._links:
            _hang_up(link)
        for thread in self._threads:
            thread.join(BOUND)
        for one in (self._door, *self._links):
            one.close()

    def _run(self, work: Callable[..., None], *given: Any) -> None:
        self._threads.append(threading.Thread(target=work, args=given, name="relay", daemon=True))
        self._threads[-1].start()

    def _admit(self) -> None:
        while True:
            link, _ = self._door.accept()
            self._links.append(link)
            if self._closing:
                return
            to_host, from_host = (Channel(MAX_FRAME_BYTES, HIGH_WATER_BYTES) for _ in range(2))
            end = MemoryEnd(from_host, to_host)
            self._run(_pass_to_host, link, end)
            self._run(_pass_from_host, link, end)
            try:
                self._host.accept(MemoryEnd(to_host, from_host))
            except OpenFailed:
                _hang_up(link)


def _pass_to_host(link: socket.socket, end: MemoryEnd) -> None:
    # A process that is killed may leave something unread: then its end of the line is reset, not closed.
    with contextlib.suppress(ConnectionError), link.makefile("rb") as lines:
        for line in lines:
            end.write(line.rstrip(b"\n"), Deadline.after(BOUND))
    end.close()


def _pass_from_host(link: socket.socket, end: MemoryEnd) -> None:
    with contextlib.suppress(ConnectionError):
        while (frame := end.read(_FOREVER)) is not None:
            link.sendall(frame + b"\n")
    _hang_up(link)


def _hang_up(link: socket.socket) -> None:
    # The other side may have been quicker.
    with contextlib.suppress(OSError):
        link.shutdown(socket.SHUT_RDWR)
