"""A Streamable HTTP server that costs next to nothing: keep-alive, both eras, one thread, plain sockets.

Usage: python -m benchmarks.servers.http_echo_server [modern|legacy] [core]. The eras, the core and the tools
are those of `echo_server`. The port goes to stdout; it serves until stdin, which must be a pipe, ends.

A request posted to ``/json`` is answered with JSON, one to ``/sse`` with an event stream of one event. A
notification is accepted; there is no session, and so nothing to GET or DELETE.
"""

from __future__ import annotations

import os
import selectors
import socket
import sys
from functools import lru_cache
from typing import Final

from benchmarks.servers.echo_server import EchoServer

HOST: Final = "127.0.0.1"

_READ_BYTES: Final = 64 * 1024
_BACKLOG: Final = 128
_JSON: Final = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
# Without a length, as no server knows in advance what it will stream; the chunk after the event is the last.
_EVENTS: Final = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n"
)
_EVENT: Final = b"event: message\ndata: %b\n"
_ACCEPTED: Final = b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"
_NOT_FOUND: Final = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
_NOT_ALLOWED: Final = b"HTTP/1.1 405 Method Not Allowed\r\nAllow: POST\r\nContent-Length: 0\r\n\r\n"


class HttpEchoServer:
    """Waits for all its connections at once; writes with blocking calls, for whoever asked is reading."""

    def __init__(self, echo: EchoServer) -> None:
        self._echo = echo
        self._selector = selectors.DefaultSelector()
        self._listener = socket.create_server((HOST, 0), backlog=_BACKLOG)
        self.port: int = self._listener.getsockname()[1]

    def serve(self) -> None:
        """Answer until stdin ends."""
        self._selector.register(self._listener, selectors.EVENT_READ, self._accept)
        self._selector.register(sys.stdin, selectors.EVENT_READ)
        while True:
            for key, _ in self._selector.select():
                if key.data is None:
                    return
                key.data()

    def _accept(self) -> None:
        sock, _ = self._listener.accept()
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        rest = b""

        def hear() -> None:
            nonlocal rest
            try:
                chunk = sock.recv(_READ_BYTES)
                answers, rest = self._answers(rest + chunk)
                sock.sendall(answers)
            except ConnectionError:
                chunk = b""
            if not chunk:
                self._selector.unregister(sock)
                sock.close()

        self._selector.register(sock, selectors.EVENT_READ, hear)

    def _answers(self, received: bytes) -> tuple[bytes, bytes]:
        """The responses to all complete requests, and what is left for the next time."""
        answers = []
        while (end := received.find(b"\r\n\r\n")) >= 0:
            method, path, length = _parse(received[:end])
            body_ends = end + 4 + length
            if len(received) < body_ends:
                break
            answers.append(self._answer(method, path, received[end + 4 : body_ends]))
            received = received[body_ends:]
        return b"".join(answers), received

    def _answer(self, method: bytes, path: bytes, body: bytes) -> bytes:
        if path not in (b"/json", b"/sse"):
            return _NOT_FOUND
        if method != b"POST":
            return _NOT_ALLOWED
        line = self._echo.answer(body)
        if not line:
            return _ACCEPTED
        if path == b"/json":
            return _JSON % (len(line), line)
        event = _EVENT % line
        return _EVENTS % (len(event), event)


# A client that makes the same call again sends the same head again.
@lru_cache(maxsize=1024)
def _parse(head: bytes) -> tuple[bytes, bytes, int]:
    """The method, the path and the length of the body."""
    line, *fields = head.split(b"\r\n")
    method, path, _ = line.split(b" ")
    named = {name.lower(): value for name, _, value in (field.partition(b":") for field in fields)}
    return method, path, int(named.get(b"content-length", b"0"))


def main(arguments: list[str]) -> None:
    """Run on the given core until stdin ends."""
    if len(arguments) > 1:
        os.sched_setaffinity(0, {int(arguments[1])})
    server = HttpEchoServer(EchoServer(modern=arguments[:1] != ["legacy"]))
    print(server.port, flush=True)
    server.serve()


if __name__ == "__main__":
    main(sys.argv[1:])
