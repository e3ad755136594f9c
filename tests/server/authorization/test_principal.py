"""Who a token speaks for."""

from __future__ import annotations

import itertools
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_actors.server.authorization import Principal


@pytest.mark.requirement("security:resource-server")
def test_the_binding_is_the_same_for_every_token_of_a_subject_and_client() -> None:
    one = Principal("alice", frozenset({"read"}), "editor", {"jti": "1"}, "https://issuer.example")
    other = Principal("alice", frozenset({"write"}), "editor", {"jti": "2"}, "https://issuer.example")
    assert one.binding == other.binding
    assert one.binding.isalnum()


@given(st.lists(st.tuples(st.none() | st.text(), st.text(min_size=1), st.none() | st.text()), unique=True))
def test_different_principals_have_different_bindings(people: list[tuple[Any, str, Any]]) -> None:
    made = [Principal(subject, client_id=client, issuer=issuer) for issuer, subject, client in people]
    assert len({principal.binding for principal in made}) == len(people)


def test_parts_of_a_principal_do_not_run_into_each_other() -> None:
    parts = ["ab", "a", "b", "bc"]
    made = [
        Principal(subject, client_id=client, issuer=issuer)
        for issuer, subject, client in itertools.product(parts, parts, parts)
    ]
    assert len({principal.binding for principal in made}) == len(made)


def test_a_principal_shows_no_claims() -> None:
    principal = Principal("alice", frozenset({"b", "a"}), claims={"email": "alice@example.org"})
    assert repr(principal) == "<Principal 'alice', scopes: a b>"
    assert repr(Principal("bob")) == "<Principal 'bob', scopes: none>"


def test_scopes_given_as_a_text_are_refused() -> None:
    with pytest.raises(TypeError, match="frozenset of strings, not str"):
        Principal("alice", cast(Any, "read"))


def test_a_principal_without_a_subject_is_refused() -> None:
    with pytest.raises(ValueError, match="has a subject"):
        Principal("")
