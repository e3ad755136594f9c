"""Engine: HTTP requests over pooled connections to one server."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

import urllib3
from msgspec import Struct
from urllib3.connectionpool import port_by_scheme
from urllib3.util import Retry, Timeout
from urllib3.util.url import _encode_target

from mcp_actors.transports.http.connections import HeldConnection
from mcp_actors.transports.http.grip import Grip
from mcp_actors.transports.http.pools import HeldPool, HeldTlsPool, Using
from mcp_actors.transports.http.proxies import Proxy
from mcp_actors.transports.http.tls import Verify

__all__ = ["Engine", "Errand", "Verify"]

_CONNECTIONS: Final = 64
#: Addresses whose ways are remembered. A server that redirects may make up as many as it likes.
_MOST_WAYS: Final = 16
_NEVER: Final = Retry.from_int(False, redirect=False)


class _Way(Struct, frozen=True):
    """How to get to an address: the connections to its server, what to ask there, and under which name."""

    pool: HeldPool
    target: str
    host: str


class Errand(Struct, frozen=True):
    """What is to be asked of the server. ``repr`` shows neither headers nor body."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None = None

    def __repr__(self) -> str:
        return f"<Errand {self.method} {self.url.partition('?')[0]}>"


class Engine:
    """Any thread may use it. It follows no redirect, and repeats only what the server cannot have seen."""

    def __init__(self, context: ssl.SSLContext | None, proxy: Proxy | None, connect_timeout: float) -> None:
        self._connect_timeout = connect_timeout
        self._usual = Timeout(connect=connect_timeout, read=None)
        self._proxy = proxy
        self._manager = _manager(proxy, context)
        self._manager.pool_classes_by_scheme = {"http": HeldPool, "https": HeldTlsPool}
        # The same few addresses are asked for again and again.
        self._ways: dict[str, _Way] = {}

    def request(
        self, errand: Errand, headers: dict[str, str], grip: Grip, seconds: float | None = None
    ) -> urllib3.BaseHTTPResponse:
        """Send a request and return when the response has begun; its body is still to be read.

        Raises urllib3's errors; the grip then tells whether the server may have seen the request. ``seconds``
        bounds connecting and each read; without it nothing does but `Grip.cut`.
        """
        with Using(grip):
            while True:
                grip.start_round()
                try:
                    response = self._send(errand, headers, seconds)
                except (urllib3.exceptions.HTTPError, OSError):
                    # A server may close an idle connection at any moment. If not even all of the request
                    # could be written, it cannot have been run, and another connection may do better.
                    if grip.was_cut or grip.whole or not (grip.reused and grip.begun):
                        raise
                    continue
                _note_keep_alive(response)
                return response

    def post(
        self, errand: Errand, headers: Mapping[str, str], grip: Grip, seconds: float | None
    ) -> urllib3.BaseHTTPResponse | None:
        """POST over a connection that is there already; None if there is none, and nothing was done.

        As `request`, except that nothing is repeated, and that each read and write may take ``seconds``. Not
        for a proxy, nor for headers that say how the message ends or to whom it goes.
        """
        if self._proxy is not None:
            return None
        way, body = self._way(errand.url), errand.body or b""
        grip.start_round()
        response = way.pool.post(way.target, _head(way, headers, len(body)), body, grip, seconds)
        if response is not None:
            _note_keep_alive(response)
        return response

    def close(self) -> None:
        """Close the connections that nobody uses, and the others as soon as nobody does."""
        # Those that were not remembered are of the same origin, and share its connections.
        for way in list(self._ways.values()):
            way.pool.close()

    def _send(
        self, errand: Errand, headers: dict[str, str], seconds: float | None
    ) -> urllib3.BaseHTTPResponse:
        options: dict[str, Any] = {
            "body": errand.body,
            "headers": headers,
            "redirect": False,
            "retries": _NEVER,
            "preload_content": False,
            "timeout": self._usual if seconds is None else self._timeout(seconds),
        }
        way = self._way(errand.url)
        return way.pool.urlopen(errand.method, way.target, assert_same_host=False, **options)

    def _way(self, url: str) -> _Way:
        way = self._ways.get(url)
        if way is None:
            parts = urlsplit(url)
            # As urllib3 writes it, by whomever it is written.
            target = _encode_target((parts.path or "/") + (f"?{parts.query}" if parts.query else ""))
            if self._proxy is not None and parts.scheme == "http":
                # A proxy that is not tunnelled through wants the whole address.
                target = urlunsplit((parts.scheme, parts.netloc, parts.path or "/", parts.query, ""))
            pool = self._manager.connection_from_url(url)
            assert isinstance(pool, HeldPool)
            way = _Way(pool, target, _host(pool))
            if len(self._ways) < _MOST_WAYS:
                self._ways[url] = way
        return way

    def _timeout(self, seconds: float) -> Timeout:
        return Timeout(connect=min(seconds, self._connect_timeout), read=seconds)


def _manager(proxy: Proxy | None, context: ssl.SSLContext | None) -> urllib3.PoolManager:
    options: dict[str, Any] = {"maxsize": _CONNECTIONS, "ssl_context": context}
    if proxy is None:
        return urllib3.PoolManager(**options)
    return urllib3.ProxyManager(proxy.url, proxy_headers=proxy.headers, proxy_ssl_context=context, **options)


def _host(pool: HeldPool) -> str:
    name = f"[{pool.host}]" if ":" in pool.host else pool.host
    return name if pool.port in (None, port_by_scheme.get(pool.scheme)) else f"{name}:{pool.port}"


def _head(way: _Way, headers: Mapping[str, str], length: int) -> bytes:
    lines = [f"POST {way.target} HTTP/1.1", f"Host: {way.host}", f"Content-Length: {length}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    head = "\r\n".join((*lines, "", "")).encode("latin-1")
    # Whoever made the headers has checked them; a line too many would be another request.
    if not head.count(b"\r") == head.count(b"\n") == len(lines) + 1:
        raise ValueError("a header with a line break in it")
    return head


def _note_keep_alive(response: urllib3.BaseHTTPResponse) -> None:
    header = response.headers.get("Keep-Alive")
    if header is not None and isinstance(response.connection, HeldConnection):
        response.connection.note_keep_alive(header)
