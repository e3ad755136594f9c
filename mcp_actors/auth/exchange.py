"""One HTTP request and its bounded answer, over requests; the one file of this package that knows it."""

from __future__ import annotations

import contextlib
import http.client
import socket
from collections.abc import Callable
from typing import Any, Final, cast

import requests
import urllib3
from requests.adapters import HTTPAdapter

from mcp_actors.auth.addresses import Reach, reach_of_address
from mcp_actors.auth.outgoing import Answer, Outgoing

__all__ = ["MAX_BODY", "Line", "Refused", "Unreachable", "exchange"]

#: More than any metadata document or token answer needs.
MAX_BODY: Final = 64 * 1024
_CHUNK: Final = 4096


class Unreachable(Exception):
    """No whole answer came. The text says why, in few words."""


class Refused(Exception):
    """We did not want the answer: an address out of bounds, or a body above the limit."""


class Line:
    """The connection of one exchange, held so that another thread can cut it. Any thread."""

    def __init__(self, allowed: Callable[[Reach], bool]) -> None:
        self._allowed = allowed
        self._socket: socket.socket | None = None
        self._cut = False

    def check(self, connection: socket.socket) -> None:
        """Refuse a peer out of bounds. After connecting: DNS may say one thing now and another then."""
        peer = str(connection.getpeername()[0])
        if not self._allowed(reach_of_address(peer)):
            connection.close()
            raise Refused(f"it is at {peer}, inside a network that its server has no business with")

    def hold(self, connection: socket.socket) -> None:
        """From now on this is what ``cut`` ends."""
        self._socket = connection
        if self._cut:
            self.cut()

    def cut(self) -> None:
        """End the exchange; a thread that reads or writes it fails at once."""
        # The flag first: hold() looks at it after it has stored its socket, so one of the two sees the other.
        self._cut = True
        connection = self._socket
        if connection is not None:
            # Not the TLS socket's own shutdown, which takes the session away under the reader.
            with contextlib.suppress(OSError):
                socket.socket.shutdown(connection, socket.SHUT_RDWR)


def exchange(outgoing: Outgoing, line: Line) -> Answer:
    """Send the request, follow no redirect, and read the answer up to the limit.

    Raises:
        Unreachable: no answer, or not a whole one.
        Refused: the address or the size of the answer is out of bounds.
    """
    try:
        with requests.Session() as session:
            # Without it requests would look for a password in ~/.netrc; proxies it shall take from there.
            session.auth = _no_authentication
            session.mount("https://", _Adapter(line))
            session.mount("http://", _Adapter(line))
            with _sent(session, outgoing) as response:
                headers = {name.lower(): value for name, value in response.headers.items()}
                return Answer(response.status_code, headers, _body(response))
    except (requests.RequestException, urllib3.exceptions.HTTPError, OSError, ValueError) as error:
        raise Unreachable(_reason(error)) from error


def _sent(session: requests.Session, outgoing: Outgoing) -> requests.Response:
    return session.request(
        outgoing.method,
        outgoing.url,
        # Compressed answers could be small here and huge a moment later.
        headers={"accept-encoding": "identity", "user-agent": "mcp-actors", **outgoing.headers},
        data=outgoing.body,
        timeout=outgoing.timeout,
        allow_redirects=False,
        stream=True,
        verify=outgoing.verify,
        proxies=dict(outgoing.proxies) if outgoing.proxies else None,
    )


def _no_authentication(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request


def _body(response: requests.Response) -> bytes:
    held = bytearray()
    for chunk in response.iter_content(_CHUNK):
        held += chunk
        if len(held) > MAX_BODY:
            raise Refused(f"its answer is larger than {MAX_BODY} bytes")
    return bytes(held)


class _Adapter(HTTPAdapter):
    """Gives every connection of its one exchange into the hands of the line."""

    def __init__(self, line: Line) -> None:
        self._line = line
        super().__init__(max_retries=0)

    # Any: the pools and connections of urllib3 pass through requests untyped.
    def get_connection_with_tls_context(self, *args: Any, **options: Any) -> Any:
        pool: Any = super().get_connection_with_tls_context(*args, **options)
        pool.ConnectionCls = _held(pool.ConnectionCls, self._line, direct=pool.proxy is None)
        return pool


def _held(kind: Any, line: Line, *, direct: bool) -> Any:
    def _new_conn(self: Any) -> socket.socket:
        connection: socket.socket = kind._new_conn(self)
        if direct:
            line.check(connection)
        line.hold(connection)
        return connection

    def connect(self: Any) -> None:
        kind.connect(self)
        # TLS has put a new socket around the first.
        line.hold(self.sock)

    members = {"_new_conn": _new_conn, "connect": connect, "response_class": _Response}
    return type("HeldConnection", (kind,), members)


class _Response(http.client.HTTPResponse):
    """Reads no chunk of less than nothing: taken at its word, it is all there is."""

    def _safe_read(self, amt: int) -> bytes:
        if amt < 0:
            raise http.client.IncompleteRead(b"")
        return cast("bytes", super()._safe_read(amt))  # type: ignore[misc]


def _reason(error: BaseException) -> str:
    """The innermost cause in a few words: what requests says itself repeats the request."""
    seen: set[int] = set()
    while id(error) not in seen:
        seen.add(id(error))
        inner = getattr(error, "reason", None) or error.__cause__ or error.__context__
        if not isinstance(inner, BaseException):
            break
        error = inner
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return f"{type(error).__name__}: {error}"[:200]
