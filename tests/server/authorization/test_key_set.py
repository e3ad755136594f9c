"""The public keys of an issuer."""

from __future__ import annotations

import contextlib
from typing import Any

import hypothesis
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import dsa, ec
from hypothesis import strategies as st

from mcp_actors.server.authorization.key_set import given, published
from mcp_actors.server.authorization.public_key import SIGNATURES, UnusableKey, from_jwk
from tests.auth.jose.compact import thumbprint, to_text
from tests.server.authorization.issuer import Private, ec_key, ed_key, public_jwk, rsa_key


def pem(key: Any) -> bytes:
    return bytes(
        key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )


def private_pem(key: Private) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def test_no_algorithm_works_with_a_secret_or_without_any() -> None:
    assert not {name for name in SIGNATURES if name.startswith("HS") or name.lower() == "none"}


@pytest.mark.parametrize("key", [rsa_key(), ec_key(), ed_key()], ids=["RSA", "EC", "Ed25519"])
def test_a_key_knows_its_thumbprint_and_algorithms(key: Private) -> None:
    jwk = public_jwk(key, kid="k", use="sig")
    made = from_jwk(jwk)
    assert made.thumbprint == thumbprint(jwk)
    assert made.algorithms <= SIGNATURES
    assert repr(made).startswith("<PublicKey 'k' for ")


def test_keys_are_found_by_name_and_algorithm() -> None:
    keys = published({"keys": [public_jwk(rsa_key(), kid="r", alg="RS256"), public_jwk(ec_key(), kid="e")]})
    assert [key.key_id for key in keys.fitting("r", "RS256")] == ["r"]
    assert keys.fitting("r", "PS256") == []
    assert keys.fitting("r", "ES256") == []
    assert keys.fitting("x", "RS256") == []
    assert [key.key_id for key in keys.fitting(None, "ES256")] == ["e"]
    assert (keys.knows("r"), keys.knows("x"), keys.knows(None)) == (True, False, True)


@pytest.mark.parametrize(
    "jwk",
    [
        {"kty": "oct", "k": "c2VjcmV0"},
        {"kty": "RSA", "n": "AQAB", "e": "AQAB"},
        {"kty": "RSA"},
        {"kty": "EC", "crv": "P-256", "x": "AAAA", "y": "AAAA"},
        {"kty": "EC", "crv": "P-1", "x": "AAAA", "y": "AAAA"},
        {"kty": "OKP", "crv": "X25519", "x": "A" * 43},
        {"kty": ["RSA"]},
        {},
        {**public_jwk(rsa_key()), "use": "enc"},
        {**public_jwk(rsa_key()), "key_ops": ["encrypt"]},
        {**public_jwk(rsa_key()), "key_ops": "verify"},
        {**public_jwk(rsa_key()), "alg": "HS256"},
        {**public_jwk(rsa_key()), "alg": ["RS256"]},
        {**public_jwk(rsa_key()), "kid": 7},
        {**public_jwk(rsa_key()), "d": "AQAB"},
        public_jwk(rsa_key(1, 1024)),
        {"kty": "RSA", "e": "AQAB", "n": to_text((1 << 9000 | 1).to_bytes(1126, "big"))},
    ],
)
def test_a_key_of_no_use_is_passed_over(jwk: dict[str, Any]) -> None:
    with pytest.raises(UnusableKey):
        from_jwk(jwk)
    assert [key.key_id for key in published({"keys": [jwk, public_jwk(ec_key(), kid="e")]}).keys] == ["e"]


VALUES = (
    st.none() | st.booleans() | st.integers() | st.text() | st.just("AQAB") | st.lists(st.text(), max_size=2)
)


@hypothesis.given(
    st.sampled_from([{}, public_jwk(rsa_key()), public_jwk(ec_key()), public_jwk(ed_key())]),
    st.dictionaries(
        st.sampled_from(["kty", "n", "e", "crv", "x", "y", "d", "use", "key_ops", "alg", "kid"]), VALUES
    ),
)
def test_no_jwk_breaks_it(jwk: dict[str, Any], changes: dict[str, Any]) -> None:
    with contextlib.suppress(UnusableKey):
        from_jwk({**jwk, **changes})


@pytest.mark.parametrize("document", [{}, {"keys": None}, {"keys": {"a": 1}}, {"keys": ["x", 7, None]}])
def test_a_document_without_keys_has_none(document: dict[str, Any]) -> None:
    assert published(document).keys == ()


def test_an_issuer_has_only_so_many_keys() -> None:
    assert len(published({"keys": [public_jwk(ec_key())] * 200}).keys) == 64


@pytest.mark.parametrize(
    "material",
    [
        pem(rsa_key()),
        pem(rsa_key()).decode(),
        [pem(rsa_key()), pem(ec_key())],
        public_jwk(rsa_key()),
        [public_jwk(rsa_key())],
        {"keys": [public_jwk(rsa_key())]},
    ],
)
def test_an_operator_may_give_keys_in_any_form(material: Any) -> None:
    keys = given(material)
    # A key without a name is tried whatever the token calls it.
    assert len(keys.fitting("any", "RS256")) == 1


@pytest.mark.parametrize(
    ("material", "why"),
    [
        ([], "no key is given"),
        ("text", "no RSA, EC or Ed25519"),
        (private_pem(rsa_key()), "private"),
        (pem(ec.generate_private_key(ec.SECP256K1())), "no algorithm"),
        (pem(dsa.generate_private_key(1024)), "no RSA, EC or Ed25519"),
        ({"kty": "oct", "k": "c2VjcmV0"}, "kty"),
    ],
)
def test_an_operator_is_told_of_a_key_of_no_use(material: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        given(material)
