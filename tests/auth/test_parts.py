"""The small pure parts: URLs, addresses, scopes, redirects, PKCE, credentials, tokens."""

from __future__ import annotations

import base64
import hashlib
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_actors.auth import urls
from mcp_actors.auth.addresses import Reach, reach_of_address, reach_of_server
from mcp_actors.auth.authorization_server import candidates
from mcp_actors.auth.confidences import Confidences
from mcp_actors.auth.credentials import Credentials
from mcp_actors.auth.pkce import Pkce
from mcp_actors.auth.protected_resource import well_known
from mcp_actors.auth.redirect import Expected, code_from
from mcp_actors.auth.scopes import first_scopes, joined, union
from mcp_actors.errors import AuthorizationFailed
from mcp_actors.protocol.http.scopes import MAX_SCOPES

EXPECTED = Expected("the state", "https://login.example", issuer_promised=False)


@pytest.mark.parametrize(
    "url",
    [
        "https://login.example/token?x=1",
        "http://127.0.0.1:8080/token",
        "http://localhost/token",
        "http://[::1]:9/token",
        "https://10.0.0.1/token",
    ],
)
def test_https_and_this_machine_are_safe(url: str) -> None:
    assert urls.require_safe(url, "it") == url


@pytest.mark.parametrize(
    "url",
    [
        "http://login.example/token",
        "http://localhost.example/token",
        "http://127.0.0.1.example/token",
        "https://somebody@login.example/",
        "https://login.example/#fragment",
        "https://login.example:99999/",
        "https://login.example/\n",
        "https://login.example/\x1b[31m",
        "https://lögin.example/",
        "ftp://login.example/",
        "//login.example/",
        "https:///path",
        "https://login.example/" + "x" * 5000,
        "",
    ],
)
def test_everything_else_is_refused_and_named_without_its_secrets(url: str) -> None:
    with pytest.raises(AuthorizationFailed, match="it is refused") as raised:
        urls.require_safe(url, "it")
    assert "\n" not in str(raised.value)
    assert "somebody" not in str(raised.value)


def test_a_url_is_shown_without_query_fragment_and_user() -> None:
    assert (
        urls.shown("https://user:password@Host.example:443/path?code=secret#x") == "https://host.example/path"
    )
    assert "secret" not in urls.shown("nonsense://user:secret@host?secret")


@pytest.mark.parametrize(
    ("resource", "server", "covered"),
    [
        ("https://s.example/mcp", "https://s.example/mcp", True),
        ("https://S.example:443/mcp", "https://s.example/mcp", True),
        ("https://s.example", "https://s.example/mcp", True),
        ("https://s.example/", "https://s.example/mcp/deep", True),
        ("https://s.example/mcp/", "https://s.example/mcp", True),
        ("https://s.example/mc", "https://s.example/mcp", False),
        ("https://s.example/mcp/deep", "https://s.example/mcp", False),
        ("http://s.example/mcp", "https://s.example/mcp", False),
        ("https://s.example:444/mcp", "https://s.example/mcp", False),
        ("https://s.example/mcp?tenant=1", "https://s.example/mcp?tenant=2", False),
        ("https://s.example/mcp?tenant=1", "https://s.example/mcp?tenant=1", True),
        ("https://s.example.evil/mcp", "https://s.example/mcp", False),
        ("nonsense", "https://s.example/mcp", False),
        ("https://s.example.evil\\@s.example/mcp", "https://s.example/mcp", False),
    ],
)
def test_metadata_cover_their_resource_and_what_lies_below(resource: str, server: str, covered: bool) -> None:
    assert urls.covers(resource, server) is covered


def test_the_known_places_are_in_order() -> None:
    place = "https://s.example/.well-known/"
    assert well_known("https://s.example/a/mcp?x=1") == [
        f"{place}oauth-protected-resource/a/mcp",
        f"{place}oauth-protected-resource",
    ]
    assert well_known("https://s.example/") == [f"{place}oauth-protected-resource"]
    assert candidates("https://s.example/") == [
        f"{place}oauth-authorization-server",
        f"{place}openid-configuration",
    ]
    assert candidates("https://s.example/t") == [
        f"{place}oauth-authorization-server/t",
        f"{place}openid-configuration/t",
        "https://s.example/t/.well-known/openid-configuration",
    ]


def test_a_query_is_added_to_the_one_there_is() -> None:
    assert urls.with_query("https://s.example/a?b=c", {"d": "e f"}) == "https://s.example/a?b=c&d=e+f"
    assert urls.canonical("HTTPS://S.Example:443/mcp/#x") == "https://s.example/mcp"


@pytest.mark.parametrize(
    ("address", "reach"),
    [
        ("93.184.215.14", Reach.INTERNET),
        ("2606:2800:21f:cb07:6820:80da:af6b:8b2c", Reach.INTERNET),
        ("10.1.2.3", Reach.PRIVATE),
        ("192.168.0.1", Reach.PRIVATE),
        ("172.20.0.1", Reach.PRIVATE),
        ("100.64.0.1", Reach.PRIVATE),
        ("fd00::1", Reach.PRIVATE),
        ("127.0.0.1", Reach.THIS_MACHINE),
        ("::1", Reach.THIS_MACHINE),
        ("::ffff:127.0.0.1", Reach.THIS_MACHINE),
        ("::ffff:10.0.0.1", Reach.PRIVATE),
        ("64:ff9b::93.184.215.14", Reach.INTERNET),
        ("64:ff9b::10.0.0.1", Reach.PRIVATE),
        ("64:ff9b::127.0.0.1", Reach.THIS_MACHINE),
        ("64:ff9b::169.254.169.254", Reach.NOWHERE),
        ("2002:a00:1::1", Reach.PRIVATE),
        ("2002:a9fe:a9fe::", Reach.NOWHERE),
        ("169.254.169.254", Reach.NOWHERE),
        ("fe80::1%eth0", Reach.NOWHERE),
        ("0.0.0.0", Reach.NOWHERE),
        ("224.0.0.1", Reach.NOWHERE),
    ],
)
def test_an_address_lies_where_it_lies(address: str, reach: Reach) -> None:
    assert reach_of_address(address) is reach


@pytest.mark.parametrize(
    ("url", "answers", "reach"),
    [
        ("https://localhost/mcp", [], Reach.THIS_MACHINE),
        ("https://127.0.0.1/mcp", [], Reach.THIS_MACHINE),
        ("https://server.example/mcp", ["10.0.0.1", "10.0.0.2"], Reach.PRIVATE),
        ("https://server.example/mcp", ["10.0.0.1", "93.184.215.14"], Reach.INTERNET),
        ("https://server.example/mcp", ["127.0.0.1"], Reach.INTERNET),
        ("https://server.example/mcp", ["169.254.169.254"], Reach.INTERNET),
        ("https://server.example/mcp", None, Reach.INTERNET),
    ],
)
def test_a_name_gains_no_reach_by_what_dns_says(
    monkeypatch: pytest.MonkeyPatch, url: str, answers: list[str] | None, reach: Reach
) -> None:
    def resolve(*_args: object, **_options: object) -> list[tuple[object, ...]]:
        if answers is None:
            raise OSError("no such name")
        return [(2, 1, 6, "", (answer, 0)) for answer in answers]

    monkeypatch.setattr("mcp_actors.auth.addresses.socket.getaddrinfo", resolve)
    assert reach_of_server(url) is reach


def test_scopes_are_joined_without_doubles_and_strange_ones() -> None:
    assert union(["a", "b"], ["b", "c d", 'e"', ""]) == ("a", "b")
    assert first_scopes((), None, ("x", "y")) == ("x", "y")
    assert joined(()) == {}
    assert len(union(f"scope-{number}" for number in range(1000))) == MAX_SCOPES


def test_a_verifier_is_long_enough_and_its_challenge_is_its_digest() -> None:
    pkce = Pkce()
    assert 43 <= len(pkce.verifier) <= 128
    digest = base64.urlsafe_b64encode(hashlib.sha256(pkce.verifier.encode()).digest())
    assert pkce.challenge == digest.rstrip(b"=").decode()
    assert pkce.verifier not in repr(pkce)
    assert Pkce().verifier != pkce.verifier


def test_basic_credentials_are_encoded_before_they_are_joined() -> None:
    header = Credentials("a:b", "client_secret_basic", "c d/%ü").headers()["authorization"]
    assert base64.b64decode(header.removeprefix("Basic ")).decode() == "a%3Ab:c+d%2F%25%C3%BC"


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"state": "the state"},
        {"state": "the state", "code": ""},
        {"state": "The state", "code": "c"},
        {"state": "the state", "code": "c", "iss": "https://login.example/"},
        {"state": "the state", "code": "c", "iss": "HTTPS://login.example"},
        {"state": "the state", "code": "c", "iss": ""},
        {"state": "the state", "code": "c", "error": "x"},
    ],
)
def test_only_a_whole_answer_to_our_request_gives_a_code(answer: dict[str, str]) -> None:
    with pytest.raises(AuthorizationFailed):
        code_from(f"http://127.0.0.1/callback?{urlencode(answer)}", EXPECTED)


@pytest.mark.parametrize("double", ["state=the+state", "iss=https://login.example", "code=other", "iss=x"])
def test_an_answer_that_says_something_twice_is_not_taken(double: str) -> None:
    url = f"http://127.0.0.1/callback?state=the+state&code=c&iss=https://login.example&{double}"
    with pytest.raises(AuthorizationFailed):
        code_from(url, EXPECTED)


def test_a_pasted_address_may_have_spaces_around_it() -> None:
    assert code_from("  http://127.0.0.1/callback?state=the+state&code=c\n", EXPECTED) == "c"


@given(st.text(max_size=100))
def test_no_text_is_a_code_by_accident(text: str) -> None:
    with pytest.raises(AuthorizationFailed):
        code_from(text, EXPECTED)


def test_confidences_keep_the_latest_and_are_bounded() -> None:
    kept = Confidences()
    for number in range(1000):
        kept.add(f"secret {number}", None, "")
    assert len(kept.values) < 200
    assert kept.values[-1] == "secret 999"
    assert "secret" not in repr(kept)
