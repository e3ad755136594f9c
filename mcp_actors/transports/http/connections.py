"""Connections to one server that can be cut at any moment."""

from __future__ import annotations

import contextlib
import http.client
import io
import os
import socket
import time
import weakref
from typing import Any, Final, cast

from urllib3 import exceptions as trouble
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.util.connection import allowed_gai_family

from mcp_actors.protocol.http.response_head import usual_head
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.transports import inheritance
from mcp_actors.transports.http.grip import Grip, shut

#: How long a connection may be idle and still be used. Many servers close theirs after 5 s, and a request
#: that crosses such an end is lost, without anybody knowing whether it was run.
IDLE_SECONDS: Final = 4.0
#: Of the time that a server says it keeps idle connections, what is left to the way there.
_MARGIN: Final = 1.0
_LONGEST_IDLE: Final = 600.0
#: Up to here a request goes out in one piece.
_ONE_PIECE: Final = 64 * 1024
_ENDS_OF_HEAD: Final = (b"\r\n", b"\n")

#: A stream may be silent for hours. Whether anybody is still there is found out in about a minute, by TCP.
_KEEP_ALIVE: Final[tuple[tuple[int, int, int], ...]] = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *(
        (socket.IPPROTO_TCP, getattr(socket, name), value)
        for name, value in (
            ("TCP_KEEPIDLE", 30),
            ("TCP_KEEPALIVE", 30),
            ("TCP_KEEPINTVL", 10),
            ("TCP_KEEPCNT", 3),
        )
        if hasattr(socket, name)
    ),
)


class _Sockets:
    """Those of this process that a forked child inherits."""

    def __init__(self) -> None:
        self._open: weakref.WeakSet[socket.socket] = weakref.WeakSet()

    def add(self, sock: socket.socket) -> None:
        self._open.add(sock)
        inheritance.remember(self)

    def forget(self) -> None:
        """In a forked child. Closing alone would not do: responses that are being read hold them, too."""
        for sock in list(self._open):
            fd = sock.detach()
            if fd >= 0:
                os.close(fd)


_sockets = _Sockets()


class _HeadLines:
    """What the standard library reads other heads from: their lines, and nothing that only looks like one.

    It would take space at the end of a line for part of the value, a CR inside of one for its end, and the
    end of the connection for that of the head.
    """

    def __init__(self, received: io.BufferedReader) -> None:
        self._received = received
        self.close = received.close

    def readline(self, limit: int) -> bytes:
        line = self._received.readline(limit)
        if len(line) < limit and not line.endswith(b"\n"):
            raise http.client.RemoteDisconnected("the connection ended before the head of the response did")
        words = line.rstrip(b" \t\r\n")
        if not words and line not in _ENDS_OF_HEAD:
            # It goes on with the field before. Without its space it would be the end of them all.
            words = b" "
        return words.replace(b"\r", b" ") + b"\r\n"


class Response(http.client.HTTPResponse):
    """Reads usual heads in one step. It passes over every interim response; the standard library does so for
    100 alone. And it refuses chunks of less than nothing.

    A connection on which more has come than the response, or may come, is not used again: what is left of
    this one must not begin the next.
    """

    #: The fields of the head, in their order.
    fields: list[tuple[str, str]]
    #: Known to be all that has been received: nobody need look for more, which takes its time.
    alone = False

    def __init__(self, sock: Any, *args: Any, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        self._sock = sock

    def begin(self) -> None:
        """Read the head. Once."""
        # What is looked at is read all the same, if it is not a whole head, or an unusual one.
        received = self.fp.peek()
        head = usual_head(received)
        if head is None:
            self._begin_slowly()
            return
        self.fp.read(head.size)
        self.fields = head.fields
        self.headers = self.msg = http.client.HTTPMessage()
        for name, value in head.fields:
            self.headers[name] = value
        self.version, self.status, self.reason = 11, head.status, head.reason
        self.code = head.status
        self.length, self.chunked, self.will_close = head.length, head.chunked, head.closes
        if head.chunked:
            self.chunk_left = None
        self.alone = head.length is not None and head.size + head.length == len(received)

    def _begin_slowly(self) -> None:
        received = self.fp
        self.fp = cast("io.BufferedReader", _HeadLines(received))
        try:
            super().begin()
        finally:
            if self.fp is not None:  # it was not closed
                self.fp = received
        self.fields = self.headers.items()
        # RFC 9112, 6.3: some have no body, whatever their fields say.
        self.chunked = self.chunked and self.length != 0
        self.will_close = self.will_close or self._is_ambiguous()

    def _is_ambiguous(self) -> bool:
        """Whether others could see the end of the response elsewhere, or of the connection."""
        coded, sized = "Transfer-Encoding" in self.headers, "Content-Length" in self.headers
        # RFC 9112, 6.3: a length beside a coding is an error, and without "chunked" only the end is one.
        if coded and (sized or not self.chunked):
            return True
        # The standard library looks at the first of several fields.
        ends = any("close" in value.lower() for value in self.headers.get_all("Connection", ()))
        return ends or self.status == http.client.SWITCHING_PROTOCOLS

    def at_hand(self) -> bytes:
        """What has come and was not read yet. Looks without waiting, and takes nothing."""
        if self.isclosed():
            return b""
        patience = self._sock.gettimeout()
        with contextlib.suppress(OSError):
            try:
                self._sock.settimeout(0.0)
                return self.fp.peek()
            finally:
                self._sock.settimeout(patience)
        return b""

    def _close_conn(self) -> None:
        # Until the head was read, this is not False either.
        if self.will_close is False and not self.alone and self.at_hand():
            shut(_plain(self._sock))
        super()._close_conn()  # type: ignore[misc]

    def _read_status(self) -> tuple[str, int, str]:
        while True:
            status = cast("tuple[str, int, str]", super()._read_status())  # type: ignore[misc]
            if not 102 <= status[1] < 200:
                return status
            http.client.parse_headers(self.fp)

    def _read_next_chunk_size(self) -> int:
        size = cast("int", super()._read_next_chunk_size())  # type: ignore[misc]
        if size < 0:
            # The standard library would read all there is, however much that may be.
            raise ValueError("a chunk of a negative size")
        return size


class HeldConnection(HTTPConnection):
    """A connection that tells the grip of the request it is used for what it does."""

    response_class = Response
    grip: Grip | None = None
    keep = IDLE_SECONDS
    idle_since = 0.0
    _unsent: list[bytes] | None = None

    @property
    def is_stale(self) -> bool:
        """Idle for so long that the server may be closing it just now."""
        return time.monotonic() - self.idle_since > self.keep

    def note_keep_alive(self, header: str | None) -> None:
        """What the server says about how long it keeps an idle connection."""
        for part in (header or "").split(","):
            name, _, value = part.strip().partition("=")
            if name.lower() == "timeout" and value.isdecimal() and len(value) < 10:
                self.keep = min(max(float(value) - _MARGIN, 0.0), _LONGEST_IDLE)

    def connect(self) -> None:
        self.keep = IDLE_SECONDS
        super().connect()
        self._hold_established()

    def request(self, *args: Any, **options: Any) -> None:
        """Header and body are gathered, then written: in one piece if they are small."""
        self._unsent = unsent = list[bytes]()
        try:
            super().request(*args, **options)
        finally:
            self._unsent = None
        if self.sock is None:
            self.connect()
        # It may take as long as the caller wants to wait; that is known to whoever cuts it.
        self.sock.settimeout(None)
        if self.grip is not None:
            self.grip.begin()
        if sum(map(len, unsent)) <= _ONE_PIECE:
            unsent = [b"".join(unsent)]
        for part in unsent:
            super().send(part)
        if self.grip is not None:
            self.grip.whole = True

    def ask(self, head: bytes, body: bytes, seconds: float | None) -> Response:
        """Write a request over the connection that is there, and return when the response has begun.

        What `request` does for any request costs more than all the rest of an exchange. ``seconds`` bounds
        each read and write, of the response's body too.
        """
        grip, sock = self.grip, self.sock
        assert grip is not None
        sock.settimeout(seconds)
        grip.begin()
        for part in (head + body,) if len(head) + len(body) <= _ONE_PIECE else (head, body):
            sock.sendall(part)
        grip.whole = True
        response = Response(sock, method="POST")
        try:
            response.begin()
        except BaseException:
            response.close()
            raise
        if response.will_close:
            self.close()
        return response

    def send(self, data: Any) -> None:
        if self._unsent is None:
            super().send(data)
        else:
            self._unsent.append(data)

    def _new_conn(self) -> socket.socket:
        try:
            return self._dial(Deadline.after(self.timeout or _LONGEST_IDLE))
        except socket.gaierror as error:
            raise trouble.NameResolutionError(self.host, self, error) from error
        except TimeoutError as error:
            raise trouble.ConnectTimeoutError(self, f"no connection within {self.timeout} s") from error
        except OSError as error:
            raise trouble.NewConnectionError(self, f"{error}") from error

    def _dial(self, deadline: Deadline) -> socket.socket:
        """One address after the other, all within one deadline; each attempt can be cut."""
        failure: OSError = OSError("the name has no address")
        host, family = self._dns_host.strip("[]"), allowed_gai_family()
        addresses = socket.getaddrinfo(host, self.port, family, socket.SOCK_STREAM)
        for number, (kind, type_, protocol, _, address) in enumerate(addresses):
            if self.grip is not None and self.grip.was_cut:
                break
            try:
                # One that swallows everything, as a broken IPv6 does, leaves the others their share.
                seconds = deadline.remaining() / (len(addresses) - number)
                return self._reach(socket.socket(kind, type_, protocol), address, seconds)
            except OSError as error:
                failure = error
        raise failure

    def _reach(self, sock: socket.socket, address: Any, seconds: float) -> socket.socket:
        try:
            for option in (*(self.socket_options or ()), *_KEEP_ALIVE):
                sock.setsockopt(*option)
            # Zero would mean not to wait at all, and to fail with another error.
            sock.settimeout(max(seconds, 0.001))
            if self.grip is not None:
                self.grip.hold(sock)
            sock.connect(address)
        except OSError:
            sock.close()
            raise
        # Each read and write until the connection is established has this time.
        sock.settimeout(self.timeout)
        return sock

    def _hold_established(self) -> None:
        sock = self.plain_socket()
        _sockets.add(sock)
        if self.grip is not None:
            self.grip.hold(sock)

    def plain_socket(self) -> socket.socket:
        """What can be shut. The connection is established."""
        return _plain(self.sock)


def _plain(sock: Any) -> socket.socket:
    # TLS within TLS is no socket itself, but has one.
    return sock if isinstance(sock, socket.socket) else cast("socket.socket", sock.socket)


class HeldTlsConnection(HeldConnection, HTTPSConnection):
    """The same, encrypted."""

    _leash: socket.socket | None = None

    def connect(self) -> None:
        try:
            super().connect()
        finally:
            leash, self._leash = self._leash, None
            if leash is not None:
                leash.close()

    def _new_conn(self) -> socket.socket:
        sock = super()._new_conn()
        # Until the handshake is over, the socket belongs to an object that nobody can get hold of. Another
        # descriptor of it serves as well: shutting concerns the connection, not the descriptor.
        self._leash = leash = sock.dup()
        if self.grip is not None:
            self.grip.hold(leash)
        return sock
