"""Authorization: who is let in to an MCP server over HTTP, and what the others are told."""

from __future__ import annotations

import logging
import math
import traceback
from collections.abc import Collection, Mapping, Sequence
from typing import Final
from urllib.parse import urlsplit

from msgspec.structs import replace

from mcp_actors.auth.urls import origin
from mcp_actors.protocol.codec import JsonObject
from mcp_actors.server.authorization.challenge import Challenge, scope_text
from mcp_actors.server.authorization.credentials import (
    Credentials,
    MalformedCredentials,
    header_values,
    presented,
)
from mcp_actors.server.authorization.denied import Denied
from mcp_actors.server.authorization.dpop import DpopVerifier, ProofRefused
from mcp_actors.server.authorization.metadata import ResourceMetadata, checked_servers, resource_name_of
from mcp_actors.server.authorization.principal import Principal
from mcp_actors.server.authorization.verifier import (
    TokenRefused,
    Verification,
    VerifierUnavailable,
    as_verifier,
)
from mcp_actors.telemetry.redaction import presentable

__all__ = ["Authorization"]

logger = logging.getLogger("mcp_actors.server")

_SHOWN: Final = 300
_LONGEST_RETRY: Final = 3600.0


class Authorization:
    """The guard of one MCP endpoint. Any thread; nothing of a token gets into logs, errors or reprs.

    Scopes are compared as they are: where one includes others, the verifier gives the principal all of them.

    Args:
        verifier: knows which tokens are good; a function ``(token) -> Principal | None`` will do.
        resource: the URL under which clients know the endpoint.
        authorization_servers: the issuers that clients may get tokens from.
        scopes: what every request needs.
        scopes_supported: what the metadata names; ``scopes`` if it is not given.
        resource_name: the server's name for people.
        dpop: takes tokens that are bound to a client's key, besides plain ones.
        require_dpop: takes no others.

    Raises:
        ValueError: an address that is not https (or http on this machine), or something that is no scope.
    """

    def __init__(
        self,
        verifier: Verification,
        *,
        resource: str,
        authorization_servers: Sequence[str],
        scopes: Collection[str] = (),
        scopes_supported: Collection[str] | None = None,
        realm: str | None = None,
        resource_name: str | None = None,
        dpop: DpopVerifier | None = None,
        require_dpop: bool = False,
    ) -> None:
        self._verifier = as_verifier(verifier)
        self._dpop = DpopVerifier() if dpop is None and require_dpop else dpop
        self._needed = frozenset(_scopes(scopes))
        self._metadata = ResourceMetadata(
            resource=resource_name_of(resource),
            authorization_servers=checked_servers(authorization_servers),
            scopes_supported=_scopes(scopes if scopes_supported is None else scopes_supported),
            resource_name=resource_name,
            dpop_algorithms=() if self._dpop is None else tuple(self._dpop.algorithms),
            dpop_required=require_dpop,
        )
        self._challenges = self._made_challenges(realm)

    @property
    def resource(self) -> str:
        """The server's URL in its normal form."""
        return self._metadata.resource

    @property
    def metadata_document(self) -> JsonObject:
        """The protected resource metadata (RFC 9728), to be served to everybody at each of the paths."""
        return self._metadata.document

    @property
    def metadata_paths(self) -> tuple[str, ...]:
        """Where clients look for the metadata, on the origin of the resource."""
        return self._metadata.paths

    @property
    def metadata_url(self) -> str:
        """What challenges announce."""
        return self._metadata.url

    def admit(self, headers: Mapping[str, str], *, method: str, url: str) -> Principal:
        """On whose behalf a request comes; asked for each request anew. May block while keys are fetched.

        Args:
            headers: names in any spelling; a repeated header as one value with commas, or refused before.
            url: what was asked for, with its query.

        Raises:
            Denied: the answer to send instead (400, 401, 403, 500 or 503).
        """
        try:
            credentials = presented(headers, url)
        except MalformedCredentials as error:
            raise self._denied(400, "invalid_request", str(error)) from None
        if credentials is None or credentials.scheme not in self._challenges:
            # RFC 6750 3.1: who shows nothing is told what to bring, not what is wrong.
            raise self._denied(401)
        principal = self._verified(credentials)
        if credentials.scheme == "dpop":
            self._check_proof(principal, credentials, header_values(headers, "dpop"), (method, url))
        elif principal.claims.get("cnf") is not None:
            # Who stole it could show it just as well: that is what the binding is to prevent.
            raise self._denied(401, "invalid_token", "the token is bound to a key and is no bearer token")
        if not self._needed <= principal.scopes:
            raise self.forbid(principal, self._needed)
        return principal

    def forbid(self, principal: Principal, needed: frozenset[str]) -> Denied:
        """The answer to a principal who lacks some of the scopes that an operation needs.

        It names all that are needed, those of every request included: the client asks for them in one go.
        """
        scheme = "dpop" if _bound_key(principal) is not None else "bearer"
        missing = scope_text((self._needed | needed) - principal.scopes)
        why = f"the token lacks: {missing}" if missing else None
        return self._denied(403, "insufficient_scope", why, scheme=scheme, needed=self._needed | needed)

    def __repr__(self) -> str:
        return f"<Authorization for {self.resource}>"

    def _verified(self, credentials: Credentials) -> Principal:
        token = (credentials.token,)
        try:
            principal = self._verifier.verify(credentials.token)
            if not isinstance(principal, Principal):
                raise TypeError(f"a verifier returns a Principal, not {type(principal).__name__}")
        except TokenRefused as error:
            reason = presentable(error.reason, _SHOWN, token)
            logger.debug("%% a token is refused: %s", reason)
            raise self._denied(401, "invalid_token", reason, scheme=credentials.scheme) from None
        except VerifierUnavailable as error:
            logger.warning("! a token cannot be checked: %s", presentable(error.reason, _SHOWN, token))
            raise _unavailable(error.retry_after) from None
        except Exception as error:  # noqa: BLE001 - the verifier may be anybody's code
            # Neither its text nor its traceback: both may hold the token.
            logger.error("! the token verifier failed: %s", _place(error))
            raise Denied(500, (), {"error": "server_error"}) from None
        return principal

    def _check_proof(
        self, principal: Principal, credentials: Credentials, proofs: list[str], request: tuple[str, str]
    ) -> None:
        assert self._dpop is not None
        try:
            if len(proofs) != 1:
                raise ProofRefused("exactly one DPoP header is needed")
            method, url = request
            addresses = (self.resource, *self._address(url))
            key = self._dpop.verify(proofs[0], token=credentials.token, method=method, urls=addresses)
        except ProofRefused as error:
            raise self._denied(401, "invalid_dpop_proof", str(error), scheme="dpop") from None
        if _bound_key(principal) != key:
            why = "the token is not bound to the key of the DPoP proof"
            raise self._denied(401, "invalid_token", why, scheme="dpop")

    def _address(self, url: str) -> tuple[str, ...]:
        """The address of a request as clients know it."""
        # Behind a proxy the origin that this process sees is another; the Host header is the client's word.
        try:
            path = urlsplit(url).path
        except ValueError:
            return ()
        return (origin(self.resource) + path,) if path.startswith("/") else ()

    def _made_challenges(self, realm: str | None) -> dict[str, Challenge]:
        metadata = self._metadata
        if realm is not None and not (realm.isascii() and realm.isprintable()):
            raise ValueError("the realm has characters that fit into no header")
        bearer = Challenge("Bearer", realm, metadata.url, scope_text(self._needed))
        made = {} if metadata.dpop_required else {"bearer": bearer}
        if metadata.dpop_algorithms:
            made["dpop"] = replace(bearer, scheme="DPoP", algorithms=" ".join(metadata.dpop_algorithms))
        return made

    def _denied(
        self,
        status: int,
        error: str | None = None,
        description: str | None = None,
        *,
        scheme: str | None = None,
        needed: frozenset[str] | None = None,
    ) -> Denied:
        """An answer with a challenge for the scheme that was used, else for each that may be used."""
        used = [self._challenges[scheme]] if scheme in self._challenges else self._challenges.values()
        scope = {} if needed is None else {"scope": scope_text(needed)}
        made = [replace(one, error=error, description=description, **scope) for one in used]
        headers = tuple(("WWW-Authenticate", challenge.header) for challenge in made)
        return Denied(status, headers, made[0].body)


def _scopes(scopes: Collection[str]) -> tuple[str, ...]:
    if isinstance(scopes, str):
        raise TypeError("scopes is a collection of scopes, not one text")
    return tuple(scope_text(scopes).split())


def _bound_key(principal: Principal) -> str | None:
    """The thumbprint of the key that the token is bound to (RFC 9449 6)."""
    confirmation = principal.claims.get("cnf")
    found = confirmation.get("jkt") if isinstance(confirmation, Mapping) else None
    return found if isinstance(found, str) else None


def _unavailable(retry_after: float) -> Denied:
    seconds = str(math.ceil(min(max(1.0, retry_after), _LONGEST_RETRY)))
    return Denied(503, (("Retry-After", seconds),), {"error": "temporarily_unavailable"})


def _place(error: Exception) -> str:
    """What was raised, and where."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{type(error).__name__} in {frames[-1].name}, {frames[-1].filename}:{frames[-1].lineno}"
