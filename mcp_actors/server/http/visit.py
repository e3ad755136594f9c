"""Visit: a client that is there for one POST, and what is given back when it leaves."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mcp_actors.protocol.jsonrpc import Id
from mcp_actors.server.authorization.principal import Principal
from mcp_actors.server.http.contract import Peer
from mcp_actors.server.http.desk import Desk
from mcp_actors.server.http.exchange import Exchange


class Visit:
    """Belongs to the thread that serves the request.

    ``listens``: it is to last, and takes a place among the streams. ``cancels``: a client that leaves before
    it has its answer takes its requests back. Raises ``Rejected`` if there is no place.
    """

    def __init__(self, desk: Desk, ids: Sequence[Id], *, listens: bool, cancels: bool) -> None:
        self._desk = desk
        self._cancels = cancels
        self._peer: Peer | None = None
        self._give_back: Callable[[], object] | None = desk.budget.take(ids[0]) if listens else None
        self.exchange = Exchange(ids, desk.inbox(), listening=listens)

    def enter(self, principal: Principal | None, assume: str | None) -> Peer:
        """The peer that stands for the client."""
        self._peer = self._desk.new_guest(self.exchange, principal, assume)
        return self._peer

    def leave(self) -> None:
        """The connection is over. A second time nothing happens."""
        peer, self._peer = self._peer, None
        give_back, self._give_back = self._give_back, None
        if peer is not None:
            self._part(peer)
            self._desk.forget_guest(peer)
        if give_back is not None:
            give_back()

    def _part(self, peer: Peer) -> None:
        exchange = self.exchange
        if not exchange.ids:
            # A notification: whoever wants to know of it may still be about to.
            peer.stop()
        elif exchange.answered:
            if not peer.settled:
                peer.gone("the answer was given")
        elif self._cancels:
            # MCP 2026-07-28: a client cancels by closing the stream.
            for one in exchange.ids:
                peer.cancel(one, "the client closed the connection")
            peer.gone("the client closed the connection")
        else:
            # Before, it was no cancellation: the work goes on, though nobody will read the answer.
            peer.stop()
