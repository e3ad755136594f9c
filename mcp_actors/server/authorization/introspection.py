"""IntrospectionVerifier: asks the issuer about a token (RFC 7662), and remembers the answer for a moment."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from msgspec import Struct

from mcp_actors.auth.credentials import BASIC, Credentials
from mcp_actors.auth.fetching import Fetcher, Network
from mcp_actors.auth.flights import Flight, Flights
from mcp_actors.auth.urls import shown
from mcp_actors.errors import AuthorizationFailed, McpError
from mcp_actors.protocol.codec import JsonObject
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.server.authorization.claims import Expectations, audiences_of, expiry, principal_of
from mcp_actors.server.authorization.metadata import checked_url
from mcp_actors.server.authorization.principal import Principal
from mcp_actors.server.authorization.recent import Recent
from mcp_actors.server.authorization.verifier import TokenRefused, VerifierUnavailable

__all__ = ["IntrospectionVerifier"]

WHAT: Final = "the introspection endpoint"
#: Seconds. A token that is withdrawn stays good for as long as an answer is remembered.
_LONGEST: Final = 60.0
_MOST: Final = 4096
_REQUEST: Final = 5.0
_WAIT: Final = 10.0


class _Inactive(AuthorizationFailed):
    """The issuer does not stand by the token."""


class _Answer(Struct, frozen=True):
    """What the issuer said about a token, and until when that may be repeated."""

    said: JsonObject
    until: float


@dataclass(frozen=True, eq=False)
class IntrospectionVerifier:
    """For tokens that only their issuer can read. Any thread; one question per token is under way at a time.

    Args:
        endpoint: https, or http on this machine.
        client_id: this server's own name at the issuer.
        audience: names of this server, one of which the answer must bear as ``aud``. None if the endpoint
            itself calls no token active that is meant for others (RFC 7662 4).
        issuer: what the answer must bear as ``iss`` if it has one; part of who a principal is.
        cache_seconds: for how long an answer is remembered, 60 at most, and never beyond the token's end.
        leeway: seconds by which clocks may differ.
    """

    endpoint: str
    client_id: str
    client_secret: str = field(repr=False)
    audience: str | Sequence[str] | None = field(kw_only=True)
    issuer: str | None = field(default=None, kw_only=True)
    scope_claim: str = field(default="scope", kw_only=True)
    cache_seconds: float = field(default=_LONGEST, kw_only=True)
    leeway: float = field(default=30.0, kw_only=True)
    now: Callable[[], float] = field(default=time.time, kw_only=True, repr=False)
    _expectations: Expectations = field(init=False, repr=False)
    _answers: Recent[_Answer] = field(init=False, repr=False)
    _flights: Flights = field(init=False, repr=False, default_factory=Flights)

    def __post_init__(self) -> None:
        checked_url(self.endpoint, WHAT)
        if not 0 <= self.cache_seconds <= _LONGEST:
            raise ValueError(f"cache_seconds is between 0 and {_LONGEST:g}")
        names = [self.audience] if isinstance(self.audience, str) else self.audience
        audiences = None if names is None else audiences_of(list(names))
        if audiences is not None and not audiences:
            raise ValueError("an audience is needed, or None if the endpoint looks after it")
        object.__setattr__(self, "_expectations", Expectations(self.issuer, audiences, (), self.leeway))
        object.__setattr__(self, "_answers", Recent[_Answer](_LONGEST, _MOST))

    def verify(self, token: str) -> Principal:
        """Who the token speaks for. Raises ``TokenRefused``, ``VerifierUnavailable``."""
        # Not the token itself: what is remembered is no secret then.
        digest = hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
        answer = self._answers.get(digest)
        if answer is None or self.now() >= answer.until:
            answer = self._asked(token, digest)
        self._expectations.check(answer.said, self.now())
        # A copy: whoever changes the claims of one request must not change those of the next.
        return principal_of(dict(answer.said), self.scope_claim, self.issuer)

    def _asked(self, token: str, digest: bytes) -> _Answer:
        try:
            self._flights.join(
                digest, lambda flight: self._ask(token, digest, flight), Deadline.after(_WAIT), WHAT
            )
        except _Inactive:
            raise TokenRefused("the token is not active") from None
        except McpError as error:
            raise VerifierUnavailable(error.message) from error
        answer = self._answers.get(digest)
        if answer is None:
            raise VerifierUnavailable("too many tokens at once: the answer about one was lost")
        return answer

    def _ask(self, token: str, digest: bytes, flight: Flight) -> None:
        said = self._said(token, flight)
        if said["active"] is not True:
            # Not remembered: anybody could fill the memory with tokens of no worth.
            raise _Inactive("the token is not active")
        now = self.now()
        until = min(now + self.cache_seconds, expiry(said))
        self._answers.put(digest, _Answer(said, until), now)

    def _said(self, token: str, flight: Flight) -> JsonObject:
        fetcher = Fetcher(Network(self.endpoint, _REQUEST), flight.cancelled, frozenset({self.endpoint}))
        identity = Credentials(self.client_id, BASIC, self.client_secret)
        form = {"token": token, "token_type_hint": "access_token"}
        reply = fetcher.post_form(self.endpoint, WHAT, form, identity.headers())
        said = reply.members
        if reply.status != 200 or said is None or not isinstance(said.get("active"), bool):
            why = reply.summary if reply.status != 200 else "its answer says neither active nor inactive"
            raise AuthorizationFailed(f"{WHAT} {shown(self.endpoint)} is of no use: {why}")
        return said
