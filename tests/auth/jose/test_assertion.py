"""A client assertion says who, to whom and until when, once."""

from __future__ import annotations

import json

import jwt
import pytest

from mcp_actors.auth.jose import SigningKey, client_assertion
from tests.auth.jose import compact
from tests.auth.jose.compact import Forged
from tests.auth.jose.proofs import AssertionChecker

ISSUER = "https://auth.example/tenant1"


@pytest.mark.requirement("security:oauth")
def test_an_assertion_is_what_the_rfc_wants_in_the_eyes_of_another_library() -> None:
    key = SigningKey.generate("ES256", kid="mine")
    assertion = client_assertion(client_id="me", audience=ISSUER, key=key)
    public = jwt.PyJWK(dict(key.public_jwk), algorithm="ES256")
    claims = jwt.decode(
        assertion, public, algorithms=["ES256"], audience=ISSUER, issuer="me",
        options={"require": ["iss", "sub", "aud", "exp", "iat", "jti"]},
    )  # fmt: skip
    assert claims["sub"] == "me"
    assert claims["exp"] - claims["iat"] == 300
    assert jwt.get_unverified_header(assertion) == {"typ": "JWT", "alg": "ES256", "kid": "mine"}


def test_the_audience_is_one_string() -> None:
    # A list, though legal, would be taken by several servers.
    assertion = client_assertion(client_id="me", audience=ISSUER, key=SigningKey.generate())
    assert json.loads(compact.to_bytes(assertion.split(".")[1]))["aud"] == ISSUER


@pytest.mark.parametrize(("lifetime", "seconds"), [(60.0, 60), (0.5, 1), (1.9, 1)])
def test_it_lives_as_long_as_asked(lifetime: float, seconds: int) -> None:
    key = SigningKey.generate()
    assertion = client_assertion(
        client_id="me", audience=ISSUER, key=key, lifetime=lifetime, now=lambda: 1000.7
    )
    claims = compact.check(assertion, compact.public_key(key.public_jwk)).claims
    assert (claims["iat"], claims["exp"]) == (1000, 1000 + seconds)


@pytest.mark.parametrize("lifetime", [0, -1.0])
def test_a_lifetime_of_nothing_is_a_mistake(lifetime: float) -> None:
    with pytest.raises(ValueError, match="lifetime must be above 0"):
        client_assertion(client_id="me", audience=ISSUER, key=SigningKey.generate(), lifetime=lifetime)


def test_each_assertion_counts_once() -> None:
    key = SigningKey.generate()
    public = compact.public_key(key.public_jwk)
    checker = AssertionChecker()
    first, second = (
        client_assertion(client_id="me", audience=ISSUER, key=key, now=lambda: 1000.0) for _ in range(2)
    )
    checker.check(first, public, {ISSUER}, 1000.0)
    checker.check(second, public, {ISSUER}, 1000.0)
    with pytest.raises(Forged, match="seen before"):
        checker.check(first, public, {ISSUER}, 1000.0)


def test_the_checker_sees_a_wrong_audience_a_late_use_and_a_foreign_key() -> None:
    key, public = SigningKey.generate(), compact.public_key(SigningKey.generate().public_jwk)
    own = compact.public_key(key.public_jwk)
    assertion = client_assertion(client_id="me", audience=ISSUER, key=key, now=lambda: 1000.0)
    for signer, audience, now, words in (
        (own, "https://other.example", 1000.0, "aud"),
        (own, ISSUER, 1300.0, "exp"),
        (own, ISSUER, 100.0, "iat"),
        (public, ISSUER, 1000.0, "signature"),
    ):
        with pytest.raises(Forged, match=words):
            AssertionChecker().check(assertion, signer, {audience}, now)
