"""PublicKey: what a signature is checked with. The border to joserfc, imported only when it is needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

from joserfc.errors import JoseError
from joserfc.jwk import ECKey, OKPKey, RSAKey
from joserfc.jws import JWSRegistry
from msgspec import Struct

from mcp_actors.auth.jose.library import ALGORITHMS, KINDS, curve_of
from mcp_actors.server.authorization.compact import Compact

__all__ = ["SIGNATURES", "PublicKey", "UnusableKey", "from_jwk", "from_pem"]

Native: TypeAlias = RSAKey | ECKey | OKPKey

#: Every algorithm there is a key for. None of them is symmetric, and none is ``none``.
SIGNATURES: Final = frozenset(name for names in ALGORITHMS.values() for name in names)
#: The members that make a public key (RFC 7518 6): nothing else of a document gets into a key.
_MEMBERS: Final = ("kty", "n", "e", "crv", "x", "y")
#: Shorter keys can be broken, longer ones cost their bearer nothing and us a lot.
_RSA_BITS: Final = range(2048, 8192 + 1)


class UnusableKey(ValueError):
    """A key that signatures are not checked with here: private, symmetric, too short, or none at all."""


class PublicKey(Struct, frozen=True):
    """A public key, its name, and what it may check."""

    key_id: str | None
    algorithms: frozenset[str]
    thumbprint: str
    """Of RFC 7638."""
    native: Native

    def verifies(self, compact: Compact) -> bool:
        """Whether the token bears this key's signature, by an algorithm of this key."""
        if compact.algorithm not in self.algorithms:
            return False
        return JWSRegistry.algorithms[compact.algorithm].verify(
            compact.signed, compact.signature, self.native
        )

    def __repr__(self) -> str:
        return f"<PublicKey {self.key_id!r} for {' '.join(sorted(self.algorithms))}>"


# Any: a JWK is JSON.
def from_jwk(jwk: Mapping[str, Any]) -> PublicKey:
    """The key that a JWK describes. Raises ``UnusableKey``."""
    kind = KINDS.get(str(jwk.get("kty")))
    if kind is None:
        raise UnusableKey("its kty is not RSA, EC or OKP")
    if kind is not RSAKey and str(jwk.get("crv")) not in ALGORITHMS:
        raise UnusableKey("there is no algorithm for its curve here")
    if "d" in jwk:
        raise UnusableKey("it is a private key")
    if jwk.get("use", "sig") != "sig" or "verify" not in _operations(jwk):
        raise UnusableKey("it is not for signatures (use, key_ops)")
    members = {name: jwk[name] for name in _MEMBERS if name in jwk}
    try:
        kind.validate_dict_key(members)
        native: Native = kind(found := kind.binding.import_from_dict(members), found)
    except (JoseError, ValueError, TypeError, KeyError, ArithmeticError) as error:
        raise UnusableKey(f"it is no {jwk['kty']} key") from error
    return _checked(native, jwk.get("kid"), jwk.get("alg"))


def from_pem(text: bytes) -> PublicKey:
    """The public key in a PEM document. Raises ``UnusableKey``."""
    for kind in KINDS.values():
        try:
            found = kind.binding.import_from_bytes(text)
            native: Native = kind(found, found)
        except (JoseError, ValueError, TypeError):
            continue
        if native.is_private:
            raise UnusableKey("it is a private key")
        return _checked(native)
    raise UnusableKey("it is no RSA, EC or Ed25519 public key in PEM")


def _operations(jwk: Mapping[str, Any]) -> Iterable[object]:
    found = jwk.get("key_ops", ["verify"])
    return found if isinstance(found, list) else []


def _checked(native: Native, key_id: object = None, stated: object = None) -> PublicKey:
    if isinstance(native, RSAKey) and native.raw_value.key_size not in _RSA_BITS:
        raise UnusableKey("it has fewer than 2048 or more than 8192 bits")
    possible = ALGORITHMS.get(curve_of(native), ())
    algorithms = frozenset(name for name in possible if stated in (None, name))
    if not algorithms:
        raise UnusableKey("there is no algorithm for it here")
    if key_id is not None and not isinstance(key_id, str):
        raise UnusableKey("its kid is no text")
    return PublicKey(key_id, algorithms, native.thumbprint(), native)
