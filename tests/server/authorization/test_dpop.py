"""Proofs that a token is shown by the one it was issued to."""

from __future__ import annotations

import base64
import hashlib
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from mcp_actors.auth import DpopKey
from mcp_actors.server.authorization import DpopVerifier
from mcp_actors.server.authorization.dpop import ProofRefused
from tests.server.authorization.issuer import RESOURCE, Clock, ec_key, public_jwk, rsa_key, signed

TOKEN = "the.bound.token"
ATH = base64.urlsafe_b64encode(hashlib.sha256(TOKEN.encode()).digest()).rstrip(b"=").decode()


def proof(algorithm: str = "ES256", header: dict[str, Any] | None = None, **changes: Any) -> str:
    key = rsa_key() if algorithm in ("RS256", "RS512") else ec_key()
    found = {"jti": "once", "htm": "POST", "htu": RESOURCE, "iat": int(time.time()), "ath": ATH, **changes}
    payload = {name: value for name, value in found.items() if value is not None}
    described = {"typ": "dpop+jwt", "jwk": public_jwk(key), **(header or {})}
    return signed(payload, key, algorithm, kid=None, **described)


def verify(text: str, verifier: DpopVerifier | None = None) -> str:
    used = verifier or DpopVerifier()
    return used.verify(text, token=TOKEN, method="POST", urls=(RESOURCE,))


@pytest.mark.requirement("security:resource-server")
@pytest.mark.parametrize("algorithm", ["ES256", "EdDSA", "RS256", "PS256", "ES384", "ES512"])
def test_a_proof_of_our_own_client_is_good(algorithm: str) -> None:
    key = DpopKey.generate(algorithm)
    made = key.proof("POST", RESOURCE + "?x=1#y", access_token=TOKEN)
    assert verify(made) == key.thumbprint


@pytest.mark.parametrize("htu", [RESOURCE, "HTTPS://MCP.EXAMPLE:443/mcp", RESOURCE + "?a=b"])
def test_an_address_is_compared_in_its_normal_form(htu: str) -> None:
    assert verify(proof(htu=htu))


@pytest.mark.requirement("security:resource-server")
@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"htm": "GET"}, "another method"),
        ({"htm": None}, "another method"),
        ({"htu": "https://mcp.example/"}, "another address"),
        ({"htu": "https://evil.example/mcp"}, "another address"),
        ({"htu": "http://mcp.example/mcp"}, "another address"),
        ({"htu": "https://["}, "another address"),
        ({"htu": 7}, "another address"),
        ({"htu": None}, "another address"),
        # The moment is that of collecting: a long run must not come near it.
        ({"iat": int(time.time()) - 10**6}, "too old"),
        ({"iat": int(time.time()) + 10**6}, "too old"),
        ({"iat": 10**400}, "too old"),
        ({"iat": None}, "when it was made"),
        ({"iat": True}, "when it was made"),
        ({"ath": None}, "another token"),
        ({"ath": ATH[:-1]}, "another token"),
        ({"ath": [ATH]}, "another token"),
        ({"ath": "\ud800"}, "another token"),
        ({"jti": None}, "jti"),
        ({"jti": ""}, "jti"),
        ({"jti": 7}, "jti"),
        ({"jti": "x" * 1025}, "jti"),
    ],
)
def test_a_proof_that_says_something_else_is_refused(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(ProofRefused, match=why):
        verify(proof(**changes))


@pytest.mark.requirement("security:resource-server")
@pytest.mark.parametrize(
    ("header", "why"),
    [
        ({"typ": "JWT"}, "typ"),
        ({"jwk": None}, "no public key"),
        ({"jwk": "text"}, "no public key"),
        ({"jwk": {"kty": "oct", "k": "AAAA"}}, "no public key"),
        ({"jwk": public_jwk(ec_key(), d="AAAA")}, "no public key"),
        ({"jwk": public_jwk(ec_key(1))}, "signature"),
        ({"jwk": public_jwk(rsa_key())}, "signature"),
        ({"crit": ["x"], "x": 1}, "holds no proof"),
    ],
)
def test_a_proof_with_another_header_is_refused(header: dict[str, Any], why: str) -> None:
    with pytest.raises(ProofRefused, match=why):
        verify(proof(header=header))


@pytest.mark.parametrize("text", ["", "x", "a.b.c", proof() + ", " + proof()])
def test_what_is_no_proof_is_refused(text: str) -> None:
    with pytest.raises(ProofRefused, match="holds no proof"):
        verify(text)


def test_an_algorithm_that_is_not_on_the_list_is_refused() -> None:
    with pytest.raises(ProofRefused, match="algorithm"):
        verify(proof("RS512"))
    with pytest.raises(ValueError, match="HS256"):
        DpopVerifier(algorithms=["HS256"])


@pytest.mark.requirement("security:resource-server")
def test_a_proof_is_good_once() -> None:
    verifier, made = DpopVerifier(), proof()
    assert verify(made, verifier)
    with pytest.raises(ProofRefused, match="used before"):
        verify(made, verifier)
    assert verify(proof(jti="again"), verifier)


def test_another_key_may_use_the_same_name() -> None:
    verifier = DpopVerifier()
    assert verify(proof(), verifier) != verify(proof("RS256"), verifier)


def test_a_proof_is_remembered_as_long_as_it_could_be_shown() -> None:
    clock = Clock(10_000.0)
    verifier = DpopVerifier(now=clock, max_age=100)
    early = proof(iat=10_100)
    assert verify(early, verifier)
    clock.moment = 10_199.0
    assert verify(proof(jti="other", iat=10_199), verifier)
    with pytest.raises(ProofRefused, match="used before"):
        verify(early, verifier)
    clock.moment = 10_201.0
    with pytest.raises(ProofRefused, match="too old"):
        verify(early, verifier)


def test_a_refused_proof_uses_nothing_up() -> None:
    verifier = DpopVerifier()
    with pytest.raises(ProofRefused, match="another method"):
        verify(proof(htm="GET"), verifier)
    assert verify(proof(), verifier)


def test_of_many_threads_one_may_use_a_proof() -> None:
    verifier, made = DpopVerifier(), proof()

    def use(_: int) -> bool:
        try:
            return bool(verify(made, verifier))
        except ProofRefused:
            return False

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(use, range(32))) == 1


def test_memory_has_its_bounds() -> None:
    verifier = DpopVerifier(remembered=3)
    for number in range(10):
        assert verify(proof(jti=str(number)), verifier)
    assert len(verifier._seen) == 3
    with pytest.raises(ProofRefused, match="used before"):
        verify(proof(jti="9"), verifier)
