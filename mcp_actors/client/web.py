"""Servers behind a URL: which transport, and how it is authorized."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mcp_actors.auth.coercion import as_authorizer
from mcp_actors.auth.oauth import OAuth
from mcp_actors.client.options import ClientOptions, CommonOptions
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
    _check_url(check_text("url", url))
    if not isinstance(verify, bool | str | os.PathLike | ssl.SSLContext):
        raise TypeError(
            f"verify must be True, False, a path or an ssl.SSLContext, not {type(verify).__name__}"
        )
    if proxies is not None:
        _check_proxies(check_mapping("proxies", proxies))
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


def with_patience(options: CommonOptions, auth: Auth | None) -> CommonOptions:
    """A person who logs in needs longer than a handshake may take; whoever says how long decides."""
    given = dict(options)
    if isinstance(auth, OAuth) and given.get("init_timeout") is None:
        given["init_timeout"] = auth.login_timeout
    return given  # type: ignore[return-value]  # the same keys


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        whole = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # a port that is none, a bracket that is not closed
        whole = False
    # A line end is what is left of a file; urlsplit would pass over it, and a request cannot hold it.
    if not whole or any(character <= " " or character == "\x7f" for character in url):
        raise ValueError(f"url must be an http or https address with a host, not {_shown(url)!r}")
    if parts.username is not None:
        raise ValueError("url must not hold a name or password; use auth= or headers=")


def _check_proxies(proxies: Mapping[str, str | None]) -> None:
    for scheme, address in proxies.items():
        if ":" in check_text("a scheme of proxies", scheme):
            raise ValueError(f"proxies are named by scheme, 'http', 'https' or 'all', not {scheme!r}")
        if address is not None:
            check_text(f"the proxy for {scheme!r}", address)


def _plain(verify: Verify) -> bool | str:
    """As the authorization server is asked; a context of the caller's own is for the MCP server alone."""
    if isinstance(verify, os.PathLike):
        return os.fspath(verify)
    return verify if isinstance(verify, bool | str) else True


def _shown(url: str) -> str:
    """Without what may be a secret."""
    return url.split("?")[0].rpartition("@")[2][:80]
