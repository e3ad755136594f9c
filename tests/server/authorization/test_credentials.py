"""What a request shows to be let in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_actors.server.authorization.credentials import (
    MAX_TOKEN,
    Credentials,
    MalformedCredentials,
    is_token,
    presented,
)

URL = "https://mcp.example/mcp"
LETTERS = "abcXYZ019-._~+/"


@given(
    st.sampled_from(["Bearer", "bearer", "BEARER", "DPoP", "dpop"]),
    st.text(LETTERS, min_size=1).flatmap(lambda text: st.sampled_from([text, text + "=", text + "=="])),
    st.sampled_from(["Authorization", "authorization", "AUTHORIZATION"]),
    st.sampled_from([" ", "  "]),
)
def test_a_token_is_found_however_it_is_spelled(scheme: str, token: str, name: str, space: str) -> None:
    assert presented({name: scheme + space + token}, URL) == Credentials(scheme.lower(), token)


def test_a_request_without_a_token_shows_none() -> None:
    assert presented({"content-type": "application/json"}, URL) is None


@pytest.mark.parametrize("value", ["Basic YTpi", "Negotiate", 'Digest username="x", realm="y"'])
def test_another_scheme_is_no_token(value: str) -> None:
    assert presented({"authorization": value}, URL) is None


@pytest.mark.requirement("security:resource-server")
@pytest.mark.parametrize(
    "value",
    [
        "",
        "Bearer",
        "Bearer ",
        "Bearer one two",
        "Bearer one, Bearer two",
        "Bearer one,two",
        "Bearer =",
        "Bearer a=b",
        "Bearer tök",
        'Bearer "quoted"',
        "Bearer one\r\nX: y",
        "Bearer one\n",
        "Bearer\tone",
        "Bearer " + "x" * (MAX_TOKEN + 1),
        ":",
    ],
)
def test_what_is_not_exactly_one_token_is_malformed(value: str) -> None:
    with pytest.raises(MalformedCredentials) as malformed:
        presented({"authorization": value}, URL)
    assert "one" not in str(malformed.value).replace("exactly one token", "")


def test_a_repeated_header_is_malformed() -> None:
    with pytest.raises(MalformedCredentials, match="more than one"):
        presented({"Authorization": "Bearer one", "authorization": "Bearer one"}, URL)


@pytest.mark.requirement("security:resource-server")
@pytest.mark.parametrize(
    "query", ["access_token=x", "a=b&access_token=x", "access%5Ftoken=x", "access_token"]
)
def test_a_token_in_the_address_is_refused(query: str) -> None:
    for headers in ({}, {"authorization": "Bearer one"}):
        with pytest.raises(MalformedCredentials, match="never into the address"):
            presented(headers, f"{URL}?{query}")


@pytest.mark.parametrize(
    "url", [URL + "?x=access_token", URL + "#access_token=x", URL + "/access_token=x", "http://["]
)
def test_other_addresses_are_none_of_its_business(url: str) -> None:
    assert presented({}, url) is None


def test_credentials_do_not_show_the_token() -> None:
    assert repr(Credentials("bearer", "hidden")) == "<Credentials bearer>"


def test_a_token_has_a_longest_length() -> None:
    assert is_token("x" * MAX_TOKEN)
    assert not is_token("x" * MAX_TOKEN + "=")
