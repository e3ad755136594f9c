"""HTTP+SSE, the transport of 2024-11-05: one GET carries all answers, and each question is a POST."""

from __future__ import annotations

from contextlib import ExitStack
from urllib.parse import quote

from mcp_actors.protocol.http.event_writing import endpoint
from mcp_actors.protocol.http.inbound import check_get, not_allowed, read_message
from mcp_actors.protocol.http.rejections import Misread, Rejected
from mcp_actors.server.authorization.principal import Principal
from mcp_actors.server.http.desk import Desk
from mcp_actors.server.http.event_body import EventBody
from mcp_actors.server.http.reply import Reply, empty_reply, stream_reply
from mcp_actors.server.http.sessions import owner_of
from mcp_actors.server.http.wsgi_request import WsgiRequest

_PARAMETER = "session_id"


def open_stream(desk: Desk, request: WsgiRequest, principal: Principal | None) -> Reply:
    """Serve the GET: a session that lives as long as the connection. Raises ``Rejected``."""
    if request.method != "GET":
        raise not_allowed("GET")
    check_get(request.headers)
    with ExitStack() as owed:
        owed.callback(desk.places.take(owner_of(principal), lasts=True).leave)
        session = desk.new_legacy_session(principal)
        owed.callback(session.end, "the client closed its stream")
        owed.callback(desk.legacy.remove, session.id)
        # PEP 3333: the path's bytes, decoded as latin-1.
        path = quote((request.mount + desk.settings.messages_path).encode("latin-1"))
        opening = endpoint(f"{path}?{_PARAMETER}={session.id}")
        watch = desk.watch(session.stream.inbox, request)
        leave, keep_alive = owed.pop_all().close, desk.settings.keep_alive
        return stream_reply(EventBody(watch, leave, opening=opening, keep_alive=keep_alive))


def take_message(desk: Desk, request: WsgiRequest, principal: Principal | None) -> Reply:
    """Serve a POST: its answer goes over the stream. Raises ``Rejected``."""
    if request.method != "POST":
        raise not_allowed("POST")
    id = request.parameter(_PARAMETER)
    if id is None:
        raise Rejected(400, f"the parameter {_PARAMETER} is missing")
    session = desk.legacy.find(id, owner_of(principal))
    try:
        message = read_message(request.body(desk.settings.max_body_bytes))
    except Misread as misread:
        # A question may wait for it.
        session.peer.receive(misread.malformed, principal)
        raise
    session.peer.receive(message, principal)
    return empty_reply(202)
