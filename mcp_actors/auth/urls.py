"""Which URLs may be asked or opened, and how one of them is shown, compared and extended."""

from __future__ import annotations

import ipaddress
import re
from typing import Final
from urllib.parse import urlencode, urlsplit, urlunsplit

from mcp_actors.auth.jose.address import origin
from mcp_actors.errors import AuthorizationFailed
from mcp_actors.telemetry.redaction import printable

__all__ = [
    "canonical",
    "covers",
    "is_loopback",
    "origin",
    "require_safe",
    "same_origin",
    "shown",
    "with_query",
]

_MAX_URL: Final = 4096
#: The characters of RFC 3986. Everything else could mean something to a shell, a terminal or a log.
_CHARACTERS: Final = re.compile(r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]+")
_SHOWN: Final = 300


def require_safe(url: str, what: str) -> str:
    """``url`` itself, if it is https, or http on this machine, and holds nothing but a plain address.

    Raises:
        AuthorizationFailed: it is not; ``what`` names the thing that has this address.
    """
    problem = _problem(url)
    if problem is not None:
        raise AuthorizationFailed(f"{what} is refused: {problem}: {shown(url)}")
    return url


def _problem(url: str) -> str | None:
    if len(url) > _MAX_URL or not _CHARACTERS.fullmatch(url):
        return "its address is too long or has characters that no URL has"
    try:
        origin(url)
        parts = urlsplit(url)
    except ValueError:
        return "its address is no http or https URL"
    if parts.username is not None or parts.password is not None:
        return "its address holds a user name"
    if parts.fragment:
        return "its address has a fragment"
    if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        return "its address has to be https (http is for this machine alone)"
    return None


def is_loopback(host: str) -> bool:
    """Whether the name or literal address means this machine, without asking anybody."""
    host = host.lower().rstrip(".")
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def same_origin(one: str, other: str) -> bool:
    """Whether both have the same scheme, host and port. What is no URL has no origin."""
    try:
        return origin(one) == origin(other)
    except ValueError:
        return False


def shown(url: str) -> str:
    """The URL for people: no query, no fragment, no user name; those may be secrets."""
    try:
        parts = urlsplit(url)
        where = origin(url) + parts.path
    except ValueError:
        where = re.split(r"[?#]", url.rpartition("@")[2], maxsplit=1)[0]
    return printable(where, _SHOWN)


def with_query(url: str, parameters: dict[str, str]) -> str:
    """The URL with ``parameters`` added to its query (RFC 6749 3.1: an endpoint may have one already)."""
    parts = urlsplit(url)
    query = "&".join(filter(None, (parts.query, urlencode(parameters))))
    return urlunsplit((parts.scheme, parts.netloc, parts.path, query, ""))


def canonical(url: str) -> str:
    """The name of a server: scheme and host in lower case, no fragment, no slash at the end."""
    parts = urlsplit(url)
    query = f"?{parts.query}" if parts.query else ""
    return origin(url) + parts.path.rstrip("/") + query


def covers(resource: str, server_url: str) -> bool:
    """Whether metadata about ``resource`` speaks for ``server_url``: same origin, its path or one above."""
    if not same_origin(resource, server_url):
        return False
    outer, inner = urlsplit(resource), urlsplit(server_url)
    if outer.fragment or (outer.query and outer.query != inner.query):
        return False
    above = outer.path.rstrip("/")
    return inner.path.rstrip("/") == above or inner.path.startswith(above + "/")
