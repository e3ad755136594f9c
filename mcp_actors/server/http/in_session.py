"""POST, GET and DELETE of a session of the handshake era."""

from __future__ import annotations

from contextlib import ExitStack, suppress

from mcp_actors.protocol.http.inbound import Post, check_get, check_session_headers, not_allowed
from mcp_actors.protocol.http.rejections import Misread, Rejected
from mcp_actors.protocol.http.request_headers import SESSION_ID
from mcp_actors.protocol.jsonrpc import Batch
from mcp_actors.protocol.revisions import by_version
from mcp_actors.server.authorization.principal import Principal
from mcp_actors.server.http.desk import Desk
from mcp_actors.server.http.event_body import EventBody, first_of
from mcp_actors.server.http.inbox import ClientGone, Closed, Event, Item, Watch
from mcp_actors.server.http.reply import Reply, empty_reply, json_reply, stream_reply, unavailable
from mcp_actors.server.http.sessions import Session
from mcp_actors.server.http.streams import Connection
from mcp_actors.server.http.visit import waits
from mcp_actors.server.http.wsgi_request import WsgiRequest

_HEADER = SESSION_ID.lower()


def answer_in_session(desk: Desk, request: WsgiRequest, post: Post, principal: Principal | None) -> Reply:
    """Serve a POST: inside its session, or ``initialize`` that opens one. Raises ``Rejected``."""
    if _HEADER not in request.headers:
        return _opened(desk, request, post, principal)
    session = _session(desk, request, principal)
    if isinstance(post.message, Batch) and not _has_batches(session):
        raise Rejected(400, "only 2025-03-26 has batches")
    if not post.requests:
        session.peer.receive(post.message, principal)
        return empty_reply(202)
    return _answered(desk, request, session, post, principal)


def tell_of_misread(desk: Desk, request: WsgiRequest, misread: Misread, principal: Principal | None) -> None:
    """A POST of a session that cannot be served because it says nothing: a question may wait for it."""
    id = request.headers.get(_HEADER)
    if id is not None and misread.malformed.id is not None:
        # What is wrong with the session, if anything is, matters less than what is wrong with the body.
        with suppress(Rejected):
            desk.session(id.strip(), principal).peer.receive(misread.malformed, principal)


def listen_in_session(desk: Desk, request: WsgiRequest, principal: Principal | None) -> Reply:
    """Serve a GET: the session's own stream, or the rest of another. Raises ``Rejected``."""
    check_get(request.headers)
    _refuse_without_sessions(desk)
    session = _session(desk, request, principal)
    with ExitStack() as owed:
        owed.callback(desk.places.take(session.client, lasts=True).leave)
        connection = _connected(session, request.headers.get("last-event-id"))
        owed.callback(_leave, desk, session, connection)
        watch = desk.watch(connection.inbox, request)
        return stream_reply(_body(desk, connection, watch, owed))


def leave_session(desk: Desk, request: WsgiRequest, principal: Principal | None) -> Reply:
    """Serve a DELETE. Raises ``Rejected``."""
    check_session_headers(request.headers)
    _refuse_without_sessions(desk)
    session = _session(desk, request, principal)
    desk.end_session(session, "the client ended the session")
    return empty_reply(204)


def _opened(desk: Desk, request: WsgiRequest, post: Post, principal: Principal | None) -> Reply:
    if not post.opens:
        raise Rejected(400, f"the header {SESSION_ID} is missing", id=post.id)
    session = desk.new_session(principal)
    with ExitStack() as owed:
        # No session comes of a handshake that failed, or that nobody waited for.
        owed.callback(session.end, "the handshake failed")
        reply = _answered(desk, request, session, post, principal)
        if session.peer.version is not None and reply.status == 200:
            owed.pop_all()
            return reply.but((SESSION_ID, session.id))
        return reply


def _answered(
    desk: Desk, request: WsgiRequest, session: Session, post: Post, principal: Principal | None
) -> Reply:
    """One JSON answer if it comes first, a stream otherwise."""
    with ExitStack() as owed:
        if waits(post):
            # First: what is refused must not have begun.
            owed.callback(desk.places.take(session.client, post.id).leave)
        # Before the peer hears of it: its answer must find a stream.
        connection = session.streams.open([one.id for one in post.requests], primes=session.primes)
        owed.callback(_leave, desk, session, connection)
        loan = desk.loan()
        session.peer.receive(post.message, principal, loan=loan)
        if loan is not None:
            loan.work()
        watch = desk.watch(connection.inbox, request)
        try:
            first = _first(desk, session, connection, watch)
        except ClientGone:
            # A broken connection takes nothing back: what runs goes on. Nobody will read this.
            return empty_reply(408)
        if isinstance(first, Closed) and first.retry_ms is None:
            raise unavailable("the session is being ended", retry_after=1)
        if isinstance(first, Event) and first.last and first.frame and first.id is None:
            return json_reply(200, first.frame)
        return stream_reply(_body(desk, connection, watch, owed, first))


def _first(desk: Desk, session: Session, connection: Connection, watch: Watch) -> Item | None:
    first = first_of(watch, desk.settings.sse_after)
    if first is None and not session.streams.begin(connection):
        # The whole answer came at the last moment.
        return watch.more()
    return first


def _body(
    desk: Desk, connection: Connection, watch: Watch, owed: ExitStack, first: Item | None = None
) -> EventBody:
    leave, keep_alive = owed.pop_all().close, desk.settings.keep_alive
    return EventBody(watch, leave, opening=connection.opening, first=first, keep_alive=keep_alive)


def _connected(session: Session, last_event_id: str | None) -> Connection:
    if last_event_id is None:
        return session.streams.listen(primes=session.primes)
    return session.streams.resume(last_event_id.strip(), primes=session.primes)


def _leave(desk: Desk, session: Session, connection: Connection) -> None:
    session.streams.leave(connection)
    session.used = desk.clock()
    desk.keep(session)


def _session(desk: Desk, request: WsgiRequest, principal: Principal | None) -> Session:
    id = request.headers.get(_HEADER)
    if id is None:
        raise Rejected(400, f"the header {SESSION_ID} is missing")
    return desk.session(id.strip(), principal)


def _has_batches(session: Session) -> bool:
    revision = by_version(session.peer.version or "")
    return revision is not None and revision.has_batching


def _refuse_without_sessions(desk: Desk) -> None:
    if desk.settings.stateless:
        raise not_allowed("POST")
