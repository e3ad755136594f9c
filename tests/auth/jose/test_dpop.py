"""A DPoP proof is about one request, signed by the key it carries, and fresh."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import jwt
import pytest

from mcp_actors.auth.jose import DpopKey, SigningKey
from tests.auth.jose import compact
from tests.auth.jose.compact import Forged
from tests.auth.jose.proofs import Expected, ProofChecker

URL = "https://mcp.example/mcp"


@pytest.mark.requirement("security:oauth")
@pytest.mark.parametrize("algorithm", ["ES256", "ES384", "RS256", "PS256", "EdDSA"])
def test_another_library_verifies_the_proof_with_the_key_in_its_header(algorithm: str) -> None:
    proof = DpopKey.generate(algorithm).proof("POST", URL, access_token="token", nonce="n-1")
    header = jwt.get_unverified_header(proof)
    claims = jwt.decode(proof, jwt.PyJWK(header["jwk"], algorithm=algorithm), algorithms=[algorithm])
    assert (header["typ"], header["alg"]) == ("dpop+jwt", algorithm)
    assert (claims["htm"], claims["htu"], claims["nonce"]) == ("POST", URL, "n-1")
    digest = base64.urlsafe_b64encode(hashlib.sha256(b"token").digest()).decode().rstrip("=")
    assert claims["ath"] == digest


def test_the_digest_of_the_token_is_the_one_of_the_rfc() -> None:
    # RFC 9449 §7.1 gives this token and its digest.
    proof = DpopKey.generate().proof("GET", URL, access_token="Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU")
    assert compact.read(proof).claims["ath"] == "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo"


def test_a_proof_says_nothing_it_was_not_given() -> None:
    found = compact.read(DpopKey.generate().proof("post", URL))
    assert sorted(found.claims) == ["htm", "htu", "iat", "jti"]
    assert found.claims["htm"] == "POST"
    assert sorted(found.header) == ["alg", "jwk", "typ"]
    assert sorted(found.header["jwk"]) == ["crv", "kty", "x", "y"]


def test_a_loaded_key_keeps_its_name_and_remarks_to_itself() -> None:
    members = {"kid": "internal-name", "note": "remark"}
    private = SigningKey.generate()._key.as_dict(private=True) | members
    key = DpopKey.load(private, "ES256")
    header = compact.read(key.proof("GET", URL)).header
    assert "kid" not in header
    assert sorted(header["jwk"]) == ["crv", "kty", "x", "y"]
    assert key.thumbprint == compact.thumbprint(header["jwk"])
    assert str(private["d"]) not in repr(key)
    assert key.algorithm == "ES256"


@pytest.mark.parametrize(
    ("url", "htu"),
    [
        ("https://mcp.example/mcp?a=1&b=2", "https://mcp.example/mcp"),
        ("https://mcp.example/mcp#part", "https://mcp.example/mcp"),
        ("HTTPS://MCP.Example:443/Mcp", "https://mcp.example/Mcp"),
        ("http://mcp.example:80", "http://mcp.example/"),
        ("http://127.0.0.1:8000/mcp/", "http://127.0.0.1:8000/mcp/"),
        ("https://user:password@mcp.example/mcp", "https://mcp.example/mcp"),
        ("http://[::1]:8000/mcp", "http://[::1]:8000/mcp"),
        ("https://mcp.example/a b/%20/ü", "https://mcp.example/a%20b/%20/%C3%BC"),
        ("https://bücher.example/", "https://xn--bcher-kva.example/"),
    ],
)
def test_the_url_is_signed_without_query_and_fragment_in_its_normal_form(url: str, htu: str) -> None:
    assert compact.read(DpopKey.generate().proof("GET", url)).claims["htu"] == htu


@pytest.mark.parametrize(
    "url", ["mcp.example/mcp", "ftp://mcp.example/", "https:///mcp", "", "http://h:99999/"]
)
def test_what_is_no_http_url_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"URL|[Pp]ort"):
        DpopKey.generate().proof("GET", url)


def test_a_token_that_is_not_ascii_is_refused() -> None:
    with pytest.raises(ValueError, match="ascii"):
        DpopKey.generate().proof("GET", URL, access_token="tökén")


def test_every_proof_is_fresh() -> None:
    key, checker = DpopKey.generate(), ProofChecker()
    expected = Expected("GET", URL)
    proofs = [DpopKey(key.key, now=lambda: 1000.9).proof("GET", URL) for _ in range(20)]
    for proof in proofs:
        thumbprint, token = checker.check(proof, expected, 1000.0)
        assert (thumbprint, token.claims["iat"]) == (key.thumbprint, 1000)
    with pytest.raises(Forged, match="seen before"):
        checker.check(proofs[0], expected, 1000.0)


@pytest.mark.parametrize(
    ("expected", "now", "words"),
    [
        (Expected("GET", URL, "token"), 1000.0, "htm"),
        (Expected("POST", URL + "/other", "token"), 1000.0, "htu"),
        (Expected("POST", URL, "other"), 1000.0, "ath"),
        (Expected("POST", URL), 1000.0, "ath"),
        (Expected("POST", URL, "token"), 1301.0, "iat"),
        (Expected("POST", URL, "token"), 699.0, "iat"),
        (Expected("POST", URL, "token", ("RS256",)), 1000.0, "alg"),
    ],
)
def test_the_checker_refuses_a_proof_for_something_else(expected: Expected, now: float, words: str) -> None:
    proof = DpopKey(SigningKey.generate(), now=lambda: 1000.0).proof("POST", URL, access_token="token")
    with pytest.raises(Forged, match=words):
        ProofChecker().check(proof, expected, now)


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ({"typ": "JWT"}, "typ"),
        ({}, "jwk"),
        ({"jwk": {"kty": "EC", "d": "x"}}, "private"),
        ({"jwk": {}}, "public"),
    ],
)
def test_the_checker_refuses_a_proof_of_another_shape(header: dict[str, Any], words: str) -> None:
    text = json.dumps({"typ": "dpop+jwt", "alg": "ES256", **header}).encode()
    # joserfc would never sign such a header; the signature is not reached.
    proof = f"{compact.to_text(text)}.{compact.to_text(b'{}')}.c2ln"
    with pytest.raises(Forged, match=words):
        ProofChecker().check(proof, Expected("GET", URL), 0.0)


def test_the_checker_refuses_a_proof_with_another_key_in_its_header() -> None:
    key = SigningKey.generate()
    proof = key.sign({}, header={"typ": "dpop+jwt", "jwk": dict(SigningKey.generate().public_jwk)})
    with pytest.raises(Forged, match="signature"):
        ProofChecker().check(proof, Expected("GET", URL), 0.0)
