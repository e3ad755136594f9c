"""Which `Host` and `Origin` are served: the names of this machine, unless others are listed.

A web page can have its own name resolve to a loopback address, and then speak with a server there as with its
own (DNS rebinding). `Host` and `Origin` still hold the page's name, and give it away.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from mcp_actors.protocol.http.rejections import Rejected, quoted

ANY: Final = "*"
LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})

_AUTHORITY: Final = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9_.-]+?)\.?(?::(\d{1,5}))?", re.I)
_ORIGIN: Final = re.compile(r"(https?)://(.+)", re.I)
_DEFAULT_PORTS: Final = {"http": "80", "https": "443"}


class Origins(Struct, frozen=True):
    """``hosts``: names, with a port or for all ports, "*" for all; None: those of the loopback interface.

    ``origins``: pages of other origins that may call, such as ``https://app.example``, "*" for all.
    """

    hosts: tuple[str, ...] | None = None
    origins: tuple[str, ...] = ()

    def check(self, headers: Mapping[str, str]) -> None:
        """Let a request pass, or not.

        Raises:
            Rejected: 421 for a foreign host, 403 for a foreign origin.
        """
        if not self.knows_host(headers.get("host", "")):
            raise Rejected(421, f"the host {quoted(headers.get('host', ''))} is not served here")
        origin = headers.get("origin")
        # Only browsers send one.
        if origin is not None and not self.knows_origin(origin):
            raise Rejected(403, f"requests of the origin {quoted(origin)} are not allowed")

    def knows_host(self, host: str) -> bool:
        """Whether a request may name this host."""
        if self.hosts is not None and ANY in self.hosts:
            return True
        return self._lists(host, default_port=None)

    def knows_origin(self, origin: str) -> bool:
        """Whether a page of this origin may call."""
        if ANY in self.origins or origin.lower() in map(str.lower, self.origins):
            return True
        parts = _ORIGIN.fullmatch(origin)
        # "*" among the hosts says nothing about pages: then any page could call.
        return parts is not None and self._lists(parts[2], default_port=_DEFAULT_PORTS[parts[1].lower()])

    def _lists(self, authority: str, default_port: str | None) -> bool:
        parts = _AUTHORITY.fullmatch(authority)
        if parts is None:
            return False
        name, port = parts[1].lower(), parts[2] or default_port
        if self.hosts is None:
            return name in LOOPBACK
        return any(listed in (name, f"{name}:{port}") for listed in map(str.lower, self.hosts))
