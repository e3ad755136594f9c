"""The border to joserfc: native keys in, signed text out. Imported only when the first key is made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias, cast

from joserfc import jwt
from joserfc.errors import InvalidKeyTypeError, JoseError
from joserfc.jwk import ECKey, OKPKey, RSAKey
from joserfc.jws import JWSRegistry

PrivateKey: TypeAlias = RSAKey | ECKey | OKPKey

KINDS: Final[dict[str, type[RSAKey] | type[ECKey] | type[OKPKey]]] = {
    "RSA": RSAKey,
    "EC": ECKey,
    "OKP": OKPKey,
}
#: What a key can sign, by its type and curve; the first is taken when nobody says.
ALGORITHMS: Final[dict[str, tuple[str, ...]]] = {
    "RSA": ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    "P-256": ("ES256",),
    "P-384": ("ES384",),
    "P-521": ("ES512",),
    # RFC 9864 renamed EdDSA to Ed25519; most servers know only the old name.
    "Ed25519": ("EdDSA", "Ed25519"),
}
_RSA_BITS: Final = 2048


class _Registry(JWSRegistry):
    """Every algorithm of the table above, without the warning that EdDSA has a newer name."""

    def get_alg(self, name: str) -> Any:
        return self.algorithms[name]


def import_jwk(members: Mapping[str, Any]) -> PrivateKey:
    """The private key that a JWK describes. Raises ``ValueError`` without a word of its content."""
    kind = KINDS.get(str(members.get("kty")))
    if kind is None:
        raise ValueError("a JWK to sign with has the kty RSA, EC or OKP")
    try:
        kind.validate_dict_key(dict(members))
        key = _checked(kind, kind.binding.import_from_dict(dict(members)))
    except (JoseError, ValueError, TypeError, KeyError, ArithmeticError) as error:
        # Not chained: what these errors carry may be the key itself.
        raise ValueError(f"the JWK is not a usable {members['kty']} private key{_reason(error)}") from None
    if any(members[name] != value for name, value in public_members(key).items()):
        raise ValueError("the public and the private part of the JWK do not belong together")
    _check_use(members)
    return key


def import_pem(text: bytes) -> PrivateKey:
    """The private key in a PEM document. Raises ``ValueError`` without a word of its content."""
    for kind in KINDS.values():
        try:
            return _checked(kind, kind.binding.import_from_bytes(text))
        except InvalidKeyTypeError:
            continue
        except TypeError:
            raise ValueError("the private key is encrypted: decrypt it before it is loaded") from None
        except ValueError as error:
            raise ValueError(f"this is no private key in PEM{_reason(error)}") from None
    raise ValueError("a key to sign with is an RSA, EC or Ed25519 key")


def generate(algorithm: str) -> PrivateKey:
    """A new key for ``algorithm``."""
    curve = next((curve for curve, names in ALGORITHMS.items() if algorithm in names), None)
    match curve:
        case "RSA":
            return RSAKey.generate_key(_RSA_BITS)
        case "P-256" | "P-384" | "P-521":
            return ECKey.generate_key(curve)
        case "Ed25519":
            return OKPKey.generate_key("Ed25519")
    raise ValueError(f"no algorithm {algorithm!r}: choose one of {', '.join(sum(ALGORITHMS.values(), ()))}")


def public_members(key: PrivateKey) -> dict[str, Any]:
    """The public half as a JWK: the members that make the key, and no other."""
    return cast(dict[str, Any], key.as_dict(private=False))


def curve_of(key: PrivateKey) -> str:
    """The row of ``ALGORITHMS`` that a key belongs to."""
    return "RSA" if isinstance(key, RSAKey) else key.curve_name


def sign(header: Mapping[str, Any], claims: Mapping[str, Any], key: PrivateKey) -> str:
    """The compact form of a signed JWT; the header names its algorithm and type."""
    return jwt.encode(dict(header), dict(claims), key, registry=_Registry(), default_type=None)


class _Unfit(ValueError):
    """A refusal in our own words, which hold nothing of the key."""


def _checked(kind: type[RSAKey] | type[ECKey] | type[OKPKey], native: Any) -> PrivateKey:
    # Made from the native key, never from the document: its other members would end up in public headers.
    key = kind(native, native)
    if not key.is_private:
        raise _Unfit("it is a public key")
    if isinstance(key, RSAKey) and native.key_size < _RSA_BITS:
        raise _Unfit(f"it has {native.key_size} bits, at least {_RSA_BITS} are needed")
    if curve_of(key) not in ALGORITHMS:
        raise _Unfit(f"the curve {curve_of(key)} does not sign")
    return key


def _check_use(members: Mapping[str, Any]) -> None:
    if members.get("use", "sig") != "sig" or "sign" not in members.get("key_ops", ("sign",)):
        raise ValueError("the JWK says itself that it is not meant for signing (use, key_ops)")


def _reason(error: Exception) -> str:
    return f": {error}" if isinstance(error, _Unfit) else ""
