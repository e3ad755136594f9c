"""Signed JWTs made and checked with the primitives of ``cryptography`` alone.

The package signs with joserfc; whoever checks what it signs must not share a mistake with it.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa, utils

PublicKey: TypeAlias = rsa.RSAPublicKey | ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey

CURVES: Final[dict[str, tuple[type[ec.EllipticCurve], hashes.HashAlgorithm]]] = {
    "ES256": (ec.SECP256R1, hashes.SHA256()),
    "ES384": (ec.SECP384R1, hashes.SHA384()),
    "ES512": (ec.SECP521R1, hashes.SHA512()),
}
HASHES: Final[dict[str, hashes.HashAlgorithm]] = {
    "256": hashes.SHA256(),
    "384": hashes.SHA384(),
    "512": hashes.SHA512(),
}
NAMED_CURVES: Final[dict[str, type[ec.EllipticCurve]]] = {
    "P-256": ec.SECP256R1,
    "P-384": ec.SECP384R1,
    "P-521": ec.SECP521R1,
}
#: The members of RFC 7638, in the order of their names.
THUMBPRINT_MEMBERS: Final = {
    "EC": ("crv", "kty", "x", "y"),
    "RSA": ("e", "kty", "n"),
    "OKP": ("crv", "kty", "x"),
}


class Forged(Exception):
    """A token that is not what it claims to be."""


@dataclass(frozen=True, slots=True)
class Token:
    """The two readable parts of a JWT."""

    header: dict[str, Any]
    claims: dict[str, Any]


def to_text(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def to_bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def read(token: str) -> Token:
    """The parts of a token, unchecked."""
    try:
        header, claims, _ = (to_bytes(part) for part in token.split("."))
        return Token(json.loads(header), json.loads(claims))
    except ValueError as error:
        raise Forged(f"no JWT: {error}") from error


def check(token: str, key: PublicKey) -> Token:
    """The parts of a token whose signature is that of ``key``."""
    found = read(token)
    message, _, signature = token.rpartition(".")
    try:
        _verify(found.header.get("alg", ""), key, to_bytes(signature), message.encode())
    except (InvalidSignature, KeyError, AssertionError) as error:
        raise Forged(f"the signature ({found.header.get('alg')}) does not match the key") from error
    return found


def _verify(algorithm: str, key: PublicKey, signature: bytes, message: bytes) -> None:
    if algorithm in ("EdDSA", "Ed25519"):
        assert isinstance(key, ed25519.Ed25519PublicKey)
        key.verify(signature, message)
    elif algorithm in CURVES:
        assert isinstance(key, ec.EllipticCurvePublicKey)
        curve, digest = CURVES[algorithm]
        assert isinstance(key.curve, curve)
        half = (key.key_size + 7) // 8
        assert len(signature) == 2 * half
        r, s = (int.from_bytes(part, "big") for part in (signature[:half], signature[half:]))
        key.verify(utils.encode_dss_signature(r, s), message, ec.ECDSA(digest))
    else:
        assert isinstance(key, rsa.RSAPublicKey)
        digest = HASHES[algorithm[2:]]
        mask = padding.PSS(padding.MGF1(digest), digest.digest_size)
        key.verify(signature, message, {"RS": padding.PKCS1v15(), "PS": mask}[algorithm[:2]], digest)


def public_key(source: str | bytes | Mapping[str, Any]) -> PublicKey:
    """A public key from PEM or JWK; whatever is private in a JWK is a mistake of its sender."""
    if isinstance(source, (str, bytes)):
        text = source.encode() if isinstance(source, str) else source
        loaded = serialization.load_pem_public_key(text)
        assert isinstance(loaded, (rsa.RSAPublicKey, ec.EllipticCurvePublicKey, ed25519.Ed25519PublicKey))
        return loaded
    if "d" in source or "k" in source:
        raise Forged("a private key was sent")
    try:
        return _from_members(source)
    except (KeyError, ValueError) as error:
        raise Forged(f"no public key: {error!r}") from error


def _from_members(jwk: Mapping[str, Any]) -> PublicKey:
    def number(name: str) -> int:
        return int.from_bytes(to_bytes(jwk[name]), "big")

    if jwk["kty"] == "RSA":
        return rsa.RSAPublicNumbers(number("e"), number("n")).public_key()
    if jwk["kty"] == "EC":
        return ec.EllipticCurvePublicNumbers(
            number("x"), number("y"), NAMED_CURVES[jwk["crv"]]()
        ).public_key()
    return {"Ed25519": ed25519.Ed25519PublicKey}[jwk["crv"]].from_public_bytes(to_bytes(jwk["x"]))


def thumbprint(jwk: Mapping[str, Any]) -> str:
    """RFC 7638: the digest of the members that make the key, and of no other."""
    members = {name: jwk[name] for name in THUMBPRINT_MEMBERS[jwk["kty"]]}
    return to_text(hashlib.sha256(json.dumps(members, separators=(",", ":")).encode()).digest())


class Signer:
    """An ES256 key, for the tokens that servers sign."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())

    @property
    def public_key(self) -> PublicKey:
        return self._key.public_key()

    def sign(self, claims: Mapping[str, Any], *, typ: str = "JWT") -> str:
        header = {"typ": typ, "alg": "ES256"}
        message = ".".join(to_text(json.dumps(part).encode()) for part in (header, dict(claims)))
        r, s = utils.decode_dss_signature(self._key.sign(message.encode(), ec.ECDSA(hashes.SHA256())))
        return f"{message}.{to_text(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"
