"""The key that binds a client's tokens to it, and the proof it signs for each request (RFC 9449)."""

from __future__ import annotations

import base64
import hashlib
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mcp_actors.auth.jose.address import target
from mcp_actors.auth.jose.signing import SigningKey


@dataclass(frozen=True, slots=True, eq=False)
class DpopKey:
    """A signing key whose public half travels in every proof. Any thread may use it."""

    key: SigningKey
    now: Callable[[], float] = field(default=time.time, repr=False)

    @classmethod
    def generate(cls, algorithm: str = "ES256") -> DpopKey:
        """A new key: tokens bound to it die with the process, unless the key is loaded from elsewhere."""
        return cls(SigningKey.generate(algorithm))

    @classmethod
    def load(cls, source: str | bytes | Mapping[str, Any], algorithm: str | None = None) -> DpopKey:
        """Read a private key as ``SigningKey.load`` does; its ``kid`` plays no part here."""
        return cls(replace(SigningKey.load(source, algorithm), kid=None))

    @property
    def algorithm(self) -> str:
        return self.key.algorithm

    @property
    def thumbprint(self) -> str:
        """Of RFC 7638: what a bound token names as ``cnf.jkt``, an authorization request as ``dpop_jkt``."""
        return self.key.thumbprint

    def proof(
        self, method: str, url: str, *, access_token: str | None = None, nonce: str | None = None
    ) -> str:
        """The ``DPoP`` header of one request; each attempt needs a fresh one.

        Args:
            access_token: the token sent beside it; none at the token endpoint.
            nonce: what this origin last asked for with ``DPoP-Nonce``.
        """
        claims: dict[str, Any] = {
            "jti": secrets.token_urlsafe(24),
            "htm": method.upper(),
            "htu": target(url),
            "iat": int(self.now()),
        }
        if access_token is not None:
            claims["ath"] = _digest(access_token)
        if nonce is not None:
            claims["nonce"] = nonce
        return self.key.sign(claims, header={"typ": "dpop+jwt", "jwk": dict(self.key.public_jwk)})


def _digest(access_token: str) -> str:
    hashed = hashlib.sha256(access_token.encode("ascii")).digest()
    return base64.urlsafe_b64encode(hashed).rstrip(b"=").decode()
