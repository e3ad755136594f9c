"""HttpTransport: a server behind a URL."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import urlsplit

from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.protocol.http.param_headers import InvalidAnnotation, ParamHeaders, surfaced
from mcp_actors.protocol.types import Tool
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.transports.contract import OpenFailed
from mcp_actors.transports.http.authorizer import LogsIn
from mcp_actors.transports.http.engine import Engine
from mcp_actors.transports.http.proxies import Proxy, proxy_for
from mcp_actors.transports.http.settings import HttpSettings
from mcp_actors.transports.http.tls import tls_context
from mcp_actors.transports.http.wire import HttpWire

logger: Final = logging.getLogger("mcp_actors.transports")


class HttpTransport:
    """Opening a wire costs nothing but memory: connections are made when there is something to send."""

    #: Whoever does not know a request answers 4xx; no answer means that nobody is there.
    silence_tells_era: Final = False

    def __init__(self, settings: HttpSettings, *, name: str | None = None) -> None:
        self._settings = settings
        self._context: ssl.SSLContext | None = None
        self._proxy: Proxy | None = None
        # What the headers of a tool are made of, as long as the listing still has that very tool.
        self._known: dict[str, tuple[Tool, ParamHeaders | None]] = {}
        self.label = name or urlsplit(settings.url).netloc
        #: Finds a tool in the last listing, for the headers that its arguments are repeated in.
        self.find_tool: Callable[[str], Tool | None] = _nobody

    def open(self, deadline: Deadline) -> HttpWire:
        """A new wire. Nobody is waited for: that is done by the first exchange."""
        del deadline
        return HttpWire(self._engine(), self._settings, self._tool_headers, self.label)

    def surface(self, tools: list[Tool]) -> list[Tool]:
        """Without those whose annotations for headers break the rules: MCP 2026-07-28 wants them dropped."""
        sorted_out = surfaced(tools)
        for dropped in sorted_out.dropped:
            logger.warning("%s: tool %r is left out: %s", self.label, dropped.name[:80], dropped.reason)
        return sorted_out.kept

    def principal(self) -> str | None:
        """See `KnowsPrincipal`."""
        return self._settings.principal()

    def hindrance(self) -> Ending | None:
        """See `Authorizes`."""
        authorizer = self._settings.authorizer
        return authorizer.hindrance() if isinstance(authorizer, LogsIn) else None

    def break_off(self) -> None:
        """See `Authorizes`."""
        authorizer: object = self._settings.authorizer
        if isinstance(authorizer, LogsIn):
            authorizer.interrupt()

    def end(self) -> None:
        """Nobody needs an authorization any more: a login under way ends."""
        close = getattr(self._settings.authorizer, "close", None)
        if callable(close):
            close()

    def describe(self) -> Mapping[str, object]:
        """Facts for crash reports. What follows the path of a URL may be a key."""
        settings, proxy = self._settings, self._proxy
        way = {} if proxy is None else {"proxy": proxy.url}
        return {"url": settings.url.partition("?")[0], **way, "secrets": settings.secrets}

    def _engine(self) -> Engine:
        settings = self._settings
        # The environment may have changed since the last time.
        proxy = self._proxy = proxy_for(settings.url, settings.proxies)
        encrypted = "https:" in (settings.url[:6].lower(), "" if proxy is None else proxy.url[:6])
        if encrypted and self._context is None:
            try:
                # Reading all certificates takes a while; once is enough.
                self._context = tls_context(settings.verify)
            except OSError as error:
                whose = f"the certificates in {settings.verify}, to verify {self.label} by,"
                raise OpenFailed(Ending(EndKind.IMPOSSIBLE, f"{whose} cannot be read: {error}")) from error
        return Engine(self._context, proxy, settings.connect_timeout)

    def _tool_headers(self, name: str) -> ParamHeaders | None:
        tool = self.find_tool(name)
        if tool is None:
            return None
        known = self._known.get(name)
        if known is None or known[0] is not tool:
            known = self._known[name] = (tool, _param_headers(tool))
        return known[1]


def _param_headers(tool: Tool) -> ParamHeaders | None:
    try:
        return ParamHeaders.of(tool.input_schema)
    except InvalidAnnotation:
        return None


def _nobody(_name: str) -> Tool | None:
    return None
