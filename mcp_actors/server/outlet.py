"""Outlet: where the messages to one client go."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from msgspec import Struct

from mcp_actors.protocol.jsonrpc import Id


class Outgoing(Struct, frozen=True):
    """One message to the client, encoded.

    ``about`` names the client's request that it belongs to: an answer, progress, a log message, or a question
    of the server's own while it works on that request. None: it stands alone. ``final`` is the last message
    about a request; if its frame is empty the request ends without an answer, for it was cancelled. ``code``
    is that of an error answer. ``news`` may be left out if the client does not keep up.
    """

    frame: bytes
    about: Id | None
    final: bool = False
    code: int | None = None
    news: bool = False


class Outlet(Protocol):
    """A wire, an HTTP exchange, or the streams of an HTTP session."""

    def send(self, outgoing: Outgoing) -> None:
        """Take a message without blocking, or drop it if it cannot go out any more. One thread at a time."""

    def end(self, reason: str) -> None:
        """The session is over: close what is open. Any thread, without blocking."""


@runtime_checkable
class ClosesConnections(Protocol):
    """An outlet whose connections can be closed and resumed while the stream on them goes on."""

    def close_connection(self, about: Id) -> bool:
        """Close the connection on which that request's answer is awaited. Any thread."""
