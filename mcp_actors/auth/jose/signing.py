"""A private key that signs JSON Web Tokens, and keeps itself out of every text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp_actors.auth.jose.library import PrivateKey


@dataclass(frozen=True, slots=True, eq=False)
class SigningKey:
    """A private RSA, EC or Ed25519 key and the one algorithm it signs with. Any thread may use it."""

    algorithm: str
    kid: str | None
    thumbprint: str
    public_jwk: Mapping[str, Any] = field(repr=False)
    _key: PrivateKey = field(repr=False)

    @classmethod
    def load(
        cls, source: str | bytes | Mapping[str, Any], algorithm: str | None = None, *, kid: str | None = None
    ) -> SigningKey:
        """Read a private key: PEM, or a JWK as text or mapping.

        Args:
            source: the key itself, not the name of a file.
            algorithm: what the authorization server expects; by default the JWK's ``alg``, else what fits
                the key: RS256, ES256, ES384, ES512 or EdDSA.
            kid: the name under which the server knows the key; by default the JWK's ``kid``, else none.

        Raises:
            ValueError: no private key, or none for ``algorithm``. The text never shows the key.
            ModuleNotFoundError: the extra ``[auth]`` is not installed.
        """
        require_joserfc()
        from mcp_actors.auth.jose import library

        members = _members(source)
        if members is None:
            assert not isinstance(source, Mapping)
            text = source.encode() if isinstance(source, str) else source
            return cls._of(library.import_pem(text), algorithm, kid)
        key, stated = library.import_jwk(members), members.get("alg")
        if algorithm is not None and stated not in (None, algorithm):
            raise ValueError(f"the JWK is for {stated!r}, not for {algorithm!r}")
        return cls._of(key, algorithm or stated, kid or members.get("kid"))

    @classmethod
    def generate(cls, algorithm: str = "ES256", *, kid: str | None = None) -> SigningKey:
        """A new key, which exists in this process alone."""
        require_joserfc()
        from mcp_actors.auth.jose import library

        return cls._of(library.generate(algorithm), algorithm, kid)

    @classmethod
    def _of(cls, key: PrivateKey, algorithm: str | None, kid: str | None) -> SigningKey:
        from mcp_actors.auth.jose import library

        curve = library.curve_of(key)
        possible = library.ALGORITHMS[curve]
        if algorithm is not None and algorithm not in possible:
            raise ValueError(f"the key ({curve}) signs with {' or '.join(possible)}, not with {algorithm!r}")
        return cls(algorithm or possible[0], kid, key.thumbprint(), library.public_members(key), key)

    def sign(self, claims: Mapping[str, Any], *, header: Mapping[str, Any] | None = None) -> str:
        """The claims as a signed JWT. Its header says ``alg`` and, where one is known, ``kid``."""
        from mcp_actors.auth.jose import library

        known = {"alg": self.algorithm} if self.kid is None else {"alg": self.algorithm, "kid": self.kid}
        return library.sign({"typ": "JWT", **(header or {}), **known}, claims, self._key)


def require_joserfc() -> None:
    """Say which extra is missing, before an import fails in words about a library nobody has heard of."""
    try:
        import_module("joserfc")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "signing (private_key_jwt, DPoP) needs joserfc, which the extra [auth] brings: "
            "pip install 'mcp-actors[auth]'",
            name=error.name,
        ) from None


def _members(source: str | bytes | Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The members of a JWK, or None where no JSON object begins: that is PEM, or nothing."""
    if isinstance(source, Mapping):
        return source
    text = source.strip()
    if text[:1] not in ("{", b"{"):
        return None
    try:
        members: dict[str, Any] = json.loads(text)
    except (ValueError, RecursionError):
        # Not chained: the error of the JSON parser holds the document, here a private key.
        raise ValueError("the key begins like a JWK but is not valid JSON") from None
    return members
