"""A POST that stands alone: 2026-07-28, or the handshake era without sessions."""

from __future__ import annotations

from mcp_actors.protocol.http.event_writing import KEEP_ALIVE
from mcp_actors.protocol.http.inbound import Post, version_of
from mcp_actors.protocol.http.rejections import Rejected, status_of
from mcp_actors.protocol.jsonrpc import Answer, Failure
from mcp_actors.protocol.revisions import Era
from mcp_actors.server.authorization.principal import Principal
from mcp_actors.server.http.desk import Desk
from mcp_actors.server.http.event_body import EventBody, first_of
from mcp_actors.server.http.inbox import ClientGone, Closed, Event
from mcp_actors.server.http.reply import Reply, empty_reply, json_reply, stream_reply, unavailable
from mcp_actors.server.http.visit import Visit
from mcp_actors.server.http.wsgi_request import WsgiRequest


def answer_alone(desk: Desk, request: WsgiRequest, post: Post, principal: Principal | None) -> Reply:
    """Serve a POST with a peer that is made for it. Raises ``Rejected``."""
    if isinstance(post.message, Answer | Failure):
        raise Rejected(400, "without sessions nobody can have asked you anything")
    visit = Visit(desk, post, principal, request.address)
    staying = False
    try:
        _receive(desk, request, post, principal, visit)
        reply = _reply(desk, request, post.era, visit) if post.requests else empty_reply(202)
        # The body of a stream lets the visitor go itself.
        staying = isinstance(reply.body, EventBody)
        return reply
    finally:
        if not staying:
            visit.leave()


def _receive(desk: Desk, request: WsgiRequest, post: Post, principal: Principal | None, visit: Visit) -> None:
    stateless = post.era is Era.STATELESS
    assume = None if stateless or post.opens else version_of(request.headers)
    loan = desk.loan()
    visit.enter(assume).receive(post.message, principal, modern=stateless, loan=loan)
    if loan is not None:
        loan.work()


def _reply(desk: Desk, request: WsgiRequest, era: Era, visit: Visit) -> Reply:
    watch = desk.watch(visit.exchange.inbox, request)
    try:
        first = first_of(watch, desk.settings.sse_after)
    except ClientGone:
        # Nobody will read it.
        return empty_reply(408)
    if isinstance(first, Closed):
        raise unavailable("the server is being stopped", retry_after=1)
    if isinstance(first, Event) and first.last and first.frame:
        return json_reply(status_of(first.code, era), first.frame)
    opening = KEEP_ALIVE if first is None else b""
    return stream_reply(
        EventBody(watch, visit.leave, opening=opening, first=first, keep_alive=desk.settings.keep_alive)
    )
