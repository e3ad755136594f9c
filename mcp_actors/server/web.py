"""Web: a server as a WSGI app, and a WSGI server to run it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from mcp_actors.protocol.codec import JsonObject
from mcp_actors.protocol.http.param_headers import InvalidAnnotation, ParamHeaders
from mcp_actors.protocol.revisions import by_version
from mcp_actors.protocol.serving.terms import Terms
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.server.authorization.authorization import Authorization
from mcp_actors.server.authorization.principal import Principal
from mcp_actors.server.http.app import WsgiApp
from mcp_actors.server.http.event_store import EventStore
from mcp_actors.server.http.session_store import SessionStore
from mcp_actors.server.http.settings import HttpSettings
from mcp_actors.server.outlet import Outlet
from mcp_actors.server.peer import Peer
from mcp_actors.server.registry.entries import Entry

if TYPE_CHECKING:
    from mcp_actors.server.server import Server
    from mcp_actors.server.waitress_loop import Loop

_SWEEP_SECONDS: Final = 30.0
_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
_EVERYWHERE: Final = frozenset({"", "0.0.0.0", "::"})

logger: Final = logging.getLogger("mcp_actors.server.http")


class Peers:
    """Makes what stands for one client, and has sessions swept while there are any."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.app: WsgiApp | None = None

    def __call__(
        self,
        outlet: Outlet,
        *,
        name: str,
        principal: Principal | None = None,
        assume: str | None = None,
        client: str | None = None,
    ) -> Peer:
        host = self._server.host
        revision = None if assume is None else by_version(assume)
        agreed = None if revision is None else Terms(revision, {})
        if not host.keeps(self):
            host.keep(self)
            host.wake(self, _SWEEP_SECONDS, self._sweep)
        title = f"{self._server.name} {name}"
        return Peer(host, outlet, name=title, principal=principal, agreed=agreed, client=client)

    def stop(self, deadline: Deadline) -> None:
        """Have sessions and streams end in good order."""
        del deadline
        if self.app is not None:
            self.app.stop()

    def join(self, deadline: Deadline) -> bool:
        """Streams end by themselves, on the threads of the WSGI server."""
        del deadline
        return True

    def lose(self) -> None:
        """Have sessions and streams end; clients begin new ones."""
        if self.app is not None:
            self.app.desk.lose()

    def _sweep(self) -> None:
        if self.app is not None:
            self.app.sweep(time.monotonic())
            self._server.host.wake(self, _SWEEP_SECONDS, self._sweep)


class Rules:
    """What is known of what the server offers before it is asked for."""

    def __init__(self, server: Server) -> None:
        self._registry = server.registry

    def param_headers(self, name: str) -> ParamHeaders | None:
        """Which arguments are repeated in headers."""
        listing = self._registry.tools
        entry = listing.get(name)
        if entry is None:
            return None
        found: ParamHeaders = listing.once(("headers", name), lambda: _headers(entry.signature.input_schema))
        return found or None

    def scopes(self, method: str, params: JsonObject) -> frozenset[str]:
        """What a token must allow for a tool, resource or prompt of this server."""
        entry = self._entry(method, params)
        return frozenset() if entry is None else entry.scopes

    def _entry(self, method: str, params: JsonObject) -> Entry[Any] | None:
        name, uri = params.get("name"), params.get("uri")
        if method == "resources/read" and isinstance(uri, str):
            found = self._registry.resource_for(uri)
            return None if found is None else found[0]
        if not isinstance(name, str):
            return None
        if method == "tools/call":
            return self._registry.get_tool(name)
        return self._registry.get_prompt(name) if method == "prompts/get" else None


def app_of(
    server: Server,
    authorization: Authorization | None,
    event_store: EventStore | None,
    session_store: SessionStore | None,
    settings: Mapping[str, Any],
) -> WsgiApp:
    """The server as a WSGI app."""
    peers = Peers(server)
    app = WsgiApp(HttpSettings(**settings), peers, authorization, Rules(server), event_store, session_store)
    peers.app = app
    return app


def serve(server: Server, host: str, port: int, threads: int, settings: Mapping[str, Any]) -> None:
    """Serve over HTTP until interrupted, or until the server is closed."""
    try:
        import waitress.server  # noqa: F401 - whether it is there
    except ImportError:
        raise ImportError("run_http needs waitress: pip install 'mcp-actors[http]'") from None
    chosen = dict(settings)
    if "hosts" not in chosen:
        chosen["hosts"] = _names(host)
    app = server.wsgi(threads=threads, **chosen)
    with server:
        loop = bound(app, host, port, threads, app.settings.max_body_bytes, app.stop)
        logger.info("%s is served at http://%s:%d%s", server.name, host, port, app.settings.path)
        loop.run(lambda: server.closed)


# Any: any WSGI app will do.
def bound(
    app: Any,
    host: str,
    port: int,
    threads: int,
    max_body_bytes: int,
    stop: Callable[[], None] = lambda: None,
) -> Loop:
    """What serves a WSGI app at an address; ``stop`` has its streams end.

    Raises OSError if the address is taken; then nothing is left.
    """
    from waitress import server

    from mcp_actors.server.waitress_channels import limits, use_fair_channels
    from mcp_actors.server.waitress_loop import Loop
    from mcp_actors.server.waitress_threads import StreamingThreads

    connections: dict[int, Any] = {}
    dispatcher = StreamingThreads(threads, stop)
    bounds = limits(max_body_bytes)
    try:
        made = server.create_server(
            app, map=connections, _dispatcher=dispatcher, host=host, port=port, threads=threads, **bounds
        )
    except BaseException:
        # Its threads were started before.
        dispatcher.shutdown()
        raise
    use_fair_channels(connections)
    return Loop(made, connections)


def _names(host: str) -> tuple[str, ...] | None:
    """The names by which a server that is bound to this address may be called.

    Raises:
        ValueError: bound to all addresses it has names that only its owner knows, and a page in somebody's
            browser must not be able to make up one.
    """
    if host in _LOOPBACK:
        return None
    if host in _EVERYWHERE:
        raise ValueError(
            f"a server at {host!r} needs hosts=, the names that clients call it by: "
            "hosts=('mcp.example.com',), or hosts=('*',) if a proxy checks them"
        )
    # RFC 3986: in a Host header an address of IPv6 has brackets.
    return (f"[{host}]" if ":" in host else host,)


def _headers(schema: Any) -> ParamHeaders:
    try:
        return ParamHeaders.of(schema)
    except InvalidAnnotation as invalid:
        logger.warning("a tool's x-mcp-header is left out: %s", invalid)
        return ParamHeaders()
