"""FetchedKeys: the keys of an issuer, asked for when they are needed, kept for a while."""

from __future__ import annotations

import logging
import time
from typing import Final

from msgspec import Struct

from mcp_actors.auth.authorization_server import candidates
from mcp_actors.auth.fetching import Fetcher, Network, Reply
from mcp_actors.auth.flights import Flight, Flights
from mcp_actors.auth.urls import shown
from mcp_actors.errors import AuthorizationFailed, McpError
from mcp_actors.runtime.deadline import Clock, Deadline
from mcp_actors.server.authorization.key_set import KeySet, published
from mcp_actors.server.authorization.verifier import VerifierUnavailable

__all__ = ["FetchedKeys"]

logger = logging.getLogger("mcp_actors.server")

#: Seconds. Fresh keys are used as they are; then they are asked for again, and used if that fails, so that an
#: issuer's short absence is not ours. Never beyond `_USABLE`: a key that was withdrawn must come to its end.
_FRESH: Final = 600.0
_USABLE: Final = 3600.0
#: Between two requests: anybody can send tokens that name unknown keys.
_PAUSE: Final = 30.0
_PAUSE_AFTER_FAILURE: Final = 5.0
#: One request, and all that a caller waits for.
_REQUEST: Final = 5.0
_WAIT: Final = 10.0

_METADATA: Final = "the issuer's metadata"
_KEYS: Final = "the issuer's keys"


class _Held(Struct, frozen=True):
    """What is known now. Replaced as a whole, so that any thread may look."""

    keys: KeySet | None = None
    fresh_until: float = 0.0
    usable_until: float = 0.0
    not_before: float = 0.0
    """When the issuer may be asked again."""
    failure: str = ""


class FetchedKeys:
    """Any thread. However many need the keys, one request is under way at a time, and all get its keys."""

    def __init__(self, issuer: str, jwks_uri: str | None = None, *, clock: Clock = time.monotonic) -> None:
        self._issuer = issuer
        self._jwks_uri = jwks_uri
        self._clock = clock
        self._flights = Flights()
        self._held = _Held()

    def find(self, key_id: str | None) -> KeySet:
        """Keys among which the one named ``key_id`` is, if the issuer has it.

        Raises:
            VerifierUnavailable: the issuer does not give its keys.
        """
        keys = self._current()
        if keys.knows(key_id):
            return keys
        # The issuer may have begun to sign with a new key.
        self._renew()
        return self._held.keys or keys

    def _current(self) -> KeySet:
        held, failure = self._held, ""
        if self._clock() >= held.fresh_until:
            failure = self._renew()
            held = self._held
        if held.keys is None or self._clock() >= held.usable_until:
            reason = held.failure or failure or "they were not asked for yet"
            raise VerifierUnavailable(f"no keys to check tokens with: {reason}")
        return held.keys

    def _renew(self) -> str:
        """Ask the issuer, or wait for what another thread has asked; why that failed, if it did."""
        if self._clock() < self._held.not_before:
            return ""
        try:
            self._flights.join(_KEYS, self._fetch, Deadline.after(_WAIT), _KEYS)
        except McpError as error:
            return error.message
        return ""

    def _fetch(self, flight: Flight) -> None:
        if self._clock() < self._held.not_before:
            # Another flight landed after this one's caller had looked.
            return
        keys, failure = None, "the request broke off"
        try:
            keys = self._ask(flight)
        except McpError as error:
            failure = error.message
            logger.warning("! the keys of %s cannot be had: %s", shown(self._issuer), failure)
        finally:
            self._keep(keys, failure)

    def _keep(self, keys: KeySet | None, failure: str) -> None:
        now, held = self._clock(), self._held
        if keys is not None:
            self._held = _Held(keys, now + _FRESH, now + _USABLE, now + _PAUSE)
        else:
            pause = now + _PAUSE_AFTER_FAILURE
            self._held = _Held(held.keys, held.fresh_until, held.usable_until, pause, failure)

    def _ask(self, flight: Flight) -> KeySet:
        # What the operator named is asked wherever it is; what the issuer names must not lie further inside.
        named = self._jwks_uri or self._issuer
        fetcher = Fetcher(Network(named, _REQUEST), flight.cancelled, frozenset({named}))
        where = self._jwks_uri or _discovered(fetcher, self._issuer)
        keys = published(_members(fetcher.get(where, _KEYS), _KEYS))
        if not keys.keys:
            raise AuthorizationFailed(f"{_KEYS} at {shown(where)} are none that tokens can be checked with")
        return keys


def _discovered(fetcher: Fetcher, issuer: str) -> str:
    """Where the issuer says that its keys are (RFC 8414, OpenID Connect Discovery)."""
    for candidate in candidates(issuer):
        reply = fetcher.get(candidate, _METADATA)
        if reply.status >= 500:
            break
        if reply.status == 200 and reply.members is not None:
            return _jwks_uri(reply, issuer)
    raise AuthorizationFailed(f"{_METADATA} at {shown(reply.url)} cannot be read: {reply.summary}")


def _jwks_uri(reply: Reply, issuer: str) -> str:
    members = _members(reply, _METADATA)
    if members.get("issuer") != issuer:
        raise AuthorizationFailed(f"{_METADATA} at {shown(reply.url)} are another's, not of {shown(issuer)}")
    where = members.get("jwks_uri")
    if not isinstance(where, str):
        raise AuthorizationFailed(f"{_METADATA} at {shown(reply.url)} name no jwks_uri; pass jwks_uri=")
    return where


def _members(reply: Reply, what: str) -> dict[str, object]:
    members = reply.members
    if reply.status != 200 or members is None:
        why = reply.summary if reply.status != 200 else "its answer is no JSON object"
        raise AuthorizationFailed(f"{what} at {shown(reply.url)} cannot be read: {why}")
    return members
