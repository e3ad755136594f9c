"""Expectations: what the claims of a token must say to be good here (RFC 7519 4.1, RFC 9068 4). Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from msgspec import Struct

from mcp_actors.auth.urls import canonical
from mcp_actors.server.authorization.principal import Principal
from mcp_actors.server.authorization.verifier import TokenRefused

__all__ = ["Expectations", "audiences_of", "expiry", "principal_of"]

#: Where issuers write who acts for the subject.
_CLIENT: Final = ("client_id", "azp")


class Expectations(Struct, frozen=True):
    """The rules of one server for the tokens of one issuer."""

    issuer: str | None
    audiences: frozenset[str] | None
    """Names of this server, one of which the token must bear; None where somebody else has looked."""
    required: tuple[str, ...] = ()
    leeway: float = 30.0

    # Any: claims are JSON.
    def check(self, claims: Mapping[str, Any], now: float) -> None:
        """Raises ``TokenRefused`` if the claims do not say what they must, or not at this time."""
        for name in self.required:
            if claims.get(name) is None:
                raise TokenRefused(f"the token has no claim {name}")
        if self.issuer is not None and claims.get("iss", self.issuer) != self.issuer:
            raise TokenRefused("the token is of another issuer")
        if self.audiences is not None and not self.audiences & audiences_of(claims.get("aud")):
            raise TokenRefused("the token is meant for another server")
        self._check_time(claims, now)

    def _check_time(self, claims: Mapping[str, Any], now: float) -> None:
        # The clock is moved, not the claim: a claim may be a number too large to reckon with.
        earliest, latest = now - self.leeway, now + self.leeway
        if not _number(claims, "exp", math.inf) > earliest:
            raise TokenRefused("the token has expired")
        if not _number(claims, "nbf", -math.inf) <= latest:
            raise TokenRefused("the token is not yet valid")
        if not _number(claims, "iat", -math.inf) <= latest:
            raise TokenRefused("the token was issued in the future")


def audiences_of(value: Any) -> frozenset[str]:
    """The names in an ``aud``, one or several; URLs in their one normal form."""
    items: Sequence[Any] = value if isinstance(value, list | tuple) else [value]
    return frozenset(_normal(item) for item in items if isinstance(item, str))


def expiry(claims: Mapping[str, Any]) -> float:
    """When the token ends; never, if it does not say so in a way that can be read."""
    try:
        return _number(claims, "exp", math.inf)
    except TokenRefused:
        return math.inf


def principal_of(claims: Mapping[str, Any], scope_claim: str, issuer: str | None) -> Principal:
    """Who the claims are about. A client that acts for itself is its own subject.

    Raises:
        TokenRefused: nobody.
    """
    client = next((claims[name] for name in _CLIENT if _is_name(claims.get(name))), None)
    subject = claims["sub"] if _is_name(claims.get("sub")) else client
    if subject is None:
        raise TokenRefused("the token names no subject")
    return Principal(subject, _scopes(claims.get(scope_claim)), client, claims, claims.get("iss", issuer))


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _scopes(value: Any) -> frozenset[str]:
    """Of a text with spaces between, as RFC 9068 has it, or of a list, as others do."""
    items = value.split() if isinstance(value, str) else value if isinstance(value, list) else ()
    return frozenset(item for item in items if _is_name(item))


def _number(claims: Mapping[str, Any], name: str, otherwise: float) -> float:
    value = claims.get(name)
    if value is None:
        return otherwise
    # A large int has no float form, but it compares.
    finite = math.isfinite(value) if isinstance(value, float) else type(value) is int
    if not finite:
        raise TokenRefused(f"the claim {name} of the token is no time")
    return cast(float, value)


def _normal(name: str) -> str:
    try:
        return canonical(name)
    except ValueError:
        # Not every issuer names its audiences by URL.
        return name
