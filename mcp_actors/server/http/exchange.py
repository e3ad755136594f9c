"""Exchange: one POST whose peer is there for it alone; nothing outlives the connection."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from mcp_actors.protocol.jsonrpc import Id
from mcp_actors.server.http.inbox import Closed, Event, Inbox

if TYPE_CHECKING:
    from mcp_actors.server.outlet import Outgoing

logger: Final = logging.getLogger("mcp_actors.server.http")


class Exchange:
    """The outlet of such a peer. Messages come on one thread at a time, and go out on the WSGI thread.

    ``listening``: the request is a subscription, which must not lose anything in silence.
    """

    def __init__(self, ids: Iterable[Id], inbox: Inbox, *, listening: bool = False) -> None:
        self.inbox = inbox
        self.ids = frozenset(ids)
        self.answered = False
        self._listening = listening
        self._over = False
        self._dropped = 0

    def send(self, outgoing: Outgoing) -> None:
        """Hand a message to the thread that writes the response. Never blocks."""
        if self._over or outgoing.about not in self.ids:
            # What belongs to no request needs a stream that nobody has opened.
            return
        # Also of a batch there is one final message: the answers to all of its requests.
        self.answered = self.answered or outgoing.final
        event = Event(outgoing.frame, outgoing.final, outgoing.code)
        if not self.inbox.put(event, force=not outgoing.news):
            self._overflow()

    def close_connection(self, about: Id, retry_ms: int | None = None) -> bool:
        """False: a stream without events to resume from must last until its end."""
        del about, retry_ms
        return False

    def end(self, reason: str) -> None:
        """The peer is over."""
        del reason
        self._over = True
        self.inbox.put(Closed(), force=True)

    def _overflow(self) -> None:
        """The client does not read."""
        if self._listening:
            # Better no stream than one with holes: its client will open another and look for itself.
            self.end("the client does not read")
            return
        if not self._dropped:
            logger.warning("a client does not read what it asked for; news of its call are dropped")
        self._dropped += 1
