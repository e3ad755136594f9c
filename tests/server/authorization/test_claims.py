"""What the claims of a token must say."""

from __future__ import annotations

import math
from typing import Any

import pytest

from mcp_actors.server.authorization import Principal, TokenRefused
from mcp_actors.server.authorization.claims import Expectations, audiences_of, expiry, principal_of

ISSUER, HERE = "https://issuer.example", "https://mcp.example/mcp"
NOW = 1_000_000.0
RULES = Expectations(ISSUER, audiences_of(HERE), ("iss", "aud", "exp"), 30.0)


def claims(**changes: Any) -> dict[str, Any]:
    return {"iss": ISSUER, "aud": HERE, "exp": NOW + 60, "sub": "alice", **changes}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"aud": ["https://other.example", HERE]},
        {"aud": "HTTPS://MCP.example:443/mcp/"},
        {"exp": NOW - 29},
        {"nbf": NOW + 30, "iat": NOW + 30},
        {"exp": 10**400},
        {"iat": -(10**400)},
    ],
)
def test_good_claims_are_good(changes: dict[str, Any]) -> None:
    RULES.check(claims(**changes), NOW)


@pytest.mark.requirement("security:resource-server")
@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"iss": None}, "no claim iss"),
        ({"iss": ISSUER + "/"}, "another issuer"),
        ({"iss": [ISSUER]}, "another issuer"),
        ({"aud": None}, "no claim aud"),
        ({"aud": "https://mcp.example"}, "another server"),
        ({"aud": "https://mcp.example/mcp/other"}, "another server"),
        ({"aud": "http://mcp.example/mcp"}, "another server"),
        ({"aud": []}, "another server"),
        ({"aud": [7, {"a": HERE}]}, "another server"),
        ({"aud": {"a": HERE}}, "another server"),
        ({"exp": None}, "no claim exp"),
        ({"exp": NOW - 30}, "has expired"),
        ({"exp": -(10**400)}, "has expired"),
        ({"exp": str(NOW + 60)}, "exp of the token is no time"),
        ({"exp": True}, "exp of the token is no time"),
        ({"exp": math.inf}, "exp of the token is no time"),
        ({"exp": math.nan}, "exp of the token is no time"),
        ({"nbf": NOW + 31}, "not yet valid"),
        ({"nbf": "soon"}, "nbf of the token is no time"),
        ({"iat": NOW + 31}, "issued in the future"),
        ({"iat": []}, "iat of the token is no time"),
    ],
)
def test_bad_claims_are_refused(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(TokenRefused, match=why):
        RULES.check(claims(**changes), NOW)


def test_audiences_need_not_be_urls() -> None:
    rules = Expectations(None, audiences_of("api://demo"))
    rules.check({"aud": "api://demo"}, NOW)
    with pytest.raises(TokenRefused, match="another server"):
        rules.check({"aud": "API://demo"}, NOW)


def test_where_nothing_is_expected_nothing_is_checked() -> None:
    Expectations(None, None).check({}, NOW)


@pytest.mark.parametrize(
    ("found", "who"),
    [
        ({"sub": "a", "scope": "x  y"}, Principal("a", frozenset({"x", "y"}))),
        ({"sub": "a", "scope": ["x", 7, ""]}, Principal("a", frozenset({"x"}))),
        ({"sub": "a", "scope": {"x": 1}}, Principal("a")),
        ({"sub": "a", "client_id": "c", "azp": "d"}, Principal("a", client_id="c")),
        ({"sub": "a", "client_id": 7, "azp": "d"}, Principal("a", client_id="d")),
        ({"client_id": "c"}, Principal("c", client_id="c")),
        ({"sub": "a", "iss": "i"}, Principal("a", issuer="i")),
    ],
)
def test_a_principal_is_read_from_the_claims(found: dict[str, Any], who: Principal) -> None:
    made = principal_of(found, "scope", None)
    assert made.claims == found
    assert (made.subject, made.scopes, made.client_id, made.issuer) == (
        who.subject,
        who.scopes,
        who.client_id,
        who.issuer,
    )


def test_scopes_may_have_another_name() -> None:
    assert principal_of({"sub": "a", "scp": ["x"], "scope": "y"}, "scp", None).scopes == {"x"}


@pytest.mark.parametrize("found", [{}, {"sub": ""}, {"sub": 7}, {"sub": None, "client_id": ""}])
def test_claims_about_nobody_are_refused(found: dict[str, Any]) -> None:
    with pytest.raises(TokenRefused, match="no subject"):
        principal_of(found, "scope", None)


def test_a_token_ends_when_it_says_so() -> None:
    assert expiry({"exp": 7}) == 7
    assert expiry({}) == expiry({"exp": "x"}) == math.inf
