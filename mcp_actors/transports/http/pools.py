"""Pools of connections that know who uses them, and what to do with a response so that others can."""

from __future__ import annotations

import http.client
import queue
import threading
import time
from typing import Any, Final, cast

from urllib3 import BaseHTTPResponse, HTTPHeaderDict, HTTPResponse
from urllib3 import exceptions as trouble
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from mcp_actors.transports.http.connections import HeldConnection, HeldTlsConnection, Response
from mcp_actors.transports.http.grip import Grip

#: After the data of a chunk: its end, and the chunk of no bytes that ends a body.
_LAST_CHUNK: Final = b"\r\n0\r\n\r\n"

_here = threading.local()


class Using:
    """While it lasts, connections that this thread takes from a pool are held by the grip."""

    def __init__(self, grip: Grip) -> None:
        self._grip = grip

    def __enter__(self) -> None:
        _here.grip = self._grip

    def __exit__(self, *_: object) -> None:
        _here.grip = None


class Idle(queue.LifoQueue[Any]):
    """Connections that nobody uses, and places for others. Nobody ever waits here.

    Callers take from it on their own threads. The library's queue has a lock, which an interrupt between two
    of its steps leaves locked for everybody; here is one step each, as atomic as any of a list.
    """

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:  # noqa: ARG002
        """Add it on top. Raises `queue.Full`. Several at once may be a few more than the limit."""
        if self.full():
            raise queue.Full
        self.queue.append(item)

    def get(self, block: bool = True, timeout: float | None = None) -> Any:  # noqa: ARG002
        """Take the last one put. Raises `queue.Empty`."""
        try:
            return self.queue.pop()
        except IndexError:
            raise queue.Empty from None

    def qsize(self) -> int:
        return len(self.queue)

    def full(self) -> bool:
        return len(self.queue) >= self.maxsize


class HeldPool(HTTPConnectionPool):
    """Connections to one server; each belongs to one grip at a time."""

    ConnectionCls = HeldConnection
    QueueCls = Idle

    def post(
        self, target: str, head: bytes, body: bytes, grip: Grip, seconds: float | None
    ) -> HTTPResponse | None:
        """POST over a connection that is there; None if there is none. See `HeldConnection.ask`."""
        connection = self._idle()
        if connection is None:
            return None
        try:
            connection.grip, grip.reused = grip, True
            grip.hold(connection.plain_socket())
            return self._response(target, connection, connection.ask(head, body, seconds))
        except BaseException as error:
            connection.close()
            self._put_conn(connection)
            if isinstance(error, http.client.HTTPException):
                raise trouble.ProtocolError("the response could not be read", error) from error
            raise

    def _response(self, target: str, connection: HeldConnection, original: Response) -> HTTPResponse:
        headers = HTTPHeaderDict()
        for name, value in original.fields:
            headers.add(name, value)
        return HTTPResponse(
            body=original,
            headers=headers,
            status=original.status,
            preload_content=False,
            original_response=original,
            pool=self,
            connection=connection,
            request_method="POST",
            request_url=target,
        )

    def _idle(self) -> HeldConnection | None:
        """A connection that was used before and is still good. The last one used is the best."""
        pool = self.pool
        if pool is None:  # it is closed
            return None
        try:
            connection = pool.get(block=False)
        except queue.Empty:
            return None
        if connection is not None and not connection.is_stale and connection.is_connected:
            return cast("HeldConnection", connection)
        if connection is not None:
            connection.close()
        self._put_conn(connection)
        return None

    def _get_conn(self, timeout: float | None = None) -> Any:
        connection: Any = super()._get_conn(timeout)
        if connection.sock is not None and connection.is_stale:
            connection.close()
        grip: Grip | None = getattr(_here, "grip", None)
        connection.grip = grip
        if grip is not None and connection.sock is not None:
            grip.reused = True
            connection._hold_established()
        return connection

    def _put_conn(self, conn: Any) -> None:
        if conn is not None:
            # Before anybody else can take it.
            grip, conn.grip = conn.grip, None
            if grip is not None:
                grip.let_go()
            conn.idle_since = time.monotonic()
            pool = self.pool
            if pool is not None and pool.full():
                conn.close()
                return
        super()._put_conn(conn)


class HeldTlsPool(HeldPool, HTTPSConnectionPool):
    """The same, encrypted."""

    ConnectionCls = HeldTlsConnection

    def _validate_conn(self, conn: Any) -> None:
        # Without the warning that nothing is verified: whoever wants that has said so.
        if conn.is_closed:
            conn.connect()


def finish(response: BaseHTTPResponse) -> bool:
    """Be done with a response if only the end of its body is left and has come; False if one would have to
    wait for it. Its connection is then free for others."""
    original, connection = getattr(response, "_original_response", None), response.connection
    if not isinstance(original, Response) or not isinstance(connection, HeldConnection):
        return False
    if not original.chunked or original.chunk_left or original.at_hand() != _LAST_CHUNK:
        return False
    original.alone = True
    original.read1()
    response.release_conn()
    return True
