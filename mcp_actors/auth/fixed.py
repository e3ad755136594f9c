"""Authorizers that know their headers: a bearer token, or a callable that gives one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from mcp_actors.auth.confidences import Confidences
from mcp_actors.auth.ledger import Ledger
from mcp_actors.auth.urls import same_origin, shown
from mcp_actors.errors import AuthorizationFailed, McpError
from mcp_actors.protocol.http.own_headers import is_name, is_ours, is_value
from mcp_actors.transports.http.authorizer import Attempt, Refusal
from mcp_actors.transports.http.fingerprint import fingerprint

__all__ = ["BearerToken", "CallableAuth", "TokenSource"]

TokenSource: TypeAlias = Callable[[], "str | Mapping[str, str]"]


class BearerToken:
    """The same token on every request to one origin. ``repr`` does not show it."""

    def __init__(self, token: str, server_url: str) -> None:
        self._headers = _headers(token)
        self._token = token
        self._server_url = server_url

    def headers(self, attempt: Attempt) -> Mapping[str, str]:
        """See `Authorizer`. No other origin gets the token."""
        return self._headers if same_origin(attempt.url, self._server_url) else {}

    def at_hand(self, attempt: Attempt) -> Mapping[str, str]:
        """See `KnowsAtOnce`."""
        return self.headers(attempt)

    def refused(self, attempt: Attempt, refusal: Refusal) -> bool:  # noqa: ARG002
        """See `Authorizer`. There is no other token."""
        return False

    def answered(self, attempt: Attempt, headers: Mapping[str, str]) -> None:
        """See `Authorizer`. Nothing to learn."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """See `Authorizer`."""
        return (self._token,)

    def principal(self) -> str:
        """See `Identifies`."""
        return fingerprint(self._token)

    def __repr__(self) -> str:
        return f"<BearerToken for {shown(self._server_url)}>"


class CallableAuth:
    """Asks ``source`` before every request to one origin: it returns a bearer token, or headers."""

    def __init__(self, source: TokenSource, server_url: str) -> None:
        self._source = source
        self._server_url = server_url
        self._confidences = Confidences()
        self._ledger = Ledger()

    def headers(self, attempt: Attempt) -> Mapping[str, str]:
        """See `Authorizer`. On the thread of the request, so a slow callable delays that one alone."""
        if not same_origin(attempt.url, self._server_url):
            return {}
        headers = self._asked()
        self._ledger.page(attempt).sent = headers
        return headers

    def refused(self, attempt: Attempt, refusal: Refusal) -> bool:
        """See `Authorizer`. Worth it once, after a 401, if the callable gives something else by now."""
        page = self._ledger.page(attempt)
        page.refusals += 1
        if refusal.status != 401 or page.refusals > 1 or page.sent is None:
            return False
        return self._asked() != page.sent

    def answered(self, attempt: Attempt, headers: Mapping[str, str]) -> None:  # noqa: ARG002
        """See `Authorizer`."""
        self._ledger.close(attempt)

    @property
    def secrets(self) -> tuple[str, ...]:
        """See `Authorizer`."""
        return self._confidences.values

    def principal(self) -> str | None:
        """See `Identifies`. Only the callable knows whose token it would give now."""
        try:
            headers = self._asked()
        except McpError:  # the request itself will say why
            return None
        return fingerprint(*(part for header in sorted(headers.items()) for part in header))

    def __repr__(self) -> str:
        return f"<CallableAuth for {shown(self._server_url)}>"

    def _asked(self) -> Mapping[str, str]:
        failed = f"no token for {shown(self._server_url)}: the callable given as auth="
        try:
            given = self._source()
        except McpError:
            raise
        except Exception as error:
            raise AuthorizationFailed(f"{failed} failed ({type(error).__name__})") from error
        try:
            headers = _headers(given) if isinstance(given, str) else _checked(given)
        except (TypeError, ValueError) as error:
            # In our own words, which hold nothing of what it returned.
            raise AuthorizationFailed(f"{failed} returned nothing of use: {error}") from None
        # A server may repeat the token without its scheme.
        words = [value.rpartition(" ")[2] for value in headers.values()]
        self._confidences.add(*headers.values(), *words)
        return headers


def _headers(token: str) -> dict[str, str]:
    """The header for a token. Raises ``ValueError``, without the token, if it fits into none."""
    if not token:
        raise ValueError("the bearer token is empty")
    if token[:7].lower() == "bearer ":
        raise ValueError("a bearer token is passed alone, without the word Bearer")
    if any(not "\x21" <= character <= "\x7e" for character in token):
        raise ValueError("a bearer token is visible ASCII without spaces")
    return {"Authorization": f"Bearer {token}"}


def _checked(given: object) -> dict[str, str]:
    if not isinstance(given, Mapping):
        raise TypeError(f"a token is text, and headers are a mapping, not {type(given).__name__}")
    headers = {str(name): str(value) for name, value in given.items()}
    if not all(is_name(name) and is_value(value) for name, value in headers.items()):
        raise ValueError("a header's name is a word, and its value one line of Latin characters")
    return {name: value for name, value in headers.items() if not is_ours(name)}
