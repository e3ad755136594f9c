"""Which proxy leads to a server, if one does."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import unquote, urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

from msgspec import Struct
from urllib3.util import make_headers


class Proxy(Struct, frozen=True):
    """``headers`` are for the proxy alone. ``repr`` does not show them."""

    url: str
    headers: Mapping[str, str]

    def __repr__(self) -> str:
        return f"<Proxy {self.url}>"


def proxy_for(url: str, proxies: Mapping[str, str] | None) -> Proxy | None:
    """The proxy to go through: the one given, or that of the environment; none for an empty mapping.

    Raises:
        ValueError: the proxy's address is none of an HTTP proxy.
    """
    parts = urlsplit(url)
    if proxies is None:
        if proxy_bypass(parts.netloc):
            return None
        proxies = getproxies()
    address = proxies.get(parts.scheme) or proxies.get("all")
    return _proxy(address) if address else None


def _proxy(address: str) -> Proxy:
    # The environment often has them without a scheme.
    parts = urlsplit(address if "://" in address else f"http://{address}")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        shown = address.rpartition("@")[2][:80]
        raise ValueError(f"a proxy must have an http or https address, not {shown!r}")
    netloc = parts.netloc.rpartition("@")[2]
    headers: Mapping[str, str] = {}
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers = dict(make_headers(proxy_basic_auth=pair))
    return Proxy(urlunsplit((parts.scheme, netloc, "", "", "")), headers)
