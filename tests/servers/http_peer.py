"""HttpPeer: an MCP server over plain sockets that tests can script, down to every byte it sends.

It speaks one revision of either era, in JSON or event streams, and is as bad as its handlers make it.
"""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from collections.abc import Callable
from typing import Any, Final

from tests.servers.http_turn import BOUND, Stream, Turn, shut

__all__ = ["META", "STATELESS", "HttpPeer", "Stream", "Turn", "text"]

STATELESS: Final = "2026-07-28"
META: Final = "io.modelcontextprotocol/"

Handler = Callable[[Turn], None]


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
        #: What it answers to whoever names a session that it does not know; 400 with words, as many do.
        self.forgets_with = 404
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
        self._thread.join(BOUND)
        end = time.monotonic() + BOUND
        # Again and again: one that was accepted just now may not be known yet.
        while any(thread.is_alive() for thread in self._threads):
            assert time.monotonic() < end, "a thread of the peer is stuck"
            for sock in list(self._socks):
                shut(sock)
            for thread in self._threads:
                thread.join(0.02)
        self._threads.clear()

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
                words = b'{"jsonrpc":"2.0","error":{"code":-32000,"message":"No valid session ID provided"}}'
                turn.status(self.forgets_with if session else 400, words, "application/json")
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
