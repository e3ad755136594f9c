"""Turn: one HTTP request to a scripted server, and the means to answer it well or badly."""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import struct
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tests.servers.http_peer import HttpPeer

BOUND: Final = 5.0


class Stream:
    """An event stream that a test writes to, as long as it likes."""

    def __init__(self, turn: Turn, chunked: bool) -> None:
        self._turn = turn
        self._chunked = chunked

    def send(self, message: Any = None, *, id: str | None = None, retry: int | None = None) -> Stream:
        """One event; without a message it has no data."""
        lines = [] if id is None else [f"id: {id}"]
        lines += [] if retry is None else [f"retry: {retry}"]
        lines += [] if message is None else [f"data: {json.dumps(message)}"]
        return self.write(("\n".join(lines) + "\n\n").encode())

    def answer(self, result: Any, **event: Any) -> Stream:
        """The answer to the request that opened the stream."""
        return self.send(self._turn.result(result), **event)

    def notify(self, method: str, **params: Any) -> Stream:
        return self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def write(self, data: bytes) -> Stream:
        self._turn.write(b"%x\r\n%s\r\n" % (len(data), data) if self._chunked else data)
        return self

    def end(self) -> None:
        """In good order; the connection goes on if it can."""
        if self._chunked:
            self._turn.finished = True
            self._turn.write(b"0\r\n\r\n")
        else:
            self._turn.drop()


@dataclass
class Turn:
    """One HTTP request, and the means to answer it."""

    peer: HttpPeer
    sock: socket.socket
    connection: int
    method: str
    path: str
    headers: dict[str, str]
    body: bytes = b""
    message: Any = field(default=None)
    over: bool = False
    finished: bool = False

    @property
    def rpc(self) -> str:
        """The method of the message, empty if it is none."""
        return str(self.message.get("method", "")) if isinstance(self.message, dict) else ""

    @property
    def params(self) -> dict[str, Any]:
        return dict(self.message.get("params") or {})

    def result(self, result: Any) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": self.message["id"], "result": result}

    def write(self, data: bytes) -> None:
        self.sock.sendall(data)

    def status(self, status: int, body: bytes = b"", kind: str | None = None, **headers: str) -> None:
        """A whole response."""
        lines = [f"HTTP/1.1 {status} Whatever", f"Content-Length: {len(body)}"]
        lines += [] if kind is None else [f"Content-Type: {kind}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self.write("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body)

    def json(self, message: Any, status: int = 200, **headers: str) -> None:
        self.status(status, json.dumps(message).encode(), "application/json", **headers)

    def answer(self, result: Any, **headers: str) -> None:
        """The answer, in the way that this peer prefers."""
        if self.peer.streams:
            self.stream(chunked=True, **headers).answer(result).end()
        else:
            self.json(self.result(result), 200, **headers)

    def refuse(self, code: int, message: str, status: int = 200, data: Any = None) -> None:
        error = {"code": code, "message": message} | ({} if data is None else {"data": data})
        self.json({"jsonrpc": "2.0", "id": self.message.get("id"), "error": error}, status)

    def stream(self, *, chunked: bool = True, **headers: str) -> Stream:
        """Begin an event stream."""
        framing = "Transfer-Encoding: chunked" if chunked else "Connection: close"
        lines = ["HTTP/1.1 200 OK", "Content-Type: text/event-stream", framing]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self.write("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n")
        return Stream(self, chunked)

    def drop(self) -> None:
        """Close the connection in good order."""
        self.over = True
        shut(self.sock)

    def reset(self) -> None:
        """Break the connection."""
        self.over = True
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        # Whoever reads from it holds it open otherwise.
        os.close(self.sock.detach())

    def await_end(self) -> None:
        """Wait until the client has closed its side, or a test has ended the stream."""
        end = time.monotonic() + 2 * BOUND
        while not self.finished:
            assert time.monotonic() < end, "the client did not close the connection"
            try:
                readable, _, _ = select.select([self.sock], [], [], 0.01)
                if readable and not self.sock.recv(1):
                    self.over = True
                    return
            except (OSError, ValueError):
                self.over = True
                return


def shut(sock: socket.socket) -> None:
    """Close the connection in both directions, whoever else holds the socket."""
    with contextlib.suppress(OSError):
        socket.socket.shutdown(sock, socket.SHUT_RDWR)
