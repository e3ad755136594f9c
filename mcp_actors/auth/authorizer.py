"""The authorizer behind every grant: finds out who authorizes, keeps the tokens, renews and extends them."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final, Literal, TypeAlias

from msgspec.structs import replace

from mcp_actors.auth.binding import Binding
from mcp_actors.auth.confidences import Confidences
from mcp_actors.auth.discovery import Site, discover
from mcp_actors.auth.errand import Errand
from mcp_actors.auth.fetching import Fetcher, Network
from mcp_actors.auth.flights import Flight, Flights, interrupted
from mcp_actors.auth.grants.grant import Grant
from mcp_actors.auth.ledger import Held, Ledger, Page
from mcp_actors.auth.scopes import first_scopes, union
from mcp_actors.auth.storage import TokenStorage
from mcp_actors.auth.tokens import Tokens
from mcp_actors.auth.urls import canonical, same_origin, shown
from mcp_actors.errors import AuthorizationFailed, McpError
from mcp_actors.protocol.endings import Ending
from mcp_actors.protocol.http.challenges import Challenge, choose, parse
from mcp_actors.protocol.http.scopes import Shortage
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.slot import SlotTimeout
from mcp_actors.telemetry.redaction import presentable
from mcp_actors.transports.http.authorizer import Attempt, AuthorizationInterrupted, Refusal
from mcp_actors.transports.http.fingerprint import fingerprint

__all__ = ["GrantAuthorizer"]

logger = logging.getLogger("mcp_actors.auth")

_Job: TypeAlias = Callable[[Flight], None]

#: Refusals of one request, whatever the reason, before it is given up.
_MOST_REFUSALS: Final = 6
#: Authorizations for one request: more scopes than that are not asked for one after the other.
_MOST_AUTHORIZATIONS: Final = 3
_LOOK_AGAIN: Final = 0.05
#: Longer than a login may take elsewhere.
_PATIENCE: Final = 900.0
_JOIN_SECONDS: Final = 2.0
_LONGEST: Final = 250


class GrantAuthorizer:
    """An `Authorizer` for one MCP server. Any thread may call anything.

    A call waits for a new token until its own deadline. The errand that fetches it has its own limits (each
    request ``request_timeout``, a person's login ``timeout``) and goes on: a later call joins it.
    """

    def __init__(
        self, grant: Grant, network: Network, storage: TokenStorage, flights: Flights, binding: Binding
    ) -> None:
        self._grant = grant
        self._network = network
        self._server_url = network.server_url
        self._storage = storage
        self._flights = flights
        self._binding = binding
        self._key = canonical(network.server_url)
        self._purpose = f"the authorization for {shown(network.server_url)}"
        self._ledger = Ledger()
        self._confidences = Confidences()
        self._announced: str | None = None
        # Written by the flight's thread only, of which there is one at a time.
        self._held: Held | None = None

    # -- the contract of transports.http.authorizer -------------------------------------------------------

    def headers(self, attempt: Attempt) -> Mapping[str, str]:
        """See `Authorizer`. A token goes to the origin it was issued for and to no other."""
        if not same_origin(attempt.url, self._server_url):
            return {}
        return self._shown(self._current(attempt), attempt)

    def at_hand(self, attempt: Attempt) -> Mapping[str, str] | None:
        """See `KnowsAtOnce`."""
        held = self._held
        if held is None or held.tokens.expired or not same_origin(attempt.url, self._server_url):
            return None
        return self._shown(held, attempt)

    def _shown(self, held: Held | None, attempt: Attempt) -> Mapping[str, str]:
        page = self._ledger.page(attempt)
        page.used, page.nonce = held, self._binding.nonce(attempt.url)
        if held is None:
            return {}
        return self._binding.present(held.tokens, attempt.method, attempt.url, page.nonce)

    def refused(self, attempt: Attempt, refusal: Refusal) -> bool:
        """See `Authorizer`. Repeat a request with the same attempt, or one with the same deadline object."""
        if not same_origin(attempt.url, self._server_url):
            return False
        page, scheme = self._ledger.page(attempt), self._binding.token_type.lower()
        challenge = choose(parse(refusal.challenges), scheme)
        page.refusals += 1
        if page.refusals > _MOST_REFUSALS:
            raise self._refusal(f"refused {page.refusals} times in a row")
        self._binding.learn(attempt.url, refusal.headers)
        if challenge.error == "use_dpop_nonce":
            return self._binding.outdated(attempt.url, page.nonce)
        if challenge.error == "invalid_dpop_proof" and page.used is not None:
            # Of one second, or seen before: a fresh proof may do. A clock that is wrong, no new token mends.
            return page.refusals == 1
        if refusal.status == 403 and challenge.error != "insufficient_scope":
            return False
        if self._held is page.used:
            self._reauthorize(attempt, page, challenge, more=refusal.status == 403)
        return True

    def answered(self, attempt: Attempt, headers: Mapping[str, str]) -> None:
        """See `Authorizer`."""
        page = self._ledger.close(attempt)
        if page is not None and page.used is not None:
            page.used.proven = True
        if same_origin(attempt.url, self._server_url):
            self._binding.learn(attempt.url, headers)

    @property
    def secrets(self) -> tuple[str, ...]:
        """See `Authorizer`."""
        return (*self._grant.secrets, *self._confidences.values)

    def principal(self) -> str:
        """See `Identifies`. A renewed token may be another person's, for all that can be seen from here."""
        held = self._held
        return "" if held is None else fingerprint(held.site.authority.issuer, held.tokens.access_token)

    def hindrance(self) -> Ending | None:
        """See `LogsIn`."""
        return self._flights.hindrance(self._key, self._purpose)

    def interrupt(self) -> None:
        """See `LogsIn`."""
        self._flights.cancel(self._key)

    def close(self) -> None:
        """End a login that is under way; what was obtained stays in the storage. Idempotent, bounded."""
        flight = self._flights.cancel(self._key)
        if flight is not None:
            flight.join(_JOIN_SECONDS)

    def __repr__(self) -> str:
        return f"<{type(self._grant).__name__} for {shown(self._server_url)}>"

    # -- on the thread of the request ---------------------------------------------------------------------

    def _current(self, attempt: Attempt) -> Held | None:
        """What is held, renewed if it is at its end."""
        held = self._held
        for _ in range(2):
            if held is None or self._held is not held or not held.tokens.expired:
                break
            # Maybe it is the flight of another client of this configuration: then the newer token lies in
            # the storage, and a second one fetches it from there.
            self._join(partial(self._renew, used=held), attempt)
        return self._held

    def _reauthorize(self, attempt: Attempt, page: Page, challenge: Challenge, *, more: bool) -> None:
        used = page.used
        if more and used is not None:
            self._step_up(attempt, page, used, challenge)
            return
        if used is not None and used.source == "granted" and not used.proven:
            # The next call starts anew, and so gets further should this have been a passing fault.
            self._held = None
            said = presentable(challenge.complaint, _LONGEST, self.secrets)
            raise self._refusal("refuses the token right after it was issued" + (f": {said}" if said else ""))
        self._join(lambda flight: self._obtain(flight, used, challenge), attempt)

    def _step_up(self, attempt: Attempt, page: Page, used: Held, challenge: Challenge) -> None:
        shortage = Shortage(challenge.scopes, used.tokens.scope)
        if not challenge.scopes:
            raise self._refusal(shortage.words, shortage)
        if set(challenge.scopes) <= set(used.tokens.requested):
            raise self._refusal(f"{shortage.words}: they were asked for already and not granted", shortage)
        page.authorizations += 1
        if page.authorizations >= _MOST_AUTHORIZATIONS:
            often = "wants other scopes after each authorization"
            raise self._refusal(f"{often}; now it {shortage.words}", shortage)
        try:
            self._join(lambda flight: self._extend(flight, used, challenge), attempt)
        except AuthorizationInterrupted:
            raise
        except AuthorizationFailed as error:
            raise AuthorizationFailed(
                f"{error.message}; {shown(self._server_url)} {shortage.words}",
                retryable=error.retryable,
                details={**error.details, **shortage.details},
            ) from error

    def _refusal(self, what: str, shortage: Shortage | None = None) -> AuthorizationFailed:
        return AuthorizationFailed(
            f"{shown(self._server_url)} {what}; ask its operator which rights you need",
            details=None if shortage is None else shortage.details,
        )

    def _join(self, job: _Job, attempt: Attempt) -> None:
        self._flights.join(self._key, job, attempt.deadline, self._purpose, attempt.held)

    # -- on the thread of the flight ----------------------------------------------------------------------

    def _errand(self, flight: Flight) -> Errand:
        fetcher = Fetcher(self._network, flight.cancelled, self._grant.trusted)
        return Errand(flight, fetcher, self._storage, self._binding, self._confidences)

    def _obtain(self, flight: Flight, used: Held | None, challenge: Challenge) -> None:
        """After a 401: what somebody else has obtained, else refresh, else a new authorization."""
        if self._held is not used:
            return
        errand = self._errand(flight)
        # Each time anew: the server may have moved to another authorization server.
        site = self._discovered(errand, challenge.resource_metadata)
        old = used if used is not None and used.site.key == site.key else None
        with self._claimed(errand, site):
            stored = self._stored(site, old)
            if stored is not None and not stored.expired:
                self._hold(Held(site, stored, "stored"))
                return
            known = stored or (old.tokens if old else None)
            spent = old is not None and old.source == "refreshed" and not old.proven
            if known is None or spent or not self._refreshed(errand, site, known):
                scopes = first_scopes(challenge.scopes, self._grant.scopes, site.scopes_supported)
                self._granted(errand, site, union(scopes, known.requested if known else ()))

    def _extend(self, flight: Flight, used: Held, challenge: Challenge) -> None:
        """After a 403: an authorization for what was asked for before and for what is missing."""
        if self._held is not used:
            return
        errand, site = self._errand(flight), used.site
        with self._claimed(errand, site):
            stored = self._stored(site, used)
            if stored is not None and set(challenge.scopes) <= {*stored.requested, *stored.scope}:
                self._hold(Held(site, stored, "stored"))
            else:
                # Where nothing was asked for, what the server gave of itself would be lost.
                before = used.tokens.requested or used.tokens.scope
                self._granted(errand, site, union(before, challenge.scopes))

    def _renew(self, flight: Flight, used: Held) -> None:
        """The token is at its end: get a newer one, or forget it, and the next challenge leads to one."""
        if self._held is not used:
            return
        errand = self._errand(flight)
        try:
            with self._claimed(errand, used.site):
                if not self._renewed(errand, used):
                    self._held = None
        except McpError:
            # Where the server has moved to another authorization server, the old one may be gone for good.
            if self._discovered(errand) == used.site:
                raise
            self._held = None

    def _renewed(self, errand: Errand, used: Held) -> bool:
        site = used.site
        stored = self._stored(site, used)
        if stored is not None and not stored.expired:
            self._hold(Held(site, stored, "stored"))
        elif not self._refreshed(errand, site, stored or used.tokens):
            if self._grant.interactive:
                return False
            self._granted(errand, site, used.tokens.requested)
        return True

    def _discovered(self, errand: Errand, announced: str | None = None) -> Site:
        site = discover(errand.fetcher, self._server_url, announced, self._grant.pinned, self._announced)
        self._announced = announced or self._announced
        return site

    def _stored(self, site: Site, old: Held | None) -> Tokens | None:
        """What lies in the storage, if it is ours, bound to our key, and newer than what we have."""
        stored = self._storage.load_tokens(*site.key)
        if stored is None or stored.thumbprint != self._binding.thumbprint:
            return None
        if stored.holder not in (None, self._grant.holder):
            # Two clients share the storage. What one may do is not what the other may.
            return None
        self._confidences.add(stored.access_token, stored.refresh_token)
        # A refresh token that is used twice could cost all that came of it.
        known = () if old is None else (old.tokens.access_token, old.outdated)
        return None if stored.access_token in known else stored

    def _refreshed(self, errand: Errand, site: Site, tokens: Tokens) -> bool:
        if tokens.refresh_token is None:
            return False
        new = self._grant.refresh(errand, site, tokens)
        if new is None:
            # Spent: nobody shall try it again, but what was asked for stays known.
            self._storage.save_tokens(*site.key, replace(tokens, refresh_token=None))
            return False
        self._keep(site, new, "refreshed")
        return True

    def _granted(self, errand: Errand, site: Site, scopes: tuple[str, ...]) -> None:
        self._keep(site, self._grant.acquire(errand, site, scopes), "granted")

    def _keep(self, site: Site, tokens: Tokens, source: Literal["refreshed", "granted"]) -> None:
        held = Held(site, replace(tokens, holder=self._grant.holder), source)
        self._hold(held)
        lying = self._storage.load_tokens(*site.key)
        held.outdated = None if lying is None else lying.access_token
        self._storage.save_tokens(*site.key, held.tokens)

    def _hold(self, held: Held) -> None:
        self._held = held
        logger.debug("= %s token for %s", held.source, shown(self._server_url))

    @contextlib.contextmanager
    def _claimed(self, errand: Errand, site: Site) -> Iterator[None]:
        """Alone among all threads and processes that share the storage."""
        end = Deadline.after(_PATIENCE)
        while (claim := self._storage.claim(*site.key)) is None:
            errand.enter("waiting for another process that authorizes")
            if end.expired:
                raise AuthorizationFailed(f"{self._purpose} is held up by another process", retryable=True)
            with contextlib.suppress(SlotTimeout):
                errand.flight.cancelled.wait(Deadline.after(_LOOK_AGAIN))
                raise interrupted()
        try:
            yield
        finally:
            claim.release()
