"""Keys are read, checked against their algorithm, and never shown; others can check what they sign."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed448, ed25519, rsa, x25519

from mcp_actors.auth.jose import SigningKey
from tests.auth.jose import compact

Native = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey

RSA = rsa.generate_private_key(65537, 2048)
P256, P384, P521 = (
    ec.generate_private_key(curve) for curve in (ec.SECP256R1(), ec.SECP384R1(), ec.SECP521R1())
)
ED = ed25519.Ed25519PrivateKey.generate()

INFERRED = [(RSA, "RS256"), (P256, "ES256"), (P384, "ES384"), (P521, "ES512"), (ED, "EdDSA")]
CHOSEN = [(RSA, name) for name in ("RS384", "RS512", "PS256", "PS384", "PS512")]


def pem(key: Any, encryption: serialization.KeySerializationEncryption | None = None) -> str:
    form = serialization.PrivateFormat.PKCS8
    no = serialization.NoEncryption()
    return str(key.private_bytes(serialization.Encoding.PEM, form, encryption or no).decode())


def jwk(key: Native, **members: Any) -> dict[str, Any]:
    """The private JWK, as PyJWT writes it."""
    algorithm = {rsa.RSAPrivateKey: "RS256", ec.EllipticCurvePrivateKey: "ES256"}
    name = next((name for kind, name in algorithm.items() if isinstance(key, kind)), "EdDSA")
    return {**json.loads(jwt.get_algorithm_by_name(name).to_jwk(key)), **members}


def traditional(key: Any) -> str:
    form = serialization.PrivateFormat.TraditionalOpenSSL
    return str(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()).decode())


@pytest.mark.parametrize(("native", "algorithm"), INFERRED, ids=[name for _, name in INFERRED])
@pytest.mark.parametrize(
    "source",
    [
        pem,
        lambda key: pem(key).encode(),
        jwk,
        lambda key: json.dumps(jwk(key)),
        lambda key: f"\n{pem(key)}\n",
    ],
    ids=["pem", "pem bytes", "jwk", "jwk text", "padded pem"],
)
def test_the_algorithm_follows_from_the_key_and_others_accept_the_signature(
    native: Native, algorithm: str, source: Callable[[Native], Any]
) -> None:
    key = SigningKey.load(source(native))
    signed = key.sign({"sub": "me"})
    assert key.algorithm == algorithm
    assert jwt.decode(signed, native.public_key(), algorithms=[algorithm]) == {"sub": "me"}
    assert compact.check(signed, native.public_key()).header == {"typ": "JWT", "alg": algorithm}


@pytest.mark.parametrize(("native", "algorithm"), CHOSEN, ids=[name for _, name in CHOSEN])
def test_an_algorithm_may_be_chosen_among_those_of_the_key(native: Native, algorithm: str) -> None:
    signed = SigningKey.load(pem(native), algorithm).sign({"sub": "me"})
    assert jwt.decode(signed, native.public_key(), algorithms=[algorithm]) == {"sub": "me"}


def test_ed25519_signs_under_its_new_name_if_asked() -> None:
    found = compact.check(SigningKey.load(pem(ED), "Ed25519").sign({"sub": "me"}), ED.public_key())
    assert found.header["alg"] == "Ed25519"


@pytest.mark.parametrize("native", [RSA, P256], ids=["rsa", "ec"])
def test_the_older_pem_forms_are_read(native: Native) -> None:
    assert SigningKey.load(traditional(native)).thumbprint == SigningKey.load(pem(native)).thumbprint


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"])
def test_a_generated_key_signs(algorithm: str) -> None:
    key = SigningKey.generate(algorithm, kid="mine")
    found = compact.check(key.sign({"n": 1}), compact.public_key(key.public_jwk))
    assert found.header == {"typ": "JWT", "alg": algorithm, "kid": "mine"}


def test_the_jwk_names_its_algorithm_and_its_id() -> None:
    key = SigningKey.load(jwk(RSA, alg="PS256", kid="2026-1", use="sig"))
    assert (key.algorithm, key.kid) == ("PS256", "2026-1")
    assert compact.read(key.sign({})).header["kid"] == "2026-1"
    assert SigningKey.load(jwk(RSA, kid="2026-1"), kid="other").kid == "other"


def test_alg_and_kid_of_a_header_cannot_be_replaced() -> None:
    key = SigningKey.load(jwk(P256, kid="mine"))
    header = compact.read(key.sign({}, header={"alg": "none", "kid": "other", "typ": "x"})).header
    assert header == {"alg": "ES256", "kid": "mine", "typ": "x"}


@pytest.mark.parametrize("native", [RSA, P256, ED], ids=["rsa", "ec", "ed25519"])
def test_the_public_jwk_holds_the_public_members_and_nothing_else(native: Native) -> None:
    key = SigningKey.load(jwk(native, kid="mine", x5t="abc", note="private remark"))
    assert sorted(key.public_jwk) == sorted(compact.THUMBPRINT_MEMBERS[key.public_jwk["kty"]])
    assert key.thumbprint == compact.thumbprint(key.public_jwk)


def test_the_thumbprint_is_the_one_of_the_rfc() -> None:
    # RFC 7638 §3.1 gives this key and its digest.
    modulus = (
        "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3"
        "oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdA"
        "ZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur"
        "-kEgU8awapJzKnqDKgw"
    )
    assert compact.thumbprint({"kty": "RSA", "n": modulus, "e": "AQAB"}) == (
        "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"
    )


@pytest.mark.parametrize(
    ("source", "algorithm", "words"),
    [
        (pem(P256), "RS256", "signs with ES256, not with 'RS256'"),
        (pem(P256), "ES384", "signs with ES256"),
        (pem(RSA), "HS256", "signs with RS256"),
        (pem(ED), "none", "signs with EdDSA"),
        (jwk(P256, alg="ES256"), "ES384", "is for 'ES256'"),
        (jwk(P256, alg="RS256"), None, "signs with ES256"),
        (jwk(P256, use="enc"), None, "not meant for signing"),
        (jwk(P256, key_ops=["verify"]), None, "not meant for signing"),
        ({"kty": "oct", "k": "c2VjcmV0LXNlY3JldA"}, None, "RSA, EC or OKP"),
        ({}, None, "RSA, EC or OKP"),
        ({"kty": "EC", "crv": "P-256"}, None, "not a usable EC private key"),
        ({**jwk(P256), "crv": "P-999"}, None, "not a usable EC private key"),
        ({**jwk(P256), "d": 5}, None, "not a usable EC private key"),
        ({**jwk(P256), "d": "not base64!"}, None, "not a usable EC private key"),
        ({**jwk(P256), "x": jwk(ec.generate_private_key(ec.SECP256R1()))["x"]}, None, "not a usable EC"),
        ({**jwk(ED), "x": jwk(ed25519.Ed25519PrivateKey.generate())["x"]}, None, "do not belong together"),
        ({name: value for name, value in jwk(P256).items() if name != "d"}, None, "it is a public key"),
        (pem(rsa.generate_private_key(65537, 1024)), None, "1024 bits, at least 2048"),
        (jwk(rsa.generate_private_key(65537, 1024)), None, "1024 bits, at least 2048"),
        (pem(ec.generate_private_key(ec.SECP256K1())), None, "secp256k1 does not sign"),
        (pem(x25519.X25519PrivateKey.generate()), None, "X25519 does not sign"),
        (pem(ed448.Ed448PrivateKey.generate()), None, "Ed448 does not sign"),
        (pem(dsa.generate_private_key(1024)), None, "RSA, EC or Ed25519"),
        (pem(RSA, serialization.BestAvailableEncryption(b"password")), None, "encrypted"),
        ("{'kty': 'EC'}", None, "not valid JSON"),
        ("{" * 100_000, None, "not valid JSON"),
        ("/path/to/key.pem", None, "no private key in PEM"),
        ("", None, "no private key in PEM"),
        (b"\xff\xfe", None, "no private key in PEM"),
    ],
)  # fmt: skip
def test_what_cannot_sign_is_refused_in_words(source: Any, algorithm: str | None, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        SigningKey.load(source, algorithm)
    assert caught.value.__cause__ is None


def test_a_public_key_is_refused() -> None:
    public = P256.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    with pytest.raises(ValueError, match="it is a public key"):
        SigningKey.load(public)


def test_no_algorithm_of_that_name_is_generated() -> None:
    with pytest.raises(ValueError, match="no algorithm 'HS256': choose one of RS256"):
        SigningKey.generate("HS256")


def test_no_text_about_a_key_shows_it() -> None:
    private = jwk(P256, kid="mine")
    key = SigningKey.load(private)
    assert repr(key) == f"SigningKey(algorithm='ES256', kid='mine', thumbprint='{key.thumbprint}')"
    assert private["d"] not in f"{key} {key!r} {key.public_jwk}"
    with pytest.raises(TypeError):
        pickle.dumps(key)


@pytest.mark.parametrize("broken", [{"x": 7}, {"y": "!"}, {"crv": None}, {"d": "short"}, {"kty": "RSA"}])
def test_no_refusal_shows_the_key(broken: dict[str, Any]) -> None:
    private = jwk(P256)
    with pytest.raises(ValueError, match="private key") as caught:
        SigningKey.load({**private, **broken})
    assert private["d"] not in str(caught.value)
    assert caught.value.__suppress_context__


def test_without_the_library_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "joserfc", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'mcp-actors\[auth\]'"):
        SigningKey.generate()
    with pytest.raises(ModuleNotFoundError, match=r"extra \[auth\]"):
        SigningKey.load(pem(P256))


def test_importing_the_package_does_not_import_the_library() -> None:
    program = "import sys, mcp_actors.auth.jose; print(*[name for name in sys.modules if 'joserfc' in name])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == ""
