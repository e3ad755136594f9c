"""Compact: a signed token in its parts (RFC 7515 7.1), not yet believed. Pure."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any, Final

from msgspec import Struct

from mcp_actors.protocol import codec
from mcp_actors.protocol.codec import JsonObject
from mcp_actors.server.authorization.credentials import MAX_TOKEN
from mcp_actors.server.authorization.verifier import TokenRefused

__all__ = ["Compact", "parse"]

_PART: Final = re.compile(r"[A-Za-z0-9_\-]++")
_TYPE: Final = "application/"


class Compact(Struct, frozen=True):
    """Header and claims, and what the signature is over. ``repr`` shows nothing of them."""

    header: JsonObject
    claims: JsonObject
    signed: bytes
    signature: bytes

    @property
    def algorithm(self) -> str:
        """What it says it is signed with."""
        return _text(self.header.get("alg")) or ""

    @property
    def key_id(self) -> str | None:
        """Which key it says it is signed with: a name to compare, and nothing else."""
        return _text(self.header.get("kid"))

    @property
    def type(self) -> str | None:
        """What kind of token it says it is, in lower case and without ``application/``."""
        kind = _text(self.header.get("typ"))
        return None if kind is None else kind.lower().removeprefix(_TYPE)

    def __repr__(self) -> str:
        return "<Compact>"


def parse(token: str) -> Compact:
    """The parts of a token.

    Raises:
        TokenRefused: it has not the form of a signed JWT, or asks for extensions that nobody here knows.
    """
    parts = token.split(".") if len(token) <= MAX_TOKEN else []
    if len(parts) != 3 or not all(map(_PART.fullmatch, parts)):
        raise TokenRefused("the token has not the form of a signed JWT")
    header, claims, signature = map(_bytes, parts)
    made = Compact(_object(header), _object(claims), f"{parts[0]}.{parts[1]}".encode("ascii"), signature)
    if "crit" in made.header or "b64" in made.header:
        # RFC 7515 4.1.11: what is critical and not understood makes the token invalid.
        raise TokenRefused("the token asks for an extension that is not known here")
    return made


def _bytes(part: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except binascii.Error:
        raise TokenRefused("the token has not the form of a signed JWT") from None


def _object(data: bytes) -> JsonObject:
    try:
        value = codec.decode(data)
    except codec.DecodeFailed:
        value = None
    if not isinstance(value, dict):
        raise TokenRefused("the token has not the form of a signed JWT")
    return value


# Any: what a stranger wrote may be any JSON.
def _text(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise TokenRefused("a member of the token's header is no text")
    return value
