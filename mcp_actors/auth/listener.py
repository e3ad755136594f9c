"""The loopback address to which the browser brings the answer to a login."""

from __future__ import annotations

import hmac
import http.server
import socket
import socketserver
import threading
from typing import Any, Final
from urllib.parse import urlsplit

from mcp_actors.auth.redirect import state_of
from mcp_actors.auth.urls import shown
from mcp_actors.errors import AuthorizationFailed
from mcp_actors.runtime.slot import Slot
from mcp_actors.transports.inheritance import release, remember

__all__ = ["Listener", "listener_for"]

_PATH: Final = "/callback"
_POLL: Final = 0.05
_CONNECTION_SECONDS: Final = 5.0
_MAX_CONNECTIONS: Final = 16
_JOIN_SECONDS: Final = 2.0
_PAGE: Final = """<!doctype html><html lang="en"><meta charset="utf-8"><title>{0}</title>
<body style="font-family: sans-serif; margin: 4em"><h1>{0}</h1><p>{1}</p></body></html>"""
_DONE: Final = _PAGE.format("Done", "You may close this window and go back to the program.").encode()
_STRANGE: Final = _PAGE.format("Not expected", "This page does not belong to the login under way.").encode()


class Listener:
    """Listens on this machine alone. Made and closed by the thread of one login."""

    def __init__(self, redirect_uri: str | None = None) -> None:
        """Raises ``OSError`` if the address is taken."""
        parts = urlsplit(redirect_uri or f"http://127.0.0.1:0{_PATH}")
        self._state = ""
        self._path = parts.path or "/"
        self._answer: Slot[Any] = Slot()
        # Never the name "localhost", which could be anything: an address that is this machine.
        host = parts.hostname or ""
        literal = ":" in host or host.replace(".", "").isdigit()
        self._server = _Server(
            (host if literal else "127.0.0.1", 80 if parts.port is None else parts.port), self
        )
        self.redirect_uri = redirect_uri or f"http://127.0.0.1:{self._server.server_address[1]}{_PATH}"
        self._thread: threading.Thread | None = None
        # In a forked child nobody answers, and its copy would keep the address.
        remember(self)

    def listen(self, state: str, answer: Slot[Any]) -> None:
        """From now on hand the URL with this ``state`` to ``answer``. No other visitor can end the login."""
        self._state, self._answer = state, answer
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_POLL,), name="mcp-actors-auth-listener", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Free the address; bounded, idempotent."""
        if self._thread is not None:
            self._server.shutdown()
            self._thread.join(_JOIN_SECONDS)
            self._thread = None
        release(self)
        self._server.server_close()

    def forget(self) -> None:
        """See `Inherited`."""
        self._server.socket.close()

    def awaits(self, target: str) -> bool:
        """Whether the login waits for a browser that asks for ``target``. Threads of the server."""
        state = (state_of(target) or "").encode()
        return urlsplit(target).path == self._path and hmac.compare_digest(state, self._state.encode())

    def hand_over(self, target: str) -> None:
        """The browser was told that all is well. Threads of the server."""
        self._answer.set(target)


class _Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    # A browser opens connections in advance and says nothing on them: closing must not wait for those.
    block_on_close = False
    request_queue_size = _MAX_CONNECTIONS

    def __init__(self, address: tuple[str, int], listener: Listener) -> None:
        self.listener = listener
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self._open: dict[Any, None] = {}
        super().__init__(address, _Visit)

    def server_bind(self) -> None:
        # Not HTTPServer's own, which asks DNS for the name of this machine.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "localhost", int(self.server_address[1])

    def verify_request(self, request: Any, client_address: Any) -> bool:  # noqa: ARG002
        return len(self._open) < _MAX_CONNECTIONS

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        self._open[request] = None
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._open.pop(request, None)

    def server_close(self) -> None:
        super().server_close()
        for connection in list(self._open):
            self.shutdown_request(connection)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that goes away is nobody's fault, and nothing is printed about it."""


class _Visit(http.server.BaseHTTPRequestHandler):
    server: _Server
    timeout = _CONNECTION_SECONDS
    server_version, sys_version = "mcp-actors", ""

    def do_GET(self) -> None:
        listener = self.server.listener
        if not listener.awaits(self.path):
            self._say(404, _STRANGE)
            return
        try:
            # The page first: with the answer the login ends, and closes what is open.
            self._say(200, _DONE)
        finally:
            listener.hand_over(self.path)

    def _say(self, status: int, page: bytes) -> None:
        self.send_response(status)
        # The address holds the code: it shall not stay in caches nor travel on to other sites.
        for name, value in (
            ("content-type", "text/html; charset=utf-8"),
            ("content-length", str(len(page))),
            ("cache-control", "no-store"),
            ("referrer-policy", "no-referrer"),
            ("connection", "close"),
        ):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, *_args: Any) -> None:
        """The request line holds the code."""


def listener_for(redirect_uri: str | None, kept: str | None) -> Listener:
    """A listener at the address given; else at the one registered before, if it is free; else anywhere."""
    try:
        return Listener(redirect_uri or kept)
    except OSError as error:
        if redirect_uri is not None:
            raise AuthorizationFailed(
                f"nothing can listen at {shown(redirect_uri)} for the end of the login: {error.strerror}"
            ) from error
        return Listener()
