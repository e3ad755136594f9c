"""JwtVerifier: tokens that an issuer has signed (RFC 9068 and its kin)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from mcp_actors.auth.jose.signing import require_joserfc
from mcp_actors.server.authorization.claims import Expectations, audiences_of, principal_of
from mcp_actors.server.authorization.compact import Compact, parse
from mcp_actors.server.authorization.fetched_keys import FetchedKeys
from mcp_actors.server.authorization.key_set import KeyMaterial, KeySet, given
from mcp_actors.server.authorization.metadata import checked_url
from mcp_actors.server.authorization.principal import Principal
from mcp_actors.server.authorization.verifier import TokenRefused

__all__ = ["ALGORITHMS", "JwtVerifier", "check_algorithms"]

ALGORITHMS: Final = ("RS256", "ES256", "EdDSA", "PS256")
#: An access token says the first or, in older issuers, the second or nothing. A proof, a logout token or a
#: grant of the same issuer says something else.
_TYPES: Final = ("at+jwt", "jwt", None)
_ALWAYS: Final = ("iss", "aud", "exp")


class _Source(Protocol):
    def find(self, key_id: str | None) -> KeySet: ...


class _Given:
    """Keys that do not change."""

    def __init__(self, keys: KeySet) -> None:
        self._keys = keys

    def find(self, key_id: str | None) -> KeySet:  # noqa: ARG002 - there is nobody to ask for others
        return self._keys


@dataclass(frozen=True, kw_only=True, eq=False)
class JwtVerifier:
    """Checks signature, issuer, audience and time. Any thread.

    Args:
        issuer: who signs, letter by letter as its tokens say it.
        audience: this server's URL, or the names the issuer has for it.
        jwks_uri: where the issuer's keys are; found out from the issuer if it is not given.
        keys: the keys themselves (a JWK Set, JWKs or PEM): then nobody is asked.
        algorithms: what tokens may be signed with; asymmetric ones alone.
        leeway: seconds by which clocks may differ.
        required_claims: what a token must have besides ``iss``, ``aud`` and ``exp``.
        scope_claim: where the scopes are; some issuers call it ``scp``.

    Raises:
        ValueError: an algorithm or an address that is not allowed, or a key of no use.
        ModuleNotFoundError: the extra ``[auth]`` is not installed.
    """

    issuer: str
    audience: str | Sequence[str]
    jwks_uri: str | None = None
    keys: KeyMaterial | None = field(default=None, repr=False)
    algorithms: Sequence[str] = ALGORITHMS
    leeway: float = 30.0
    required_claims: Sequence[str] = ("sub",)
    scope_claim: str = "scope"
    now: Callable[[], float] = field(default=time.time, repr=False)
    _source: _Source = field(init=False, repr=False)
    _expectations: Expectations = field(init=False, repr=False)

    def __post_init__(self) -> None:
        require_joserfc()
        check_algorithms(self.algorithms)
        audiences = audiences_of(self.audience if isinstance(self.audience, str) else list(self.audience))
        if not audiences:
            raise ValueError("an audience is needed: without it tokens for other servers would be good here")
        required = (*_ALWAYS, *self.required_claims)
        expectations = Expectations(self.issuer, audiences, required, self.leeway)
        object.__setattr__(self, "_expectations", expectations)
        object.__setattr__(self, "_source", self._made_source())

    def verify(self, token: str) -> Principal:
        """Who the token speaks for. Raises ``TokenRefused``, ``VerifierUnavailable``."""
        compact = parse(token)
        if compact.algorithm not in self.algorithms:
            raise TokenRefused("the token is not signed with an algorithm that is allowed here")
        if compact.type not in _TYPES:
            raise TokenRefused("this is no access token (typ)")
        self._check_signature(compact)
        self._expectations.check(compact.claims, self.now())
        return principal_of(compact.claims, self.scope_claim, self.issuer)

    def _check_signature(self, compact: Compact) -> None:
        # Keys come from the issuer alone: what the token brings (jwk, jku, x5u) is not even looked at.
        keys = self._source.find(compact.key_id).fitting(compact.key_id, compact.algorithm)
        if not keys:
            raise TokenRefused("the token is signed with a key that the issuer does not have")
        if not any(key.verifies(compact) for key in keys):
            raise TokenRefused("the signature of the token is wrong")

    def _made_source(self) -> _Source:
        if self.keys is not None:
            if self.jwks_uri is not None:
                raise ValueError("either keys or jwks_uri, not both")
            return _Given(given(self.keys))
        if self.jwks_uri is not None:
            return FetchedKeys(self.issuer, checked_url(self.jwks_uri, "the address of the keys"))
        return FetchedKeys(checked_url(self.issuer, "the issuer"))


def check_algorithms(algorithms: Sequence[str]) -> None:
    """Raises ``ValueError`` for what signs nothing, or signs with a secret; ``TypeError`` for one text."""
    from mcp_actors.server.authorization.public_key import SIGNATURES

    if isinstance(algorithms, str):
        raise TypeError("algorithms is a sequence of names, not one name")
    strange = sorted(set(algorithms) - SIGNATURES)
    if strange or not algorithms:
        # HS256 with a published key as the secret could be signed by anybody who read it.
        wrong = ", ".join(strange) or "none at all"
        raise ValueError(f"algorithms are some of {', '.join(sorted(SIGNATURES))}, not {wrong}")
