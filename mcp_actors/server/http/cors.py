"""Cors: what browsers are told, so that scripts of other origins may call (WHATWG Fetch)."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from mcp_actors.protocol.http.inbound import METHODS
from mcp_actors.protocol.http.mirrors import Headers
from mcp_actors.protocol.http.origins import ANY
from mcp_actors.protocol.http.rejections import Field

#: What scripts send. Those that repeat arguments (`Mcp-Param-*`) are taken as they are asked for.
_SENT: Final = (
    "Accept",
    "Authorization",
    "Content-Type",
    "DPoP",
    "Last-Event-ID",
    "MCP-Protocol-Version",
    "Mcp-Method",
    "Mcp-Name",
    "Mcp-Session-Id",
)
_PARAM: Final = re.compile(r"mcp-param-[!#$%&'*+\-.^_`|~0-9a-z]+", re.I)
_MAX_AGE: Final = "600"


class Cors(Struct, frozen=True):
    """``origins``: those whose scripts may read answers; none: browsers are told nothing."""

    origins: tuple[str, ...] = ()

    def fields(self, headers: Headers) -> tuple[Field, ...]:
        """For every response to such an origin, also to one that is refused."""
        origin = headers.get("origin")
        if not self._allows(origin):
            return (("Vary", "Origin"),) if self.origins else ()
        assert origin is not None
        return (
            ("Access-Control-Allow-Origin", origin),
            ("Access-Control-Expose-Headers", "Mcp-Session-Id, WWW-Authenticate"),
            ("Vary", "Origin"),
        )

    def preflight(self, headers: Headers) -> tuple[Field, ...]:
        """For the answer to OPTIONS, beside the others: what a script may send."""
        if not self._allows(headers.get("origin")):
            return ()
        asked = headers.get("access-control-request-headers", "").split(",")
        repeated = [name.strip() for name in asked if _PARAM.fullmatch(name.strip())]
        return (
            ("Access-Control-Allow-Methods", ", ".join(METHODS)),
            ("Access-Control-Allow-Headers", ", ".join([*_SENT, *repeated])),
            ("Access-Control-Max-Age", _MAX_AGE),
        )

    def _allows(self, origin: str | None) -> bool:
        return origin is not None and (ANY in self.origins or origin in self.origins)
