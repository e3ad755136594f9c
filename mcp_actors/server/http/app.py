"""WsgiApp: an MCP server as a WSGI callable, for whatever serves or mounts those."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias
from weakref import WeakSet

from msgspec import Raw

from mcp_actors.protocol import codec
from mcp_actors.protocol.http.inbound import Post, check_method, not_allowed, read_post
from mcp_actors.protocol.http.rejections import Misread, Rejected
from mcp_actors.protocol.revisions import Era
from mcp_actors.server.authorization.denied import Denied
from mcp_actors.server.authorization.principal import Principal
from mcp_actors.server.http.alone import answer_alone
from mcp_actors.server.http.contract import Gatekeeper, NoRules, Peers, ToolRules
from mcp_actors.server.http.cors import Cors
from mcp_actors.server.http.desk import GRACE, Desk
from mcp_actors.server.http.event_store import EventStore
from mcp_actors.server.http.in_session import (
    answer_in_session,
    leave_session,
    listen_in_session,
    tell_of_misread,
)
from mcp_actors.server.http.legacy import open_stream, take_message
from mcp_actors.server.http.reply import (
    Reply,
    denial,
    empty_reply,
    failure,
    object_reply,
    rejection,
    unavailable,
)
from mcp_actors.server.http.session_store import SessionStore
from mcp_actors.server.http.settings import HttpSettings
from mcp_actors.server.http.wsgi_request import WsgiRequest

logger: Final = logging.getLogger("mcp_actors.server.http")

# Any: that is how WSGI is typed.
Environ: TypeAlias = dict[str, Any]
StartResponse: TypeAlias = Callable[..., Any]
Handler: TypeAlias = Callable[[WsgiRequest], Reply]


class WsgiApp:
    """Any thread, any number of them. It has no thread of its own, and starts anew in a forked process.

    Args:
        peers: makes what stands for one client.
        authorization: who is let in; None: everybody.
        tools: what is known of tools before they are called.
        store: keeps events for streams that break; None: in memory.
        session_store: lets sessions go on in other processes; None: each lives in its own.
    """

    def __init__(
        self,
        settings: HttpSettings,
        peers: Peers,
        authorization: Gatekeeper | None = None,
        tools: ToolRules | None = None,
        store: EventStore | None = None,
        session_store: SessionStore | None = None,
    ) -> None:
        self.settings = settings
        self._peers = peers
        self._gate = authorization
        self._tools = tools or NoRules()
        self._store = store
        self._session_store = session_store
        self._allowed = settings.allowed
        self._cors = Cors(settings.cors)
        self._desks: dict[int, Desk] = {}
        self._routes: dict[str, Handler] = {settings.path.rstrip("/"): self._endpoint}
        if settings.legacy_sse and not settings.stateless:
            self._routes[settings.sse_path] = lambda request: self._guarded(open_stream, request)
            self._routes[settings.messages_path] = lambda request: self._guarded(take_message, request)
        _all.add(self)

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        request = WsgiRequest(environ)
        reply = self._served(request).but(*self._cors.fields(request.headers))
        try:
            start_response(reply.line, list(reply.fields))
        except BaseException:
            close = getattr(reply.body, "close", None)
            if close is not None:
                close()
            raise
        return () if request.method == "HEAD" else reply.body

    @property
    def desk(self) -> Desk:
        """What this process keeps. What was kept before a fork is the parent's."""
        pid = os.getpid()
        found = self._desks.get(pid)
        if found is None:
            found = Desk(self.settings, self._peers, self._tools, self._store, self._session_store)
            # Whoever comes first; a dictionary sets one of two.
            found = self._desks.setdefault(pid, found)
        return found

    def sweep(self, now: float) -> None:
        """End the sessions that nobody uses. ``now`` is the monotonic clock's."""
        self.desk.sweep(now)

    def stop(self, grace: float = GRACE) -> None:
        """Take no more requests, and have open sessions and streams end in good order. Returns at once; what
        runs has ``grace`` seconds to end."""
        self.desk.stop(grace)

    def _served(self, request: WsgiRequest) -> Reply:
        try:
            return self._routed(request)
        except Rejected as rejected:
            return rejection(rejected)
        except Denied as denied:
            return denial(denied)
        except Exception:
            # The border: nothing of it may reach the client.
            logger.exception("a request over HTTP failed")
            return failure()

    def _routed(self, request: WsgiRequest) -> Reply:
        settings = self.settings
        if settings.health and request.path == settings.health_path:
            # Those who look after a server call it by its address.
            return self._health(request)
        self._allowed.check(request.headers)
        if self._gate is not None and not self._gate_paths.isdisjoint(_paths(request)):
            return self._metadata(request, self._gate)
        handler = self._routes.get(request.path)
        if handler is None and not request.path and request.mount:
            # Mounted at the endpoint itself.
            handler = self._endpoint
        if handler is None:
            raise Rejected(404, "nothing is served at this address")
        if request.method == "OPTIONS":
            return self._options(request)
        if self.desk.stopping:
            raise unavailable("the server is being stopped", retry_after=1)
        return handler(request)

    @property
    def _gate_paths(self) -> frozenset[str]:
        return frozenset() if self._gate is None else frozenset(self._gate.metadata_paths)

    def _endpoint(self, request: WsgiRequest) -> Reply:
        check_method(request.method)
        match request.method:
            case "POST":
                return self._post(request)
            case "GET":
                return self._guarded(listen_in_session, request)
            case _:
                return self._guarded(leave_session, request)

    def _post(self, request: WsgiRequest) -> Reply:
        max_bytes = self.settings.max_body_bytes
        # Before anybody is asked about a token: that may cost more than this.
        request.body_length(max_bytes)
        principal = self._admitted(request)
        try:
            post = read_post(request.headers, request.body(max_bytes), self._tools.param_headers)
        except Misread as misread:
            tell_of_misread(self.desk, request, misread, principal)
            raise
        self._check_scopes(post, principal)
        alone = post.era is Era.STATELESS or self.settings.stateless
        return (answer_alone if alone else answer_in_session)(self.desk, request, post, principal)

    def _guarded(
        self, serve: Callable[[Desk, WsgiRequest, Principal | None], Reply], request: WsgiRequest
    ) -> Reply:
        return serve(self.desk, request, self._admitted(request))

    def _admitted(self, request: WsgiRequest) -> Principal | None:
        if self._gate is None:
            return None
        return self._gate.admit(request.headers, method=request.method, url=request.url)

    def _check_scopes(self, post: Post, principal: Principal | None) -> None:
        """A tool, resource or prompt may want more than the server as a whole does."""
        if self._gate is None or principal is None:
            return
        for call in post.requests:
            needed = frozenset() if call.params is None else self._needed(call.method, call.params)
            if needed - principal.scopes:
                raise self._gate.forbid(principal, needed)

    def _needed(self, method: str, raw: Raw) -> frozenset[str]:
        try:
            params = codec.decode(raw)
        except codec.DecodeFailed:
            # Nothing will be done by that; why not is said where requests are judged.
            return frozenset()
        return self._tools.scopes(method, params) if isinstance(params, dict) else frozenset()

    def _options(self, request: WsgiRequest) -> Reply:
        return empty_reply(
            204, ("Allow", "POST, GET, DELETE, OPTIONS"), *self._cors.preflight(request.headers)
        )

    def _health(self, request: WsgiRequest) -> Reply:
        _check_reading(request)
        desk = self.desk
        return object_reply(
            503 if desk.stopping else 200,
            {
                "status": "stopping" if desk.stopping else "ok",
                "sessions": len(desk.sessions) + len(desk.legacy),
                "streams": desk.places.streams,
            },
        )

    def _metadata(self, request: WsgiRequest, gate: Gatekeeper) -> Reply:
        if request.method == "OPTIONS":
            return self._options(request)
        _check_reading(request)
        return object_reply(200, gate.metadata_document)


def all_apps() -> tuple[WsgiApp, ...]:
    """Those of this process."""
    return tuple(_all)


_all: WeakSet[WsgiApp] = WeakSet()


def _paths(request: WsgiRequest) -> tuple[str, str]:
    """As the app sees its address, and as the client does."""
    return request.path, request.mount + request.path


def _check_reading(request: WsgiRequest) -> None:
    if request.method not in ("GET", "HEAD"):
        raise not_allowed("GET", "HEAD")
