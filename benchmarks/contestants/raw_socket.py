"""raw over HTTP: the same requests written to a socket in the caller's own thread, and no library at all."""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

from benchmarks.contestants.blocking import Blocking
from benchmarks.contestants.contract import Contestant
from benchmarks.contestants.post import body_of, headers_of, text_in

_READ_BYTES: Final = 64 * 1024
_LENGTH: Final = b"Content-Length: "
_LAST_CHUNK: Final = b"\r\n0\r\n\r\n"


class RawSocket:
    """One connection. It understands this one server's responses, and not a byte more."""

    def __init__(self, address: SplitResult) -> None:
        self._address = address
        self._socket = socket.create_connection((address.hostname, address.port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def call(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """Write in one piece, and read until the response is complete."""
        body = body_of(tool, arguments)
        fields = "".join([f"{name}: {value}\r\n" for name, value in headers_of(tool).items()])
        first = f"POST {self._address.path} HTTP/1.1\r\nHost: {self._address.netloc}\r\n"
        self._socket.sendall(f"{first}{fields}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        received = self._read()
        while not _is_complete(received):
            received += self._read()
        return text_in(_body(received))

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def _read(self) -> bytes:
        if chunk := self._socket.recv(_READ_BYTES):
            return chunk
        raise ConnectionError("the server closed the connection")


def _is_complete(received: bytes) -> bool:
    head, found, body = received.partition(b"\r\n\r\n")
    if not found:
        return False
    _, counted, rest = head.partition(_LENGTH)
    return len(body) == int(rest.split(b"\r\n")[0]) if counted else received.endswith(_LAST_CHUNK)


def _body(received: bytes) -> bytes:
    body = received.partition(b"\r\n\r\n")[2]
    # Of a stream there is one chunk between the line with its size and the last one.
    return body if body.startswith(b"{") else body.partition(b"\r\n")[2].removesuffix(_LAST_CHUNK)


@contextmanager
def open_raw_socket(url: str) -> Iterator[Contestant]:
    """Connections are made when all others are in use, and kept."""
    address = urlsplit(url)
    idle: deque[RawSocket] = deque()

    def call(tool: str, arguments: Mapping[str, Any]) -> str:
        try:
            connection = idle.pop()
        except IndexError:
            connection = RawSocket(address)
        text = connection.call(tool, arguments)
        idle.append(connection)
        return text

    try:
        yield Blocking(call)
    finally:
        for connection in idle:
            connection.close()
