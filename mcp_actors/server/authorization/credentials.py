"""Credentials: what a request shows to be let in (RFC 6750, 9449). Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl

from msgspec import Struct

__all__ = ["MAX_TOKEN", "Credentials", "MalformedCredentials", "header_values", "is_token", "presented"]

#: Longer than any token that fits into the headers most servers accept.
MAX_TOKEN: Final = 16 * 1024
_TOKEN: Final = re.compile(r"[A-Za-z0-9\-._~+/]++=*+")
_SCHEME: Final = re.compile(r"([!#$%&'*+\-.^_`|~0-9A-Za-z]++)(?: ++(.*+))?", re.DOTALL)
#: Schemes whose credentials are one token.
_OURS: Final = frozenset({"bearer", "dpop"})


class MalformedCredentials(Exception):
    """The request breaks the rules for showing a token: HTTP 400. The text holds nothing of it."""


class Credentials(Struct, frozen=True):
    """A token, and the scheme it came under, in lower case. ``repr`` shows no token."""

    scheme: str
    token: str

    def __repr__(self) -> str:
        return f"<Credentials {self.scheme}>"


def is_token(text: str) -> bool:
    """Whether the text can be sent as a token."""
    return len(text) <= MAX_TOKEN and _TOKEN.fullmatch(text) is not None


def presented(headers: Mapping[str, str], url: str) -> Credentials | None:
    """The token that a request shows; None if it shows none, or something of another scheme.

    Raises:
        MalformedCredentials: several of them, one in the address, or one that is none.
    """
    query = url.partition("#")[0].partition("?")[2]
    if "access_token" in dict(parse_qsl(query, keep_blank_values=True)):
        # Addresses end up in logs and histories. OAuth 2.1 forbids it, and so does MCP.
        raise MalformedCredentials("a token belongs into the Authorization header, never into the address")
    values = header_values(headers, "authorization")
    if not values:
        return None
    if len(values) > 1:
        raise MalformedCredentials("there is more than one Authorization header")
    return _read(values[0])


def header_values(headers: Mapping[str, str], name: str) -> list[str]:
    """The values of a header, however its name is spelled."""
    return [value.strip(" \t") for key, value in headers.items() if key.lower() == name]


def _read(value: str) -> Credentials | None:
    found = _SCHEME.fullmatch(value)
    if found is None:
        raise MalformedCredentials("the Authorization header names no scheme")
    scheme, token = found[1].lower(), found[2]
    if scheme not in _OURS:
        return None
    if token is None or not is_token(token):
        # Servers join repeated headers with a comma, which no token has.
        raise MalformedCredentials("the Authorization header does not hold exactly one token")
    return Credentials(scheme, token)
