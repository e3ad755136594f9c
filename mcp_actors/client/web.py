"""Servers behind a URL: which transport, and how it is authorized."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mcp_actors.auth.coercion import as_authorizer
from mcp_actors.client.options import ClientOptions
from mcp_actors.client.outgoing import check_mapping, check_text
from mcp_actors.transports.http.settings import Headers, HttpSettings
from mcp_actors.transports.http.transport import HttpTransport

if TYPE_CHECKING:
    from mcp_actors.auth.coercion import Auth
    from mcp_actors.transports.http.engine import Verify


def http_transport(
    url: str,
    options: ClientOptions,
    *,
    headers: Headers | None,
    auth: Auth | None,
    verify: Verify,
    proxies: Mapping[str, str] | None,
    legacy: bool = False,
) -> HttpTransport:
    """The transport for a URL, checked here and now."""
    parts = urlsplit(check_text("url", url))
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"url must be an http or https address with a host, not {_shown(url)!r}")
    if parts.username is not None:
        raise ValueError("url must not hold a name or password; use auth= or headers=")
    if headers is not None and not callable(headers):
        for name, value in check_mapping("headers", headers).items():
            check_text(f"header {name!r}", value)
    return HttpTransport(
        HttpSettings(
            url=url,
            headers=headers,
            authorizer=as_authorizer(auth, url, verify=_plain(verify), proxies=proxies),
            verify=verify,
            proxies=proxies,
            connect_timeout=options.init_timeout,
            max_frame_bytes=options.max_frame_bytes,
            max_exchanges=options.max_in_flight,
            legacy=legacy,
        ),
        name=options.name,
    )


def _plain(verify: Verify) -> bool | str:
    """As the authorization server is asked; a context of the caller's own is for the MCP server alone."""
    return verify if isinstance(verify, bool | str) else True


def _shown(url: str) -> str:
    """Without what may be a secret."""
    return url.split("?")[0].rpartition("@")[2][:80]
