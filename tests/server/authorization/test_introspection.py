"""Tokens that only their issuer can read."""

from __future__ import annotations

import base64
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from mcp_actors.server.authorization import IntrospectionVerifier, TokenRefused, VerifierUnavailable
from mcp_actors.server.authorization.recent import Recent
from tests.server.authorization.issuer import INTROSPECT, RESOURCE, Answer, Clock, Issuer

SECRET = "s3cret:with/odd+letters"


def said(**changes: Any) -> Callable[[dict[str, str]], Answer]:
    answer = {
        "active": True,
        "sub": "alice",
        "aud": RESOURCE,
        "scope": "read",
        "client_id": "editor",
        **changes,
    }
    return lambda _form: Answer.of(answer)


def verifier(issuer: Issuer, /, **changes: Any) -> IntrospectionVerifier:
    return IntrospectionVerifier(
        issuer.url + INTROSPECT, "mcp server", SECRET, **{"audience": RESOURCE, **changes}
    )


@pytest.mark.requirement("security:resource-server")
def test_the_issuer_says_who_a_token_speaks_for(issuer: Issuer) -> None:
    issuer.answers[INTROSPECT] = said(iss=issuer.url)
    principal = verifier(issuer, issuer=issuer.url).verify("opaque")
    assert (principal.subject, principal.client_id, principal.issuer) == ("alice", "editor", issuer.url)
    assert principal.scopes == {"read"}
    assert issuer.forms == [{"token": "opaque", "token_type_hint": "access_token"}]
    scheme, _, pair = str(issuer.authorizations[0]).partition(" ")
    assert (scheme, base64.b64decode(pair)) == ("Basic", b"mcp+server:s3cret%3Awith%2Fodd%2Bletters")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"active": False}, "not active"),
        ({"aud": "https://other.example"}, "another server"),
        ({"aud": None}, "another server"),
        ({"exp": 1}, "has expired"),
        ({"exp": "soon"}, "is no time"),
        ({"nbf": 10**12}, "not yet valid"),
        ({"iss": "https://evil.example"}, "another issuer"),
        ({"sub": None, "client_id": None}, "no subject"),
    ],
)
@pytest.mark.requirement("security:resource-server")
def test_a_token_that_is_not_for_us_is_refused(issuer: Issuer, changes: dict[str, Any], why: str) -> None:
    issuer.answers[INTROSPECT] = said(**changes)
    with pytest.raises(TokenRefused, match=why):
        verifier(issuer, issuer=issuer.url).verify("opaque")


def test_an_endpoint_may_look_after_the_audience_itself(issuer: Issuer) -> None:
    issuer.answers[INTROSPECT] = said(aud=None)
    assert verifier(issuer, audience=None).verify("opaque").subject == "alice"


def test_an_answer_is_remembered_for_a_moment(issuer: Issuer) -> None:
    clock = Clock(time.time())
    issuer.answers[INTROSPECT] = said()
    shared = verifier(issuer, now=clock)
    for moment in (0, 30, 59):
        clock.moment += moment
        shared.verify("opaque")
        clock.moment -= moment
    assert issuer.count(INTROSPECT) == 1
    issuer.answers[INTROSPECT] = said(active=False)
    clock.moment += 60
    with pytest.raises(TokenRefused, match="not active"):
        shared.verify("opaque")


def test_an_answer_is_not_remembered_beyond_the_end_of_the_token(issuer: Issuer) -> None:
    clock = Clock(1000.0)
    issuer.answers[INTROSPECT] = said(exp=1010)
    shared = verifier(issuer, now=clock)
    shared.verify("opaque")
    clock.moment = 1009.0
    shared.verify("opaque")
    assert issuer.count(INTROSPECT) == 1
    clock.moment = 1010.0
    shared.verify("opaque")
    assert issuer.count(INTROSPECT) == 2


def test_a_changed_claim_is_not_remembered(issuer: Issuer) -> None:
    issuer.answers[INTROSPECT] = said()
    shared = verifier(issuer)
    claims = shared.verify("opaque").claims
    assert isinstance(claims, dict)
    claims["sub"] = "root"
    assert shared.verify("opaque").subject == "alice"
    assert issuer.count(INTROSPECT) == 1


def test_no_answer_is_remembered_if_none_shall_be(issuer: Issuer) -> None:
    issuer.answers[INTROSPECT] = said()
    shared = verifier(issuer, cache_seconds=0)
    for _ in range(3):
        shared.verify("opaque")
    assert issuer.count(INTROSPECT) == 3


def test_bad_tokens_do_not_fill_the_memory(issuer: Issuer) -> None:
    issuer.answers[INTROSPECT] = said(active=False)
    shared = verifier(issuer)
    for number in range(3):
        with pytest.raises(TokenRefused):
            shared.verify(f"bad-{number}")
    assert len(shared._answers) == 0


def test_tokens_are_told_apart(issuer: Issuer) -> None:
    issuer.answers[INTROSPECT] = lambda form: said(sub=form["token"])(form)
    shared = verifier(issuer)
    assert [shared.verify(token).subject for token in ("a", "b", "a")] == ["a", "b", "a"]
    assert issuer.count(INTROSPECT) == 2


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (Answer(500), "HTTP 500"),
        (Answer(401), "HTTP 401"),
        (Answer(200, b"no JSON"), "neither active nor inactive"),
        (Answer.of({}), "neither active nor inactive"),
        (Answer.of({"active": "true"}), "neither active nor inactive"),
        (Answer(307, b"", {"location": "https://evil.example/"}), "which is not followed"),
    ],
)
def test_an_endpoint_of_no_use_is_no_fault_of_the_token(issuer: Issuer, answer: Answer, why: str) -> None:
    issuer.answers[INTROSPECT] = answer
    with pytest.raises(VerifierUnavailable, match=why) as unavailable:
        verifier(issuer).verify("hidden-token")
    told = f"{unavailable.value} {unavailable.value.__cause__!r}"
    assert "hidden-token" not in told
    assert SECRET not in told


def test_an_endpoint_out_of_reach_is_no_fault_of_the_token() -> None:
    with Issuer() as gone:
        pass
    with pytest.raises(VerifierUnavailable, match="cannot be reached"):
        verifier(gone).verify("opaque")


def test_threads_with_the_same_token_share_one_question(issuer: Issuer) -> None:
    issuer.answers[INTROSPECT] = said()
    issuer.gate.clear()
    shared, started = verifier(issuer, cache_seconds=0), threading.Barrier(9)

    def ask(_: int) -> str:
        started.wait(5.0)
        return shared.verify("opaque").subject

    with ThreadPoolExecutor(8) as pool:
        answers = [pool.submit(ask, number) for number in range(8)]
        started.wait(5.0)
        assert issuer.arrived.wait(5.0)
        issuer.gate.set()
        assert [answer.result(5.0) for answer in answers] == ["alice"] * 8


def test_an_answer_that_was_lost_is_no_fault_of_the_token(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    issuer.answers[INTROSPECT] = said()
    monkeypatch.setattr(Recent, "put", lambda *_: None)
    with pytest.raises(VerifierUnavailable, match="too many tokens"):
        verifier(issuer).verify("opaque")


def test_a_verifier_shows_no_secret(issuer: Issuer) -> None:
    issuer.answers[INTROSPECT] = said()
    shared = verifier(issuer)
    shared.verify("hidden-token")
    assert SECRET not in repr(shared)
    assert "hidden-token" not in f"{shared!r} {vars(shared._answers)}"


@pytest.mark.parametrize(
    ("endpoint", "changes", "why"),
    [
        ("http://issuer.example/introspect", {"audience": RESOURCE}, "https"),
        ("https://issuer.example/introspect", {"audience": []}, "audience is needed"),
        (
            "https://issuer.example/introspect",
            {"audience": RESOURCE, "cache_seconds": 61},
            "between 0 and 60",
        ),
        (
            "https://issuer.example/introspect",
            {"audience": RESOURCE, "cache_seconds": -1},
            "between 0 and 60",
        ),
    ],
)
def test_a_dangerous_setup_is_refused(endpoint: str, changes: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        IntrospectionVerifier(endpoint, "id", "secret", **changes)
