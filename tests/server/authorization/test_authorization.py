"""Who is let in, and what the others are told."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, cast

import pytest

from mcp_actors.auth import DpopKey
from mcp_actors.auth.fetching import Reply
from mcp_actors.auth.protected_resource import _read
from mcp_actors.protocol import codec
from mcp_actors.protocol.http.challenges import Challenge, parse
from mcp_actors.server.authorization import (
    Authorization,
    Denied,
    DpopVerifier,
    JwtVerifier,
    Principal,
    StaticTokens,
    TokenRefused,
    TokenVerifier,
    VerifierUnavailable,
)
from tests.server.authorization.issuer import RESOURCE, Issuer, claims, public_jwk, rsa_key, signed

ISSUER = "https://issuer.example"
ALICE = Principal("alice", frozenset({"mcp", "read"}), "editor")
METADATA = "https://mcp.example/.well-known/oauth-protected-resource/mcp"
TOKENS = StaticTokens({"good": ALICE, "poor": Principal("bob")})


def guard(verifier: Any = TOKENS, **changes: Any) -> Authorization:
    options = {"resource": RESOURCE, "authorization_servers": [ISSUER], "scopes": ["mcp"], **changes}
    return Authorization(verifier, **options)


def denied(authorization: Authorization, url: str = RESOURCE, /, **headers: str) -> Denied:
    with pytest.raises(Denied) as caught:
        authorization.admit(headers, method="POST", url=url)
    assert caught.value.__cause__ is None
    return caught.value


def challenges(answer: Denied) -> tuple[Challenge, ...]:
    assert all(name == "WWW-Authenticate" for name, _ in answer.headers)
    return parse(value for _, value in answer.headers)


def raising(error: Exception) -> Callable[[str], Principal]:
    def verify(_token: str) -> Principal:
        raise error

    return verify


@pytest.mark.requirement("security:resource-server")
def test_who_has_a_good_token_is_let_in() -> None:
    assert guard().admit({"Authorization": "bearer good"}, method="POST", url=RESOURCE) is ALICE


@pytest.mark.requirement("security:resource-server")
@pytest.mark.parametrize("headers", [{}, {"authorization": "Basic YTpi"}, {"authorization": "DPoP good"}])
def test_who_shows_no_token_is_told_what_to_bring(headers: dict[str, str]) -> None:
    answer = denied(guard(), **headers)
    (challenge,) = challenges(answer)
    assert (answer.status, answer.body, challenge.scheme, challenge.error) == (401, None, "bearer", None)
    assert (challenge.scopes, challenge.resource_metadata) == (("mcp",), METADATA)
    assert str(answer) == "HTTP 401"


@pytest.mark.requirement("security:resource-server")
def test_who_shows_a_bad_token_is_told_so() -> None:
    answer = denied(guard(), authorization="Bearer bad")
    (challenge,) = challenges(answer)
    assert (answer.status, challenge.error) == (401, "invalid_token")
    assert (challenge.scopes, challenge.resource_metadata) == (("mcp",), METADATA)
    assert answer.body == {"error": "invalid_token", "error_description": "the token is not valid"}


@pytest.mark.parametrize(
    ("url", "value"),
    [(RESOURCE, "Bearer a b"), (RESOURCE, "Bearer"), (RESOURCE + "?access_token=good", "Bearer good")],
)
def test_who_breaks_the_form_is_told_so(url: str, value: str) -> None:
    answer = denied(guard(), url, authorization=value)
    (challenge,) = challenges(answer)
    assert (answer.status, challenge.error) == (400, "invalid_request")
    assert answer.body is not None


@pytest.mark.requirement("security:resource-server")
def test_who_lacks_a_scope_is_told_all_that_are_needed() -> None:
    answer = denied(guard(scopes=["mcp", "read"]), authorization="Bearer poor")
    (challenge,) = challenges(answer)
    assert (answer.status, challenge.error) == (403, "insufficient_scope")
    assert (challenge.scopes, challenge.resource_metadata) == (("mcp", "read"), METADATA)


def test_a_tool_may_need_scopes_of_its_own() -> None:
    answer = guard().forbid(ALICE, frozenset({"write", "read"}))
    (challenge,) = challenges(answer)
    assert (answer.status, challenge.error) == (403, "insufficient_scope")
    assert challenge.scopes == ("mcp", "read", "write")
    assert answer.body == {
        "error": "insufficient_scope",
        "error_description": "the token lacks: write",
        "scope": "mcp read write",
    }


def test_forbidding_what_is_not_lacking_says_no_more_than_that() -> None:
    assert "error_description" not in (guard().forbid(ALICE, frozenset({"read"})).body or {})


def test_the_realm_is_named_if_there_is_one() -> None:
    (challenge,) = challenges(denied(guard(realm='the "demo"')))
    assert challenge.parameters["realm"] == 'the "demo"'
    with pytest.raises(ValueError, match="realm"):
        guard(realm="a\r\nb")


@pytest.mark.requirement("security:resource-server")
def test_a_verifier_that_cannot_know_now_is_no_fault_of_the_client(caplog: pytest.LogCaptureFixture) -> None:
    answer = denied(
        guard(raising(VerifierUnavailable("no keys at https://inside/ for hidden", retry_after=2.5))),
        authorization="Bearer hidden",
    )
    assert (answer.status, answer.headers) == (503, (("Retry-After", "3"),))
    assert "inside" not in str(answer.body)
    assert "no keys at" in caplog.text
    assert "hidden" not in caplog.text


@pytest.mark.parametrize(("seconds", "told"), [(0.0, "1"), (2.5, "3"), (float("inf"), "3600")])
def test_the_time_to_come_again_is_within_reason(seconds: float, told: str) -> None:
    answer = denied(guard(raising(VerifierUnavailable("x", retry_after=seconds))), authorization="Bearer x")
    assert answer.headers == (("Retry-After", told),)


def test_a_verifier_that_fails_gives_nothing_away(caplog: pytest.LogCaptureFixture) -> None:
    answer = denied(guard(raising(KeyError("hidden"))), authorization="Bearer hidden")
    assert (answer.status, answer.headers, answer.body) == (500, (), {"error": "server_error"})
    assert "KeyError in verify" in caplog.text
    assert "hidden" not in caplog.text


class Careless:
    """A verifier that returns what it should not."""

    def verify(self, token: str) -> Principal:
        return cast(Principal, {"sub": token})


def test_a_verifier_that_returns_no_principal_lets_nobody_in() -> None:
    assert denied(guard(Careless()), authorization="Bearer hidden").status == 500


@pytest.mark.requirement("security:resource-server")
def test_a_token_does_not_come_out_again(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        answer = denied(
            guard(raising(TokenRefused("unknown token hidden-value"))), authorization="Bearer hidden-value"
        )
    shown = f"{answer!r} {answer.headers} {answer.body} {caplog.text} {guard()!r}"
    assert "unknown token" in shown
    assert "hidden-value" not in shown


def test_a_reason_in_any_words_fits_into_a_header() -> None:
    answer = denied(guard(raising(TokenRefused('"ümläut"\r\nX: y\x00'))), authorization="Bearer x")
    (_, value), *_ = answer.headers
    assert value.isascii()
    assert value.isprintable()


@pytest.mark.requirement("security:resource-server")
def test_the_metadata_are_what_a_client_reads() -> None:
    authorization = guard(
        resource="https://MCP.example/mcp/", scopes_supported=["read", "mcp"], resource_name="Demo"
    )
    assert authorization.metadata_document == {
        "resource": RESOURCE,
        "authorization_servers": [ISSUER],
        "bearer_methods_supported": ["header"],
        "scopes_supported": ["mcp", "read"],
        "resource_name": "Demo",
    }
    assert authorization.metadata_url == METADATA
    assert authorization.metadata_paths == (
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/oauth-protected-resource",
    )
    reply = Reply(METADATA, 200, {}, codec.encode(authorization.metadata_document))
    assert _read(reply, RESOURCE).authorization_servers == (ISSUER,)


def test_the_metadata_name_the_scopes_of_every_request_by_default() -> None:
    assert guard().metadata_document["scopes_supported"] == ["mcp"]
    assert "scopes_supported" not in guard(scopes=()).metadata_document


@pytest.mark.parametrize(
    "changes",
    [
        {"resource": "http://mcp.example/mcp"},
        {"authorization_servers": []},
        {"scopes": ["offline_access"]},
        {"scopes_supported": ["a b"]},
        {"scopes": "mcp"},
    ],
)
def test_a_setup_that_cannot_be_right_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError)):
        guard(**changes)


# -- tokens bound to a key ---------------------------------------------------------------------------------


def bound(key: DpopKey) -> TokenVerifier:
    return StaticTokens(
        {"good": Principal("alice", frozenset({"mcp"}), claims={"cnf": {"jkt": key.thumbprint}})}
    )


def prove(
    authorization: Authorization, key: DpopKey, *, url: str = RESOURCE, seen: str = RESOURCE
) -> Principal:
    proof = key.proof("POST", url, access_token="good")
    return authorization.admit({"Authorization": "DPoP good", "DPoP": proof}, method="POST", url=seen)


@pytest.mark.requirement("security:resource-server")
def test_a_bound_token_is_good_with_its_proof_alone() -> None:
    key = DpopKey.generate()
    authorization = guard(bound(key), dpop=DpopVerifier())
    assert prove(authorization, key).subject == "alice"
    answer = denied(authorization, authorization="DPoP good")
    (challenge,) = challenges(answer)
    assert (answer.status, challenge.scheme, challenge.error) == (401, "dpop", "invalid_dpop_proof")
    assert "ES256" in challenge.parameters["algs"]


@pytest.mark.requirement("security:resource-server")
@pytest.mark.parametrize("dpop", [None, DpopVerifier()])
def test_a_bound_token_is_no_bearer_token(dpop: DpopVerifier | None) -> None:
    for cnf in ({"jkt": "x"}, {"x5t#S256": "y"}, "odd"):
        tokens = StaticTokens({"good": Principal("alice", frozenset({"mcp"}), claims={"cnf": cnf})})
        answer = denied(guard(tokens, dpop=dpop), authorization="Bearer good")
        assert answer.status == 401
        assert {challenge.error for challenge in challenges(answer)} == {"invalid_token"}


@pytest.mark.requirement("security:resource-server")
def test_a_proof_of_another_key_is_refused() -> None:
    key, other = DpopKey.generate(), DpopKey.generate()
    for verifier in (bound(key), TOKENS):
        with pytest.raises(Denied) as caught:
            prove(guard(verifier, dpop=DpopVerifier()), other)
        (challenge,) = challenges(caught.value)
        assert (caught.value.status, challenge.error) == (401, "invalid_token")


def test_a_proof_is_for_the_address_that_clients_know() -> None:
    key = DpopKey.generate()
    authorization = guard(bound(key), dpop=DpopVerifier())
    assert prove(authorization, key, seen="http://10.0.0.7:8000/inside/mcp")
    assert prove(authorization, key, url="https://mcp.example/messages", seen="http://10.0.0.7:8000/messages")
    for seen in ("http://10.0.0.7:8000/mcp", "http://[", "mcp", ""):
        with pytest.raises(Denied):
            prove(authorization, key, url="http://10.0.0.7:8000/mcp", seen=seen)
    with pytest.raises(Denied):
        prove(authorization, key, url="https://mcp.example.evil.example/", seen=".evil.example/")


def test_a_server_may_offer_both_or_insist() -> None:
    both = challenges(denied(guard(dpop=DpopVerifier())))
    assert [challenge.scheme for challenge in both] == ["bearer", "dpop"]
    strict = guard(require_dpop=True)
    for headers in ({}, {"authorization": "Bearer good"}):
        (challenge,) = challenges(denied(strict, **headers))
        assert (challenge.scheme, challenge.error) == ("dpop", None)
    assert strict.metadata_document["dpop_bound_access_tokens_required"] is True
    assert guard(dpop=DpopVerifier()).metadata_document["dpop_bound_access_tokens_required"] is False


def test_a_bound_token_is_forbidden_in_its_own_scheme() -> None:
    key = DpopKey.generate()
    authorization = guard(bound(key), dpop=DpopVerifier())
    (challenge,) = challenges(authorization.forbid(prove(authorization, key), frozenset({"write"})))
    assert (challenge.scheme, challenge.error, challenge.scopes) == (
        "dpop",
        "insufficient_scope",
        ("mcp", "write"),
    )


@pytest.mark.requirement("security:resource-server")
def test_a_signed_token_of_a_real_issuer_opens_the_door(issuer: Issuer) -> None:
    key = DpopKey.generate()
    issuer.publish(public_jwk(rsa_key(), kid="first", use="sig", alg="RS256"))
    authorization = guard(
        JwtVerifier(issuer=issuer.url, audience=RESOURCE), scopes=["read"], dpop=DpopVerifier()
    )
    plain = signed(claims(issuer.url), rsa_key())
    headers = {"authorization": f"Bearer {plain}"}
    assert authorization.admit(headers, method="POST", url=RESOURCE).subject == "alice"
    token = signed(claims(issuer.url, cnf={"jkt": key.thumbprint}), rsa_key())
    headers = {"authorization": f"DPoP {token}", "dpop": key.proof("GET", RESOURCE, access_token=token)}
    assert authorization.admit(headers, method="GET", url=RESOURCE).subject == "alice"
    stolen = {"authorization": f"Bearer {token}"}
    assert denied(authorization, **stolen).status == 401
