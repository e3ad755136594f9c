"""What may be given as auth=, and what it sends where."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from mcp_actors.auth import BearerToken, CallableAuth, ClientCredentials, OAuth, as_authorizer
from mcp_actors.errors import AuthorizationFailed, Unavailable
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.transports.http.authorizer import Attempt, Authorizer, Refusal
from tests.conftest import BOUND

URL = "https://server.example/mcp"
TOKEN = "the-token"


def attempt(url: str = URL) -> Attempt:
    return Attempt("POST", url, Deadline.after(BOUND))


def authorizer(auth: Any) -> Authorizer:
    made = as_authorizer(auth, URL)
    assert made is not None
    return made


def test_nothing_stays_nothing() -> None:
    assert as_authorizer(None, URL) is None


def test_text_is_a_bearer_token() -> None:
    made = authorizer(TOKEN)
    assert isinstance(made, BearerToken)
    assert made.headers(attempt()) == {"Authorization": "Bearer the-token"}
    assert made.secrets == (TOKEN,)
    assert TOKEN not in repr(made)
    assert not made.refused(attempt(), Refusal(401, (), {}))
    made.answered(attempt(), {})


@pytest.mark.requirement("security:oauth")
@pytest.mark.parametrize("auth", [TOKEN, lambda: TOKEN], ids=["text", "callable"])
@pytest.mark.parametrize(
    "elsewhere",
    ["https://evil.example/mcp", "http://server.example/mcp", "https://server.example:444/mcp", "nonsense"],
)
def test_a_token_goes_to_its_own_origin_only(auth: Any, elsewhere: str) -> None:
    assert authorizer(auth).headers(attempt(elsewhere)) == {}
    assert authorizer(auth).headers(attempt("https://SERVER.example:443/other"))
    assert not authorizer(auth).refused(attempt(elsewhere), Refusal(401, (), {}))


@pytest.mark.parametrize(
    ("token", "words"),
    [
        ("", "is empty"),
        ("Bearer secret", "without the word Bearer"),
        ("with space", "visible ASCII"),
        ("with\r\nbreak", "visible ASCII"),
        ("ümlaut", "visible ASCII"),
    ],
)
def test_a_token_that_fits_into_no_header_is_a_mistake_and_not_quoted(token: str, words: str) -> None:
    with pytest.raises(ValueError, match=words) as raised:
        as_authorizer(token, URL)
    assert not token or token not in str(raised.value)


def test_a_callable_is_asked_before_every_request() -> None:
    given = iter(["one", {"X-Key": "two-two"}])
    made = authorizer(lambda: next(given))
    assert isinstance(made, CallableAuth)
    assert made.headers(attempt()) == {"Authorization": "Bearer one"}
    assert made.headers(attempt()) == {"X-Key": "two-two"}
    assert {"one", "two-two"} <= set(made.secrets)
    assert "one" not in repr(made)


def test_a_callable_does_not_say_what_the_protocol_says_itself() -> None:
    given = {"Content-Type": "text/plain", "MCP-Session-Id": "another", "Content-Length": "1", "X-Key": "two"}
    assert authorizer(lambda: given).headers(attempt()) == {"X-Key": "two"}


def test_a_refused_callable_is_worth_one_more_try_if_it_gives_something_new() -> None:
    tokens = ["old"]
    made, refused = authorizer(lambda: tokens[-1]), Refusal(401, (), {})
    first = attempt()
    made.headers(first)
    assert not made.refused(first, refused)
    second = attempt()
    made.headers(second)
    tokens.append("new")
    assert made.refused(second, refused)
    assert made.headers(second) == {"Authorization": "Bearer new"}
    tokens.append("newer")
    assert not made.refused(second, refused)
    made.answered(second, {})
    assert not made.refused(attempt(), Refusal(403, (), {}))


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (lambda: 1 / 0, r"failed \(ZeroDivisionError\)"),
        (lambda: None, "returned nothing of use: a token is text, and headers are a mapping, not NoneType"),
        (lambda: "geheim geheim", "returned nothing of use: a bearer token is visible ASCII"),
        (lambda: "Bearer geheim", "returned nothing of use: .* without the word Bearer"),
        (lambda: {"a": "geheim\r\nc"}, "returned nothing of use: a header's name is a word"),
        (lambda: {"X Key": "geheim"}, "returned nothing of use: a header's name is a word"),
        (lambda: {"X-Key": "geheim €"}, "returned nothing of use: a header's name is a word"),
    ],
)
def test_a_callable_that_gives_no_token_is_an_authorization_error(
    source: Callable[[], Any], words: str
) -> None:
    with pytest.raises(AuthorizationFailed, match=f"the callable given as auth= {words}") as raised:
        authorizer(source).headers(attempt())
    assert "geheim" not in raised.value.message


def test_a_class_in_place_of_what_is_made_of_it_is_a_mistake_said_at_once() -> None:
    with pytest.raises(TypeError, match=r"auth= takes OAuth\(\.\.\.\), not the class OAuth itself"):
        as_authorizer(OAuth, URL)  # type: ignore[arg-type]  # the mistake


def test_a_token_with_its_scheme_before_it_is_a_mistake_said_at_once() -> None:
    with pytest.raises(ValueError, match="without the word Bearer"):
        as_authorizer("Bearer the-token", URL)


def test_an_error_of_this_package_passes_through_a_callable() -> None:
    def source() -> str:
        raise Unavailable("later", state="backoff")

    with pytest.raises(Unavailable):
        authorizer(source).headers(attempt())


def test_what_can_be_bound_is_bound_and_an_authorizer_is_taken_as_it_is() -> None:
    class Own:
        secrets = ()

        def headers(self, attempt: Attempt) -> Mapping[str, str]:  # noqa: ARG002
            return {}

        def refused(self, attempt: Attempt, refusal: Refusal) -> bool:  # noqa: ARG002
            return False

        def answered(self, attempt: Attempt, headers: Mapping[str, str]) -> None: ...

    own = Own()
    assert authorizer(own) is own
    assert "server.example" in repr(authorizer(OAuth()))
    assert authorizer(ClientCredentials("robot", "the-secret")).secrets == ("the-secret",)


def test_anything_else_is_a_mistake() -> None:
    with pytest.raises(TypeError, match="not int"):
        as_authorizer(5, URL)  # type: ignore[arg-type]


def test_an_origin_that_is_not_the_servers_concerns_no_grant() -> None:
    made = authorizer(ClientCredentials("robot", "the-secret"))
    elsewhere = attempt("https://evil.example/mcp")
    assert made.headers(elsewhere) == {}
    assert not made.refused(elsewhere, Refusal(401, (), {}))
    made.answered(elsewhere, {})


def test_no_http_stack_is_imported_before_the_first_request() -> None:
    program = (
        "import sys, mcp_actors, mcp_actors.auth\n"
        "mcp_actors.auth.as_authorizer(mcp_actors.auth.OAuth(), 'https://server.example')\n"
        "print(sorted({'requests', 'urllib3', 'joserfc', 'webbrowser', 'http.server'} & set(sys.modules)))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert ran.stdout.strip() == "[]"
