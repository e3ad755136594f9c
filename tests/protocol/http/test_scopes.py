"""What a token lacks, in words and for programs."""

from __future__ import annotations

import pytest

from mcp_actors.protocol.http.scopes import MAX_SCOPES, Shortage, valid_scopes

pytestmark = pytest.mark.requirement("security:oauth")


@pytest.mark.parametrize(
    ("shortage", "words"),
    [
        (
            Shortage(("read", "write"), ("read",)),
            "wants the scopes 'read write'; the token has the scope 'read', "
            "so that it lacks the scope 'write'",
        ),
        (
            Shortage(("write",), ()),
            "wants the scope 'write'; the token has none that it named, so that it lacks the scope 'write'",
        ),
        (Shortage(("read",), ("read",)), "wants the scope 'read'; the token has the scope 'read'"),
        (Shortage(("read",)), "wants the scope 'read'; which of them the token has is not known here"),
        (Shortage((), ("read",)), "wants more scopes and does not say which; the token has the scope 'read'"),
    ],
)
def test_a_shortage_names_what_is_wanted_held_and_missing(shortage: Shortage, words: str) -> None:
    assert shortage.words == words


def test_a_program_finds_the_same_in_lists() -> None:
    assert Shortage(("read", "write"), ("read",)).details == {
        "scopes_wanted": ["read", "write"],
        "scopes_held": ["read"],
        "scopes_missing": ["write"],
    }
    assert Shortage(("read",)).details["scopes_held"] is None


def test_a_server_that_names_very_many_does_not_fill_the_screen() -> None:
    shortage = Shortage(valid_scopes(f"scope-{n}" for n in range(1000)))
    assert len(shortage.wanted) == MAX_SCOPES
    assert shortage.words.count("scope-") == 10
    assert "and 90 more" in shortage.words
