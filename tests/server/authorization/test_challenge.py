"""What a refused request is told to bring."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_actors.protocol.http import challenges as reading
from mcp_actors.server.authorization.challenge import Challenge, scope_text

METADATA = "https://mcp.example/.well-known/oauth-protected-resource/mcp"
SCOPES = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E, exclude_characters='"\\'), min_size=1)


@pytest.mark.requirement("security:resource-server")
def test_a_challenge_is_written_as_the_rfcs_want_it() -> None:
    challenge = Challenge("Bearer", None, METADATA, "read write", "insufficient_scope", "it lacks write")
    assert challenge.header == (
        'Bearer error="insufficient_scope", error_description="it lacks write", scope="read write", '
        f'resource_metadata="{METADATA}"'
    )
    assert challenge.body == {
        "error": "insufficient_scope",
        "error_description": "it lacks write",
        "scope": "read write",
    }


def test_a_challenge_without_parameters_is_its_scheme() -> None:
    assert Challenge().header == "Bearer"
    assert Challenge().body is None


def test_an_error_without_a_description_has_none() -> None:
    assert Challenge(error="invalid_token").header == 'Bearer error="invalid_token"'
    assert Challenge(error="invalid_token").body == {"error": "invalid_token"}


@given(
    st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), min_size=1),
    st.lists(SCOPES.filter(lambda scope: scope != "offline_access"), min_size=1),
    st.text(min_size=1, max_size=200),
)
def test_a_client_reads_what_was_written(realm: str, scopes: list[str], description: str) -> None:
    text = scope_text(scopes)
    header = Challenge("DPoP", realm, METADATA, text, "invalid_token", description, "ES256 EdDSA").header
    assert header.isascii()
    assert header.isprintable()
    (found,) = reading.parse([header])
    told = found.parameters.get("error_description", "")
    assert (found.scheme, found.error, found.resource_metadata) == ("dpop", "invalid_token", METADATA)
    assert set(found.scopes) == set(scopes)
    assert (found.parameters["realm"], found.parameters["algs"]) == (realm, "ES256 EdDSA")
    if description.isascii() and description.isprintable() and not set(description) & {'"', "\\"}:
        assert told == description


def test_a_description_cannot_break_out_of_its_header() -> None:
    header = Challenge(
        error="invalid_token", description='x" , realm="evil"\r\nSet-Cookie: a=b\x00' + "y" * 999
    ).header
    (found,) = reading.parse([header])
    assert set(found.parameters) == {"error", "error_description"}
    assert len(header) < 300
    assert header.isprintable()


@pytest.mark.parametrize(
    "scope", ["", "two words", 'quo"te', "back\\slash", "ümlaut", "line\n", "offline_access"]
)
def test_what_is_no_scope_of_a_resource_is_refused(scope: str) -> None:
    with pytest.raises(ValueError, match="is no scope"):
        scope_text(["read", scope])


def test_scopes_are_written_once_and_sorted() -> None:
    assert scope_text(["b", "a", "b"]) == "a b"
