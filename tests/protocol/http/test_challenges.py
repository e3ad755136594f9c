"""The WWW-Authenticate parser: what it reads, and that nothing breaks it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_actors.protocol.http.challenges import Challenge, choose, parse

URL = "https://server.example/.well-known/oauth-protected-resource"


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("Bearer", [("bearer", {})]),
        ("", []),
        (f'Bearer resource_metadata="{URL}"', [("bearer", {"resource_metadata": URL})]),
        (f"Bearer resource_metadata={URL}", [("bearer", {"resource_metadata": URL})]),
        ('BEARER Error="invalid", SCOPE="a b"', [("bearer", {"error": "invalid", "scope": "a b"})]),
        (r'Bearer error_description="a \"quoted\" word, and a comma"',
         [("bearer", {"error_description": 'a "quoted" word, and a comma'})]),
        ('Basic realm="x", Bearer scope="a"', [("basic", {"realm": "x"}), ("bearer", {"scope": "a"})]),
        ('Negotiate abc==, Bearer scope="a"', [("negotiate", {}), ("bearer", {"scope": "a"})]),
        ('Basic, Bearer scope="a"', [("basic", {}), ("bearer", {"scope": "a"})]),
        ('Bearer scope = "a" ,, error=b', [("bearer", {"scope": "a", "error": "b"})]),
        ('Bearer scope="first", scope="second"', [("bearer", {"scope": "first"})]),
        ('Bearer scope="open', [("bearer", {"scope": ""})]),
        ('DPoP algs="ES256", error="nonce"', [("dpop", {"algs": "ES256", "error": "nonce"})]),
        ('Bearer ;;; nonsense, DPoP error="x"', [("bearer", {}), ("dpop", {"error": "x"})]),
    ],
)  # fmt: skip
def test_challenges_are_read_as_they_are_found(
    header: str, expected: list[tuple[str, dict[str, str]]]
) -> None:
    assert [(found.scheme, found.parameters) for found in parse([header])] == expected


def test_the_challenge_that_says_most_is_acted_on() -> None:
    headers = ["Basic realm=x", "Bearer", f'Bearer scope="a b a", resource_metadata="{URL}"']
    found = choose(parse(headers))
    assert (found.scopes, found.resource_metadata, found.error) == (("a", "b"), URL, None)
    assert choose(parse(["Basic realm=x"])) == Challenge("bearer", {})


def test_the_challenge_of_the_scheme_in_use_counts_however_little_it_says() -> None:
    headers = [f'Bearer scope="a", resource_metadata="{URL}", error="invalid_token"', 'DPoP error="nonce"']
    bound, bearer = choose(parse(headers), "dpop"), choose(parse(headers), "bearer")
    assert (bound.scheme, bound.error, bearer.error) == ("dpop", "nonce", "invalid_token")
    assert (bound.scopes, bound.resource_metadata) == (("a",), URL)
    assert choose(parse(headers[:1]), "dpop").error == "invalid_token"


_NAMES = st.from_regex(r"[a-z_]{1,12}", fullmatch=True)
_VALUES = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=30)
_CHALLENGES = st.lists(
    st.tuples(_NAMES, st.dictionaries(_NAMES, _VALUES, min_size=1, max_size=4)), min_size=1, max_size=4
)


@given(_CHALLENGES)
def test_what_is_written_by_the_grammar_is_read_back(challenges: list[tuple[str, dict[str, str]]]) -> None:
    header = ", ".join(
        f"{scheme} " + ", ".join(f'{name}="{_quoted(value)}"' for name, value in parameters.items())
        for scheme, parameters in challenges
    )
    assert [(found.scheme, dict(found.parameters)) for found in parse([header])] == challenges


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')


@given(st.lists(st.text(max_size=200), max_size=3))
def test_no_text_breaks_the_parser(headers: list[str]) -> None:
    choose(parse(headers))


@given(st.text(alphabet='Bearer scp=",\\ \t;x', max_size=120))
def test_no_text_that_looks_like_a_challenge_breaks_the_parser(header: str) -> None:
    for found in parse([header]):
        assert found.scheme == found.scheme.lower()


@pytest.mark.parametrize("piece", ['a="', "\\", ",", " ", "a=b,", '"\\', "Bearer "])
def test_a_header_without_end_is_read_in_no_time(piece: str) -> None:
    # A parser that goes back and forth would not come to an end within the bound of the test.
    parse(["Bearer " + piece * 100_000])
