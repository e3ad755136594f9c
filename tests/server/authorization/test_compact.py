"""A signed token in its parts."""

from __future__ import annotations

import base64
import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_actors.server.authorization import TokenRefused
from mcp_actors.server.authorization.compact import parse
from mcp_actors.server.authorization.credentials import MAX_TOKEN


def part(value: object) -> str:
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def test_a_token_falls_into_its_parts() -> None:
    header = {"alg": "ES256", "kid": "k", "typ": "application/AT+JWT"}
    compact = parse(f"{part(header)}.{part({'sub': 'a'})}.{part(b'signature')}")
    assert (compact.header, compact.claims, compact.signature) == (header, {"sub": "a"}, b"signature")
    assert (compact.algorithm, compact.key_id, compact.type) == ("ES256", "k", "at+jwt")
    assert repr(compact) == "<Compact>"


def test_a_header_may_say_nothing() -> None:
    compact = parse(f"{part({})}.{part({})}.{part(b's')}")
    assert (compact.algorithm, compact.key_id, compact.type) == ("", None, None)


@pytest.mark.parametrize("name", ["alg", "kid", "typ"])
@pytest.mark.parametrize("value", [7, True, ["RS256"], {"a": 1}])
def test_a_member_of_the_header_that_is_no_text_is_refused(name: str, value: object) -> None:
    compact = parse(f"{part({name: value})}.{part({})}.{part(b's')}")
    with pytest.raises(TokenRefused, match="is no text"):
        _ = (compact.algorithm, compact.key_id, compact.type)


@pytest.mark.parametrize(
    "token",
    [
        "",
        "opaque",
        "a.b",
        "..",
        f"{part({})}.{part({})}.",
        f"{part({})}.{part({})}.{part(b's')}.{part(b's')}",
        f"{part({})}.{part({})}.{part(b's')}=",
        f"{part({})}.{part({})}.A",
        f"{part([])}.{part({})}.{part(b's')}",
        f"{part({})}.{part('text')}.{part(b's')}",
        f"{part(b'{')}.{part({})}.{part(b's')}",
        f"{part({})}.{part(b'[' * 9000)}.{part(b's')}",
        f"{part({})}.{part({'x': 'y' * MAX_TOKEN})}.{part(b's')}",
        f"{part({})}.{part({})}.\n{part(b's')}",
    ],
)
def test_what_has_not_the_form_is_refused(token: str) -> None:
    with pytest.raises(TokenRefused, match="has not the form of a signed JWT"):
        parse(token)


@pytest.mark.parametrize("header", [{"crit": ["exp"]}, {"crit": []}, {"b64": False}])
def test_an_extension_that_nobody_knows_is_refused(header: dict[str, object]) -> None:
    with pytest.raises(TokenRefused, match="extension"):
        parse(f"{part(header)}.{part({})}.{part(b's')}")


@given(st.text() | st.text("abcABC019._-=", max_size=80))
def test_no_text_breaks_it(token: str) -> None:
    with contextlib.suppress(TokenRefused):
        parse(token)
