"""How a server checks what a client signed: DPoP proofs (RFC 9449) and client assertions (RFC 7523)."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.auth.jose import compact
from tests.auth.jose.compact import Forged, PublicKey, Token

#: How far the clock of the other side may be off, in seconds.
SKEW = 300.0


@dataclass(frozen=True, slots=True)
class Expected:
    """The request that a proof must be about."""

    method: str
    url: str
    access_token: str | None = None
    algorithms: Collection[str] = ("ES256",)


@dataclass(slots=True)
class ProofChecker:
    """Remembers each ``jti``: a proof counts once."""

    seen: set[str] = field(default_factory=set)

    def check(self, proof: str, expected: Expected, now: float) -> tuple[str, Token]:
        """The thumbprint of the key that signed, and the proof's parts; the caller judges its nonce."""
        header = compact.read(proof).header
        _same("typ", header.get("typ"), "dpop+jwt")
        if header.get("alg") not in expected.algorithms:
            raise Forged(f"alg {header.get('alg')!r} is none of {sorted(expected.algorithms)}")
        jwk = header.get("jwk")
        if not isinstance(jwk, dict):
            raise Forged("no jwk in the header")
        token = compact.check(proof, compact.public_key(jwk))
        self._check_claims(token.claims, expected, now)
        return compact.thumbprint(jwk), token

    def _check_claims(self, claims: Mapping[str, Any], expected: Expected, now: float) -> None:
        _same("htm", claims.get("htm"), expected.method)
        _same("htu", claims.get("htu"), expected.url)
        _same("ath", claims.get("ath"), digest(expected.access_token))
        if not isinstance(claims.get("iat"), int) or abs(claims["iat"] - now) > SKEW:
            raise Forged(f"iat {claims.get('iat')!r} is not now")
        jti = claims.get("jti")
        if not isinstance(jti, str) or not jti or jti in self.seen:
            raise Forged(f"jti {jti!r} is missing or was seen before")
        self.seen.add(jti)


@dataclass(slots=True)
class AssertionChecker:
    """Remembers each ``jti``: an assertion counts once."""

    seen: set[str] = field(default_factory=set)

    def check(self, assertion: str, key: PublicKey, audience: Collection[str], now: float) -> Token:
        """The parts of an assertion that ``key`` signed for one of ``audience`` and that is valid now."""
        token = compact.check(assertion, key)
        claims = token.claims
        if claims.get("aud") not in audience:
            raise Forged(f"aud {claims.get('aud')!r} is none of {sorted(audience)}")
        if not isinstance(claims.get("exp"), (int, float)) or claims["exp"] <= now:
            raise Forged(f"exp {claims.get('exp')!r} is over")
        if not isinstance(claims.get("iat"), (int, float)) or claims["iat"] > now + SKEW:
            raise Forged(f"iat {claims.get('iat')!r} is yet to come")
        jti = claims.get("jti")
        if not isinstance(jti, str) or not jti or jti in self.seen:
            raise Forged(f"jti {jti!r} is missing or was seen before")
        self.seen.add(jti)
        return token


def digest(access_token: str | None) -> str | None:
    """The ``ath`` that belongs to a token."""
    if access_token is None:
        return None
    return compact.to_text(hashlib.sha256(access_token.encode()).digest())


def _same(claim: str, found: object, wanted: object) -> None:
    if found != wanted:
        raise Forged(f"{claim} is {found!r}, not {wanted!r}")
