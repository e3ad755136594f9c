"""Verifiers made of functions, and tokens known in advance."""

from __future__ import annotations

from typing import Any, cast

import pytest

from mcp_actors.server.authorization import Principal, StaticTokens, TokenRefused, as_verifier

ALICE = Principal("alice")


def test_a_function_is_a_verifier() -> None:
    verifier = as_verifier(lambda token: ALICE if token == "good" else None)
    assert verifier.verify("good") is ALICE
    with pytest.raises(TokenRefused):
        verifier.verify("bad")


def test_a_function_that_returns_something_else_is_a_mistake() -> None:
    verifier = as_verifier(cast(Any, lambda _token: True))
    with pytest.raises(TypeError, match="returns a Principal or None, not bool"):
        verifier.verify("good")


def test_a_verifier_stays_what_it_is() -> None:
    verifier = StaticTokens({"good": ALICE})
    assert as_verifier(verifier) is verifier


def test_what_verifies_nothing_is_refused() -> None:
    with pytest.raises(TypeError, match="is needed, not str"):
        as_verifier(cast(Any, "token"))


def test_a_verifier_of_a_function_shows_its_name() -> None:
    def look(_token: str) -> None:
        return None

    assert "look" in repr(as_verifier(look))


def test_static_tokens_are_told_apart() -> None:
    bob = Principal("bob")
    verifier = StaticTokens({"alpha": ALICE, "beta": bob})
    assert verifier.verify("alpha") is ALICE
    assert verifier.verify("beta") is bob
    for wrong in ("", "alph", "alphaa", "ALPHA", "\ud800"):
        with pytest.raises(TokenRefused):
            verifier.verify(wrong)


def test_static_tokens_do_not_show_themselves() -> None:
    verifier = StaticTokens({"alpha": ALICE})
    assert "alpha" not in f"{verifier!r} {vars(verifier)}"


@pytest.mark.parametrize("token", ["", "two words", 'quo"te', "x" * 16385])
def test_a_static_token_that_nobody_could_send_is_refused(token: str) -> None:
    with pytest.raises(ValueError, match="a token has") as refused:
        StaticTokens({token: ALICE})
    assert not token or token not in str(refused.value)
