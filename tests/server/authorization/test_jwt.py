"""Tokens that an issuer has signed, and tokens that it has not."""

from __future__ import annotations

import hashlib
import hmac
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization

from mcp_actors.server.authorization import JwtVerifier, TokenRefused
from tests.server.authorization.issuer import (
    RESOURCE,
    Issuer,
    Private,
    claims,
    ec_key,
    ed_key,
    public_jwk,
    rsa_key,
    signed,
)
from tests.server.authorization.test_compact import part

ISSUER = "https://issuer.example"
EVERY_KEY = {
    "keys": [
        public_jwk(rsa_key(), kid="first"),
        public_jwk(ec_key(), kid="ec"),
        public_jwk(ed_key(), kid="ed"),
    ]
}


def verifier(**changes: Any) -> JwtVerifier:
    options: dict[str, Any] = {"issuer": ISSUER, "audience": RESOURCE, "keys": EVERY_KEY, **changes}
    return JwtVerifier(**options)


@pytest.mark.requirement("security:resource-server")
@pytest.mark.parametrize(
    ("key", "kid", "algorithm"),
    [
        (rsa_key(), "first", "RS256"),
        (rsa_key(), "first", "PS256"),
        (ec_key(), "ec", "ES256"),
        (ed_key(), "ed", "EdDSA"),
    ],
)
def test_a_good_token_names_its_principal(key: Private, kid: str, algorithm: str) -> None:
    principal = verifier().verify(signed(claims(), key, algorithm, kid=kid))
    assert (principal.subject, principal.client_id, principal.issuer) == ("alice", "editor", ISSUER)
    assert principal.scopes == {"read", "write"}
    assert principal.claims["aud"] == RESOURCE


@pytest.mark.parametrize("typ", ["at+jwt", "application/at+jwt", "JWT", None])
def test_the_types_of_access_tokens_are_taken(typ: str | None) -> None:
    assert verifier().verify(signed(claims(), rsa_key(), typ=typ)).subject == "alice"


@pytest.mark.parametrize("typ", ["dpop+jwt", "oauth-id-jag+jwt", "logout+jwt", ""])
def test_other_types_are_refused(typ: str) -> None:
    header, payload = {"alg": "RS256", "kid": "first", "typ": typ}, claims()
    message = f"{part(header)}.{part(payload)}"
    with pytest.raises(TokenRefused, match="no access token"):
        verifier().verify(f"{message}.{part(b'x' * 256)}")


def test_a_token_that_names_no_key_is_tried_with_all_that_fit() -> None:
    assert verifier().verify(signed(claims(), ec_key(), "ES256", kid=None)).subject == "alice"
    with pytest.raises(TokenRefused, match="signature"):
        verifier().verify(signed(claims(), ec_key(1), "ES256", kid=None))


@pytest.mark.requirement("security:resource-server")
@pytest.mark.parametrize("algorithm", ["none", "None", "NONE", "nOnE", ""])
def test_an_unsigned_token_is_refused(algorithm: str) -> None:
    for signature in ("", part(b"x")):
        token = f"{part({'alg': algorithm, 'kid': 'first', 'typ': 'at+jwt'})}.{part(claims())}.{signature}"
        with pytest.raises(TokenRefused):
            verifier().verify(token)


def public_forms() -> list[bytes]:
    public = rsa_key().public_key()
    info, pkcs1 = serialization.PublicFormat.SubjectPublicKeyInfo, serialization.PublicFormat.PKCS1
    return [
        public.public_bytes(serialization.Encoding.PEM, info),
        public.public_bytes(serialization.Encoding.DER, info),
        public.public_bytes(serialization.Encoding.PEM, pkcs1),
        json.dumps(public_jwk(rsa_key())).encode(),
        public_jwk(rsa_key())["n"].encode(),
    ]


@pytest.mark.requirement("security:resource-server")
@pytest.mark.parametrize("secret", public_forms(), ids=["pem", "der", "pkcs1", "jwk", "modulus"])
def test_a_public_key_is_no_secret_to_sign_with(secret: bytes) -> None:
    message = f"{part({'alg': 'HS256', 'kid': 'first', 'typ': 'at+jwt'})}.{part(claims())}"
    forged = hmac.new(secret, message.encode(), hashlib.sha256).digest()
    with pytest.raises(TokenRefused, match="algorithm"):
        verifier().verify(f"{message}.{part(forged)}")


@pytest.mark.requirement("security:resource-server")
@pytest.mark.parametrize("name", ["jwk", "jku", "x5u", "x5c"])
def test_a_key_that_the_token_brings_is_not_used(name: str, issuer: Issuer) -> None:
    own = public_jwk(rsa_key(7), kid="own")
    issuer.publish(own)
    brought: Any = {"jwk": own, "jku": issuer.url + "/keys", "x5u": issuer.url + "/keys", "x5c": ["AAAA"]}
    for kid in ("first", "own", None):
        with pytest.raises(TokenRefused):
            verifier().verify(signed(claims(), rsa_key(7), kid=kid, **{name: brought[name]}))
    assert issuer.requests == []


@pytest.mark.requirement("security:resource-server")
@pytest.mark.parametrize(
    "kid", ["../../dev/null", "' OR 1=1 --", "first\x00", "FIRST", "http://evil/", "x" * 9000]
)
def test_the_name_of_a_key_is_only_compared(kid: str) -> None:
    with pytest.raises(TokenRefused, match="key that the issuer does not have"):
        verifier().verify(signed(claims(), rsa_key(), kid=kid))


def test_a_key_is_used_with_its_own_algorithms_alone() -> None:
    only = {"keys": [public_jwk(rsa_key(), kid="first", alg="RS256")]}
    with pytest.raises(TokenRefused, match="key that the issuer does not have"):
        verifier(keys=only).verify(signed(claims(), rsa_key(), "PS256"))
    with pytest.raises(TokenRefused, match="key that the issuer does not have"):
        verifier().verify(signed(claims(), ec_key(), "ES256", kid="first"))


def test_an_algorithm_that_is_not_on_the_list_is_refused() -> None:
    with pytest.raises(TokenRefused, match="algorithm"):
        verifier().verify(signed(claims(), rsa_key(), "RS512"))
    assert verifier(algorithms=["RS512"]).verify(signed(claims(), rsa_key(), "RS512")).subject == "alice"


@pytest.mark.parametrize(
    ("key", "kid", "algorithm"),
    [
        (rsa_key(), "first", "RS256"),
        (rsa_key(), "first", "PS256"),
        (ec_key(), "ec", "ES256"),
        (ed_key(), "ed", "EdDSA"),
    ],
)
@pytest.mark.parametrize(
    "signature", [b"x", bytes(63), bytes(64), bytes(65), b"\xff" * 64, bytes(256), bytes(4000)]
)
def test_a_signature_of_any_size_is_refused(key: Private, kid: str, algorithm: str, signature: bytes) -> None:
    message = signed(claims(), key, algorithm, kid=kid).rpartition(".")[0]
    with pytest.raises(TokenRefused, match="signature"):
        verifier().verify(f"{message}.{part(signature)}")


@pytest.mark.requirement("security:resource-server")
def test_a_token_that_was_changed_is_refused() -> None:
    header, payload, signature = signed(claims(), rsa_key()).split(".")
    other = part(claims(sub="root"))
    for forged in (
        f"{header}.{other}.{signature}",
        f"{part({'alg': 'RS256', 'kid': 'ec'})}.{payload}.{signature}",
        f"{header}.{payload}.{signature[:-8]}",
        f"{header}.{payload}.{part(bytes(256))}",
        signed(claims(), rsa_key(1)),
    ):
        with pytest.raises(TokenRefused):
            verifier().verify(forged)


@pytest.mark.requirement("security:resource-server")
@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"aud": "https://other.example/mcp"}, "another server"),
        ({"iss": "https://evil.example"}, "another issuer"),
        ({"exp": 1}, "has expired"),
        ({"exp": None}, "no claim exp"),
        ({"sub": None}, "no claim sub"),
    ],
)
def test_a_signed_token_that_is_not_for_us_is_refused(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(TokenRefused, match=why):
        verifier().verify(signed(claims(**changes), rsa_key()))


def test_what_a_token_must_have_may_be_chosen() -> None:
    token = signed(claims(sub=None), rsa_key())
    assert verifier(required_claims=()).verify(token).subject == "editor"
    with pytest.raises(TokenRefused, match="no claim jti"):
        verifier(required_claims=("jti",)).verify(token)


def test_the_clock_and_its_leeway_decide() -> None:
    now = time.time()
    token = signed(claims(iat=None, exp=int(now) - 100), rsa_key())
    with pytest.raises(TokenRefused, match="has expired"):
        verifier().verify(token)
    assert verifier(leeway=200).verify(token).subject == "alice"
    assert verifier(now=lambda: now - 200).verify(token).subject == "alice"


def test_a_huge_token_is_refused_before_it_is_read() -> None:
    with pytest.raises(TokenRefused, match="form"):
        verifier().verify(signed(claims(padding="x" * 20_000), rsa_key()))


def test_refusals_do_not_repeat_the_token() -> None:
    for token in (signed(claims(exp=1), rsa_key()), signed(claims(), rsa_key(1)), "opaque-token-value"):
        with pytest.raises(TokenRefused) as refused:
            verifier().verify(token)
        told = f"{refused.value} {refused.value!r} {refused.value.__cause__!r}"
        assert not any(piece in told for piece in token.split("."))


def test_many_threads_may_ask_at_once() -> None:
    good, bad = signed(claims(), ec_key(), "ES256", kid="ec"), signed(claims(), ec_key(1), "ES256", kid="ec")
    shared = verifier()

    def ask(number: int) -> bool:
        try:
            return shared.verify(good if number % 2 else bad).subject == "alice"
        except TokenRefused:
            return False

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(200))) == [bool(number % 2) for number in range(200)]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"algorithms": ["HS256"]}, "not HS256"),
        ({"algorithms": ["RS256", "none"]}, "not none"),
        ({"algorithms": []}, "not none at all"),
        ({"algorithms": "RS256"}, "sequence"),
        ({"audience": []}, "audience is needed"),
        ({"jwks_uri": "https://issuer.example/keys"}, "not both"),
        ({"keys": None, "jwks_uri": "http://issuer.example/keys"}, "https"),
        ({"keys": None, "issuer": "http://issuer.example"}, "https"),
    ],
)
def test_a_dangerous_setup_is_refused(changes: dict[str, Any], why: str) -> None:
    with pytest.raises((ValueError, TypeError), match=why):
        verifier(**changes)


def test_a_verifier_does_not_print_its_keys() -> None:
    assert "keys" not in repr(verifier())
    assert ISSUER in repr(verifier())


def test_without_joserfc_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "joserfc", None)
    with pytest.raises(ModuleNotFoundError, match=r"mcp-actors\[auth\]"):
        verifier()
