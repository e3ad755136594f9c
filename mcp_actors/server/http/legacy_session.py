"""LegacySession: a client of HTTP+SSE (2024-11-05), whose session is one long GET."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_actors.protocol.jsonrpc import Id
from mcp_actors.server.http.contract import Peer
from mcp_actors.server.http.inbox import Closed, Event, Inbox

if TYPE_CHECKING:
    from mcp_actors.server.outlet import Outgoing


class LegacyStream:
    """The outlet: everything goes over the one stream. Messages come on one thread at a time."""

    def __init__(self, inbox: Inbox) -> None:
        self.inbox = inbox

    def send(self, outgoing: Outgoing) -> None:
        """Have a message written. News are left out for a client that lets too many wait; but one that would
        miss an answer is hung up on."""
        if outgoing.frame and not self.inbox.put(Event(outgoing.frame)) and not outgoing.news:
            self.end("the client does not read")

    def close_connection(self, about: Id, retry_ms: int | None = None) -> bool:
        """False: here the connection is the session."""
        del about, retry_ms
        return False

    def end(self, reason: str) -> None:
        """The session is over."""
        del reason
        self.inbox.put(Closed(), force=True)


class LegacySession:
    """One client over HTTP+SSE. It lives as long as its stream."""

    def __init__(self, id: str, owner: str | None, stream: LegacyStream, peer: Peer) -> None:
        self.id = id
        self.owner = owner
        self.stream = stream
        self.peer = peer
        self.used = 0.0

    @property
    def active(self) -> bool:
        """Always: it ends with its connection, however long that is silent."""
        return True

    def end(self, reason: str) -> None:
        """End it; what runs is told to stop."""
        self.peer.gone(reason)
        self.stream.end(reason)

    def stop(self, grace: float) -> None:
        """Let what runs end."""
        self.peer.stop(grace)
