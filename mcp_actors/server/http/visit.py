"""Visit: a client that is there for one POST, and what is given back when it leaves."""

from __future__ import annotations

from mcp_actors.protocol.http.inbound import Post
from mcp_actors.protocol.revisions import Era
from mcp_actors.protocol.serving.reception import AT_ONCE
from mcp_actors.server.authorization.principal import Principal
from mcp_actors.server.http.contract import Peer
from mcp_actors.server.http.desk import Desk
from mcp_actors.server.http.exchange import Exchange
from mcp_actors.server.http.places import Place
from mcp_actors.server.http.sessions import owner_of


class Visit:
    """Belongs to the thread that serves the request. Raises ``Rejected`` if there is no place for it."""

    def __init__(self, desk: Desk, post: Post, principal: Principal | None, address: str | None) -> None:
        stateless = post.era is Era.STATELESS
        methods = [one.method for one in post.requests]
        listens = stateless and "subscriptions/listen" in methods
        owner = owner_of(principal)
        self._desk = desk
        self._principal = principal
        self._client = owner or address
        # MCP 2026-07-28: a client that leaves before it has its answer takes its requests back.
        self._cancels = stateless
        self._peer: Peer | None = None
        self._place: Place | None = None
        if listens:
            # Those who listen behind one proxy have its address in common.
            self._place = desk.places.take(owner, post.id, lasts=True)
        elif not AT_ONCE.issuperset(methods):
            self._place = desk.places.take(self._client, post.id)
        self.exchange = Exchange([one.id for one in post.requests], desk.inbox(), listening=listens)

    def enter(self, assume: str | None) -> Peer:
        """The peer that stands for the client."""
        self._peer = self._desk.new_guest(self.exchange, self._principal, assume, self._client)
        return self._peer

    def leave(self) -> None:
        """The connection is over. A second time nothing happens."""
        peer, self._peer = self._peer, None
        if peer is not None:
            self._part(peer)
            self._desk.forget_guest(peer)
        if self._place is not None:
            self._place.leave()

    def _part(self, peer: Peer) -> None:
        exchange = self.exchange
        if not exchange.ids:
            # A notification: whoever wants to know of it may still be about to.
            peer.stop()
        elif exchange.answered:
            if not peer.settled:
                peer.gone("the answer was given")
        elif self._cancels:
            for one in exchange.ids:
                peer.cancel(one, "the client closed the connection")
            peer.gone("the client closed the connection")
        else:
            # Before, it was no cancellation: the work goes on, though nobody will read the answer.
            peer.stop()


def waits(post: Post) -> bool:
    """Whether a thread may have to wait for the answer: nobody's code but ours gives the others at once."""
    return not AT_ONCE.issuperset([one.method for one in post.requests])
