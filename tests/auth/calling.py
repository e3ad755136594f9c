"""What the tests of authorization share: requests as a transport makes them, and a person who logs in."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable
from urllib.parse import parse_qsl, urlsplit

from mcp_actors.runtime.deadline import Deadline
from mcp_actors.transports.http.authorizer import Attempt, Authorizer, Refusal
from tests.auth.authorization_server import AuthorizationServer, browse
from tests.conftest import BOUND

#: Beyond this an authorizer would never let go of a request.
_MOST_SENDINGS = 12


def call(
    authorizer: Authorizer, server: AuthorizationServer, method: str = "tools/call", *, seconds: float = BOUND
) -> int:
    """One MCP request: sent again as often as the authorizer says. The status it ended with."""
    attempt = Attempt("POST", server.resource_url, Deadline.after(seconds))
    for _ in range(_MOST_SENDINGS):
        status, headers, challenges = send(attempt, dict(authorizer.headers(attempt)), method)
        if status not in (401, 403):
            authorizer.answered(attempt, headers)
            return status
        if not authorizer.refused(attempt, Refusal(status, challenges, headers)):
            return status
    raise AssertionError("the authorizer wanted the request sent again and again")


def send(
    attempt: Attempt, headers: dict[str, str], method: str = "tools/call"
) -> tuple[int, dict[str, str], tuple[str, ...]]:
    """One request, once: status, headers with lower-case names, and challenges of the answer."""
    parts = urlsplit(attempt.url)
    assert parts.hostname is not None
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=BOUND)
    try:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method})
        headers = {"Content-Type": "application/json", "Connection": "close", **headers}
        connection.request(attempt.method, parts.path or "/", body, headers)
        answer = connection.getresponse()
        answer.read()
        lower = {name.lower(): value for name, value in answer.getheaders()}
        return answer.status, lower, tuple(answer.headers.get_all("WWW-Authenticate") or ())
    finally:
        connection.close()


class Person:
    """Somebody elsewhere: sees the login page, agrees, and brings back the address they were sent to."""

    def __init__(self, agree: Callable[[str], str] = browse) -> None:
        self.pages: list[str] = []
        self._agree = agree
        self._brought = ""

    def open_url(self, url: str) -> None:
        self.pages.append(url)
        self._brought = self._agree(url)

    def callback(self) -> str:
        return self._brought

    @property
    def asked(self) -> list[dict[str, str]]:
        """The parameters of each authorization request."""
        return [dict(parse_qsl(urlsplit(page).query)) for page in self.pages]

    @property
    def scopes(self) -> list[str | None]:
        """What each authorization request asked for."""
        return [asked.get("scope") for asked in self.asked]
