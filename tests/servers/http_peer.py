"""HttpPeer: an MCP server over plain sockets that tests can script, down to every byte it sends.

It speaks one revision of either era, in JSON or event streams, and is as bad as its handlers make it.
"""

from __future__ import annotations

import json
import os
import select
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

STATELESS: Final = "2026-07-28"
META: Final = "io.modelcontextprotocol/"
BOUND: Final = 5.0

Handler = Callable[["Turn"], None]


class Stream:
    """An event stream that a test writes to, as long as it likes."""

    def __init__(self, turn: Turn, chunked: bool) -> None:
        self._turn = turn
        self._chunked = chunked

    def send(self, message: Any = None, *, id: str | None = None, retry: int | None = None) -> Stream:  # noqa: A002
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
            self.stream(**headers).answer(result).end()
        else:
            self.json(self.result(result), **headers)

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
        _shut(self.sock)

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


class HttpPeer:
    """Serves every connection on a thread of its own and remembers every request."""

    def __init__(
        self,
        version: str = STATELESS,
        *,
        streams: bool = False,
        sessions: bool = True,
        listens: bool = True,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.version = version
        self.streams = streams
        self.sessions = sessions
        self.listens = listens
        self.capabilities: dict[str, Any] = {"tools": {}, "resources": {}, "prompts": {}, "logging": {}}
        self.tools: list[dict[str, Any]] = [{"name": "echo", "inputSchema": {"type": "object"}}]
        self.heard: list[Turn] = []
        self.open_sessions: set[str] = set()
        self.listening: list[Stream] = []
        self.failures: list[BaseException] = []
        self.handlers: dict[str, Handler] = {}
        self.calls: dict[str, Handler] = {"echo": lambda turn: turn.answer(text(turn.params["arguments"]))}
        self.connections = 0
        self._tls = tls
        self._news = threading.Condition()
        self._next: dict[str, list[Handler]] = {}
        self._socks: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._listen(0)

    # What tests do.

    @property
    def url(self) -> str:
        return f"http{'s' if self._tls else ''}://127.0.0.1:{self.port}/mcp"

    @property
    def modern(self) -> bool:
        return self.version == STATELESS

    def on(self, what: str, handler: Handler) -> None:
        """Handle a method of JSON-RPC, or an HTTP method that carries none, from now on."""
        self.handlers[what] = handler

    def once(self, what: str, *handlers: Handler) -> None:
        """Handle the next ones so, each by one of the handlers."""
        self._next.setdefault(what, []).extend(handlers)

    def turns(self, what: str) -> list[Turn]:
        """Every request of that method so far."""
        return [turn for turn in list(self.heard) if what in (turn.rpc, turn.method)]

    def await_turns(self, what: str, count: int = 1) -> Turn:
        """Wait until it was heard so often; the last of these."""
        with self._news:
            enough = self._news.wait_for(lambda: len(self.turns(what)) >= count, BOUND)
        assert enough, f"{what} was heard {len(self.turns(what))} times, not {count}"
        return self.turns(what)[count - 1]

    def await_listener(self, count: int = 1) -> Stream:
        """Wait for the stream on which the client listens."""
        with self._news:
            assert self._news.wait_for(lambda: len(self.listening) >= count, BOUND), "nobody listens"
        return self.listening[count - 1]

    def listened(self, stream: Stream) -> None:
        with self._news:
            self.listening.append(stream)
            self._news.notify_all()

    def stop(self) -> None:
        """End as a server that dies: nobody listens any more, and every connection is closed."""
        self._server.close()
        for sock in list(self._socks):
            _shut(sock)
        self._thread.join(BOUND)
        for thread in self._threads:
            thread.join(BOUND)
        assert not any(thread.is_alive() for thread in self._threads), "a thread of the peer is stuck"

    def restart(self) -> None:
        """Come back at the same address, knowing nothing."""
        self.stop()
        self.open_sessions.clear()
        self.listening.clear()
        self._listen(self.port)

    # Inside.

    def _listen(self, port: int) -> None:
        self._server = socket.create_server(("127.0.0.1", port), backlog=128)
        self.port = self._server.getsockname()[1]
        # A closed descriptor does not wake whoever accepts from it.
        self._server.settimeout(0.02)
        self._thread = threading.Thread(target=self._accept, name="http-peer", daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        server = self._server
        while True:
            try:
                sock, _ = server.accept()
            except TimeoutError:
                continue
            except OSError:
                return
            self.connections += 1
            args = (sock, self.connections)
            thread = threading.Thread(target=self._serve, args=args, name="http-peer-turn", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, sock: socket.socket, number: int) -> None:
        sock.settimeout(None)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socks.add(sock)
        try:
            if self._tls is not None:
                self._socks.discard(sock)
                sock = self._tls.wrap_socket(sock, server_side=True)
                self._socks.add(sock)
            with sock.makefile("rb") as reader:
                while (turn := self._read(sock, reader, number)) is not None and not turn.over:
                    pass
        except OSError:
            pass
        except BaseException as error:
            self.failures.append(error)
            raise
        finally:
            self._socks.discard(sock)
            sock.close()

    def _read(self, sock: socket.socket, reader: Any, number: int) -> Turn | None:
        first = reader.readline().decode("latin-1").split()
        if len(first) < 2:
            return None
        headers: dict[str, str] = {}
        while line := reader.readline().strip():
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        turn = Turn(self, sock, number, first[0], first[1], headers)
        if "early" in self.handlers:
            self.handlers["early"](turn)
        if not turn.over:
            turn.body = reader.read(int(headers.get("content-length", 0)))
            turn.message = json.loads(turn.body) if turn.body else None
            self._handle(turn)
        return turn

    def _handle(self, turn: Turn) -> None:
        with self._news:
            self.heard.append(turn)
            self._news.notify_all()
        what = turn.rpc or turn.method
        waiting = self._next.get(what)
        handler = waiting.pop(0) if waiting else self.handlers.get(what)
        (handler or self.serve)(turn)

    def serve(self, turn: Turn) -> None:
        """What a good server does."""
        if not self.modern and turn.rpc not in ("initialize", "server/discover") and self.sessions:
            session = turn.headers.get("mcp-session-id")
            if session not in self.open_sessions:
                turn.status(404 if session else 400)
                return
        match turn.method:
            case "GET":
                self._serve_get(turn)
            case "DELETE" if not self.modern:
                self.open_sessions.discard(turn.headers.get("mcp-session-id", ""))
                turn.status(200)
            case "POST" if isinstance(turn.message, list):
                turn.json([_result(one, text("one of many")) for one in turn.message])
            case "POST" if "id" not in turn.message or "method" not in turn.message:
                turn.status(202)
            case "POST":
                self._serve_request(turn)
            case _:
                turn.status(405)

    def _serve_get(self, turn: Turn) -> None:
        if self.modern or not self.listens:
            turn.status(405)
            return
        self.listened(turn.stream())
        turn.await_end()

    def _serve_request(self, turn: Turn) -> None:
        match turn.rpc:
            case "server/discover" if self.modern:
                turn.answer({"supportedVersions": [self.version], **self._about("io")})
            case "initialize" if not self.modern:
                session = f"session-{len(self.turns('initialize'))}-of-a-test"
                self.open_sessions.add(session)
                headers = {"Mcp_Session_Id": session} if self.sessions else {}
                turn.answer({"protocolVersion": self.version, **self._about()}, **headers)
            case "tools/list":
                turn.answer(self._listing({"tools": self.tools}))
            case "tools/call" if turn.params["name"] in self.calls:
                self.calls[turn.params["name"]](turn)
            case "ping":
                turn.answer({})
            case "resources/read":
                contents = [{"uri": turn.params["uri"], "text": "A"}]
                turn.answer(self._listing({"contents": contents}))
            case _:
                turn.refuse(-32601, f"no {turn.rpc} here", 404 if self.modern else 200)

    def _listing(self, result: dict[str, Any]) -> dict[str, Any]:
        modern = {"resultType": "complete", "ttlMs": 60_000, "cacheScope": "private"}
        return result | (modern if self.modern else {})

    def _about(self, modern: str = "") -> dict[str, Any]:
        info = {"name": "peer", "version": "1"}
        if not modern:
            return {"capabilities": self.capabilities, "serverInfo": info}
        meta = {f"{META}serverInfo": info}
        return self._listing({"capabilities": self.capabilities, "_meta": meta})


def text(value: Any) -> dict[str, Any]:
    """The result of a tool."""
    words = value if isinstance(value, str) else json.dumps(value)
    return {"resultType": "complete", "content": [{"type": "text", "text": words}]}


def _result(request: dict[str, Any], result: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request["id"], "result": result}


def _shut(sock: socket.socket) -> None:
    try:
        socket.socket.shutdown(sock, socket.SHUT_RDWR)
    except OSError:
        pass
