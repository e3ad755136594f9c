"""What of a URL is signed or remembered: its origin, and its target without query and fragment."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote, urlsplit

_PORTS: Final = {"http": 80, "https": 443}
# What may stand in a path as it is (RFC 3986); a percent sign begins something already encoded.
_PATH: Final = "/%:@!$&'()*+,;=-._~"


def origin(url: str) -> str:
    """Scheme, host and port in their one normal form; never a user name or password."""
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ValueError("an http or https URL with a host is needed")
    # For some the host ends at a backslash, for others a user name goes on.
    if "\\" in parts.netloc:
        raise ValueError("a URL that can be read in two ways")
    host = parts.hostname.encode("idna").decode() if not parts.hostname.isascii() else parts.hostname
    if ":" in host:
        host = f"[{host}]"
    port = "" if parts.port in (None, _PORTS[parts.scheme]) else f":{parts.port}"
    return f"{parts.scheme}://{host}{port}"


def target(url: str) -> str:
    """The URL as RFC 9449 wants it in ``htu``: as it goes over the wire, without query and fragment."""
    return origin(url) + quote(urlsplit(url).path or "/", safe=_PATH)
