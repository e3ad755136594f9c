"""The keys of an issuer, as they are fetched, kept and renewed."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from mcp_actors.errors import AuthorizationFailed
from mcp_actors.server.authorization import JwtVerifier, TokenRefused, VerifierUnavailable
from mcp_actors.server.authorization import fetched_keys as module
from mcp_actors.server.authorization.fetched_keys import FetchedKeys
from tests.server.authorization.issuer import (
    KEYS,
    METADATA,
    OPENID,
    RESOURCE,
    Answer,
    Clock,
    Issuer,
    claims,
    ec_key,
    public_jwk,
    rsa_key,
    signed,
)


def names(keys: FetchedKeys, kid: str | None = None) -> list[str | None]:
    return [key.key_id for key in keys.find(kid).keys]


@pytest.mark.requirement("security:resource-server")
def test_tokens_are_checked_with_the_keys_that_the_issuer_publishes(issuer: Issuer) -> None:
    verifier = JwtVerifier(issuer=issuer.url, audience=RESOURCE)
    for _ in range(3):
        assert verifier.verify(signed(claims(issuer.url), rsa_key())).subject == "alice"
    assert issuer.requests == [("GET", METADATA), ("GET", KEYS)]


def test_the_address_of_the_keys_may_be_given(issuer: Issuer) -> None:
    verifier = JwtVerifier(issuer="https://issuer.example", audience=RESOURCE, jwks_uri=issuer.url + KEYS)
    assert verifier.verify(signed(claims(), rsa_key())).subject == "alice"
    assert issuer.requests == [("GET", KEYS)]


def test_openid_metadata_do_as_well(issuer: Issuer) -> None:
    issuer.answers[OPENID] = issuer.answers.pop(METADATA)
    assert names(FetchedKeys(issuer.url)) == ["first"]
    assert [path for _, path in issuer.requests] == [METADATA, OPENID, KEYS]


@pytest.mark.requirement("security:resource-server")
def test_a_new_key_is_found_and_an_old_one_forgotten(issuer: Issuer) -> None:
    clock = Clock()
    keys = FetchedKeys(issuer.url, clock=clock)
    assert names(keys, "first") == ["first"]
    issuer.publish(public_jwk(ec_key(), kid="second"))
    assert names(keys, "second") == ["first"], "not so soon: anybody can name unknown keys"
    clock.moment += 30
    assert names(keys, "second") == ["second"]


def test_unknown_keys_do_not_make_us_ask_again_and_again(issuer: Issuer) -> None:
    clock = Clock()
    keys = FetchedKeys(issuer.url, clock=clock)
    for number in range(50):
        clock.moment += 1
        assert names(keys, f"unknown-{number}") == ["first"]
    assert issuer.count(KEYS) == 2


def test_a_known_key_never_makes_us_ask(issuer: Issuer) -> None:
    clock = Clock()
    keys = FetchedKeys(issuer.url, clock=clock)
    for _ in range(19):
        assert names(keys, "first") == ["first"]
        clock.moment += 30
    assert issuer.count(KEYS) == 1


def test_keys_are_renewed_after_ten_minutes(issuer: Issuer) -> None:
    clock = Clock()
    keys = FetchedKeys(issuer.url, clock=clock)
    assert names(keys) == ["first"]
    issuer.publish(public_jwk(ec_key(), kid="second"))
    clock.moment += 599
    assert names(keys) == ["first"]
    clock.moment += 1
    assert names(keys) == ["second"]


def test_an_issuer_that_is_away_for_a_while_is_forgiven(
    issuer: Issuer, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    keys = FetchedKeys(issuer.url, clock=clock)
    assert names(keys) == ["first"]
    issuer.answers[KEYS] = Answer(500)
    with caplog.at_level(logging.WARNING, "mcp_actors.server"):
        clock.moment += 601
        assert names(keys) == ["first"]
        assert names(keys) == ["first"]
    assert len(caplog.records) == 1
    assert issuer.count(KEYS) == 2
    clock.moment += 3000
    with pytest.raises(VerifierUnavailable, match="HTTP 500"):
        keys.find(None)


def test_a_failure_is_not_repeated_at_once_and_then_healed(issuer: Issuer) -> None:
    clock, good = Clock(), issuer.answers[KEYS]
    issuer.answers[KEYS] = Answer(503)
    keys = FetchedKeys(issuer.url, clock=clock)
    for _ in range(5):
        with pytest.raises(VerifierUnavailable, match="HTTP 503") as unavailable:
            keys.find("first")
    assert unavailable.value.retry_after > 0
    assert issuer.count(KEYS) == 1
    issuer.answers[KEYS] = good
    clock.moment += 5
    assert names(keys, "first") == ["first"]


@pytest.mark.parametrize(
    ("path", "answer", "why"),
    [
        (METADATA, Answer(500), "HTTP 500"),
        (METADATA, Answer(404), "HTTP 404"),
        (METADATA, Answer(200, b"<html>"), "HTTP 404"),
        (METADATA, Answer.of({"issuer": "https://evil.example", "jwks_uri": "x"}), "are another's"),
        (METADATA, Answer.of({"jwks_uri": "x"}), "are another's"),
        (KEYS, Answer(200, b"[]"), "no JSON object"),
        (KEYS, Answer(200, b'{"keys": []}'), "none that tokens can be checked with"),
        (KEYS, Answer(200, b" " * 100_000), "larger than"),
        (KEYS, Answer(302, b"", {"location": "https://evil.example/keys"}), "which is not followed"),
    ],
)
@pytest.mark.requirement("security:resource-server")
def test_a_document_of_no_use_is_a_failure_of_the_issuer_not_of_the_token(
    issuer: Issuer, path: str, answer: Answer, why: str
) -> None:
    issuer.answers[path] = answer
    with pytest.raises(VerifierUnavailable, match=why):
        JwtVerifier(issuer=issuer.url, audience=RESOURCE).verify(signed(claims(issuer.url), rsa_key()))


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("http://issuer.example/keys", "https"),
        ("file:///etc/passwd", "no http or https"),
        ("https://169.254.169.254/keys", "no business"),
        (7, "name no jwks_uri"),
    ],
)
def test_an_issuer_cannot_send_us_anywhere(issuer: Issuer, address: object, why: str) -> None:
    issuer.answers[METADATA] = Answer.of({"issuer": issuer.url, "jwks_uri": address})
    with pytest.raises(VerifierUnavailable, match=why):
        FetchedKeys(issuer.url).find(None)


def test_an_issuer_out_of_reach_is_a_failure() -> None:
    with Issuer() as gone:
        url = gone.url
    with pytest.raises(VerifierUnavailable, match="cannot be reached"):
        FetchedKeys(url).find(None)


def test_a_redirect_within_the_issuer_is_followed(issuer: Issuer) -> None:
    issuer.answers["/moved"] = issuer.answers[KEYS]
    issuer.answers[KEYS] = Answer(302, b"", {"location": "/moved"})
    assert names(FetchedKeys(issuer.url)) == ["first"]


def test_many_threads_ask_the_issuer_once(issuer: Issuer) -> None:
    issuer.gate.clear()
    keys = FetchedKeys(issuer.url)
    with ThreadPoolExecutor(16) as pool:
        answers = [pool.submit(names, keys, "first") for _ in range(16)]
        assert issuer.arrived.wait(5.0)
        issuer.gate.set()
        assert [answer.result(5.0) for answer in answers] == [["first"]] * 16
    assert issuer.count(KEYS) == 1


def test_many_threads_share_one_rotation(issuer: Issuer) -> None:
    clock = Clock()
    keys = FetchedKeys(issuer.url, clock=clock)
    assert names(keys) == ["first"]
    issuer.publish(public_jwk(rsa_key(), kid="first"), public_jwk(ec_key(), kid="second"))
    clock.moment += 31
    barrier = threading.Barrier(12)

    def rotate(_: int) -> list[str | None]:
        barrier.wait(5.0)
        return names(keys, "second")

    with ThreadPoolExecutor(12) as pool:
        assert list(pool.map(rotate, range(12))) == [["first", "second"]] * 12
    assert issuer.count(KEYS) == 2


def test_a_caller_who_looked_before_a_landing_does_not_ask_again(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    keys = FetchedKeys(issuer.url, clock=clock)
    late = keys._held
    assert names(keys) == ["first"]
    landed, keys._held = keys._held, late
    real = keys._flights.join

    def join(*arguments: object) -> None:
        keys._held = landed
        real(*arguments)  # type: ignore[arg-type]  # passed on as they came

    monkeypatch.setattr(keys._flights, "join", join)
    assert names(keys) == ["first"]
    assert issuer.count(KEYS) == 1


def test_who_waited_too_long_is_told_to_come_again(issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_WAIT", 0.0)
    issuer.gate.clear()
    keys = FetchedKeys(issuer.url)
    with pytest.raises(VerifierUnavailable, match="was not done before the deadline"):
        keys.find(None)
    monkeypatch.setattr(module, "_WAIT", 5.0)
    issuer.gate.set()
    assert names(keys) == ["first"]
    assert issuer.count(KEYS) == 1


def test_a_mistake_of_ours_is_not_repeated_at_once(issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def fail(_: object) -> None:
        calls.append(1)
        raise ZeroDivisionError

    monkeypatch.setattr(module, "published", fail)
    keys = FetchedKeys(issuer.url, clock=Clock())
    for _ in range(3):
        with pytest.raises(VerifierUnavailable, match="broke off"):
            keys.find(None)
    assert calls == [1]


def test_an_unknown_key_is_the_tokens_fault(issuer: Issuer) -> None:
    verifier = JwtVerifier(issuer=issuer.url, audience=RESOURCE)
    with pytest.raises(TokenRefused, match="does not have"):
        verifier.verify(signed(claims(issuer.url), rsa_key(), kid="unknown"))


def test_failures_of_the_issuer_are_not_errors_of_the_client(issuer: Issuer) -> None:
    issuer.answers[METADATA] = Answer(500)
    with pytest.raises(VerifierUnavailable) as unavailable:
        FetchedKeys(issuer.url).find(None)
    assert not isinstance(unavailable.value, AuthorizationFailed)
