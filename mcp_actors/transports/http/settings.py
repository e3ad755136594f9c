"""How a server is reached over HTTP: what every request of a client has in common."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from msgspec import Struct

from mcp_actors.protocol.http.own_headers import is_name, is_ours, is_value
from mcp_actors.protocol.http.param_headers import ParamHeaders
from mcp_actors.transports.contract import MAX_FRAME_BYTES
from mcp_actors.transports.http.authorizer import Authorizer, Identifies
from mcp_actors.transports.http.fingerprint import fingerprint
from mcp_actors.transports.http.proxies import proxy_for
from mcp_actors.transports.http.tls import Verify

#: Headers for every request, or a function that gives them for each.
Headers: TypeAlias = Mapping[str, str] | Callable[[], Mapping[str, str]]
ToolHeaders: TypeAlias = Callable[[str], ParamHeaders | None]

_SECRET: Final = re.compile(r"auth|cookie|key|pass|secret|token", re.IGNORECASE)
_SHORTEST_SECRET: Final = 6


class HttpSettings(Struct, frozen=True, kw_only=True):
    """``legacy``: the URL is known to belong to the older HTTP+SSE transport. ``repr`` shows no secret."""

    url: str
    headers: Headers | None = None
    authorizer: Authorizer | None = None
    verify: Verify = True
    proxies: Mapping[str, str] | None = None
    connect_timeout: float = 10.0
    max_frame_bytes: int = MAX_FRAME_BYTES
    max_exchanges: int = 128
    legacy: bool = False

    def __post_init__(self) -> None:
        proxy_for(self.url, self.proxies)
        if not callable(self.headers):
            self.own_headers()

    def own_headers(self) -> dict[str, str]:
        """The user's headers, as they are now, without those that are not for the user to set.

        Raises:
            ValueError, TypeError: one of them is none. And whatever the function raises that gives them.
        """
        given = self.headers() if callable(self.headers) else self.headers
        if given is None:
            return {}
        for name, value in given.items():
            _check(name, value)
        return {name: value for name, value in given.items() if not is_ours(name)}

    def principal(self) -> str | None:
        """A fingerprint of whoever requests are made for now; None if nobody can tell."""
        authorizer = self.authorizer
        if authorizer is None:
            who: str | None = ""
        else:
            who = authorizer.principal() if isinstance(authorizer, Identifies) else None
        # Fixed headers are those of the client itself, and it keeps its answers to itself.
        if who is None or not callable(self.headers):
            return who
        try:
            own = self.own_headers()
        except Exception:  # noqa: BLE001 - whatever the user's function raises, the request itself will say
            return None
        return fingerprint(who, *(part for header in sorted(own.items()) for part in header))

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not turn up in any report."""
        secrets = () if self.authorizer is None else self.authorizer.secrets
        if self.headers is None or callable(self.headers):
            return secrets
        values = (
            word
            for name, value in self.headers.items()
            if _SECRET.search(name)
            for word in (value, value.rpartition(" ")[2])
        )
        return (*secrets, *(value for value in values if len(value) >= _SHORTEST_SECRET))

    def __repr__(self) -> str:
        return f"<HttpSettings for {self.url.partition('?')[0]}>"


def _check(name: str, value: str) -> None:
    if not isinstance(name, str) or not isinstance(value, str):
        raise TypeError(f"a header has a name and a value of text, not {name!r}")
    if not is_name(name):
        raise ValueError(f"{name!r} is no header's name")
    if not is_value(value):
        raise ValueError(f"the value of header {name!r} has characters that no header may have")
