"""The authorization code grant with PKCE: a person agrees once, refresh tokens do the rest."""

from __future__ import annotations

import logging
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from mcp_actors.auth.credentials import NONE, SIGNED, Credentials
from mcp_actors.auth.discovery import Site
from mcp_actors.auth.errand import Errand
from mcp_actors.auth.grants.grant import IssuerPin
from mcp_actors.auth.login import Login, LoginStyle, begun_login, new_state
from mcp_actors.auth.pkce import Pkce
from mcp_actors.auth.redirect import Expected
from mcp_actors.auth.registration import ClientProfile, given_client, identify, stored_client
from mcp_actors.auth.scopes import OFFLINE_ACCESS, joined, union
from mcp_actors.auth.token_endpoint import TokenRefused, refresh_parameters, request_tokens
from mcp_actors.auth.tokens import Tokens
from mcp_actors.auth.urls import shown
from mcp_actors.errors import AuthorizationFailed

__all__ = ["AuthorizationCode"]

logger = logging.getLogger("mcp_actors.auth")

#: The server no longer knows the client, or knows it for fewer scopes: the registration is of no use then.
_CLIENT_UNFIT: Final = frozenset({"invalid_client", "unauthorized_client", "invalid_scope"})
#: The server did not take the proof, and so has not looked at what it was for.
_PROOF_REFUSED: Final = frozenset({"invalid_dpop_proof", "use_dpop_nonce"})


class AuthorizationCode(Struct, frozen=True):
    """The grant, for one client as its user described it."""

    profile: ClientProfile
    style: LoginStyle
    pin: IssuerPin
    scopes: tuple[str, ...] | None = None
    interactive: bool = True

    @property
    def pinned(self) -> str | None:
        """See `Grant`. A client that registers itself, or publishes its metadata, may go anywhere."""
        return self.pin.issuer

    @property
    def trusted(self) -> frozenset[str]:
        """See `Grant`."""
        return self.pin.trusted

    @property
    def holder(self) -> str:
        """See `Grant`."""
        return f"authorization_code {self.profile.client_id or self.profile.metadata_url or ''}"

    @property
    def secrets(self) -> tuple[str, ...]:
        """See `Grant`."""
        return self.profile.secrets

    def acquire(self, errand: Errand, site: Site, scopes: tuple[str, ...]) -> Tokens:
        """Have a person log in."""
        _gate(site)
        kept = stored_client(errand, site, self.style.redirect_uri)
        with begun_login(errand, self.style, kept.redirect_uri if kept else None) as login:
            if self.profile.client_id is not None:
                self.pin.hold(site)
            # Registered for the same: what a client was not registered for, a server may refuse it.
            asked = _asked(site, scopes)
            client = identify(errand, site, self.profile, login.redirect_uri, asked)
            try:
                return self._logged_in(errand, site, login, client, asked)
            except AuthorizationFailed as error:
                _forget_if_unfit(errand, site, client, error)
                raise

    def refresh(self, errand: Errand, site: Site, tokens: Tokens) -> Tokens | None:
        """Use the refresh token; None if the server does not take it any more. Raises ``TokenRefused`` if it
        has not come to that: the token is as good as before, and a login would be refused as well."""
        client = self._known(errand, site, tokens)
        if tokens.refresh_token is None or client is None:
            return None
        errand.enter(f"refreshing the token at {shown(site.authority.token_endpoint)}")
        form = {**refresh_parameters(tokens), **site.resource_parameter}
        authority = site.authority
        try:
            new = request_tokens(errand, authority.token_endpoint, authority.issuer, form, client)
        except TokenRefused as error:
            if _says_nothing_of_the_grant(error, client):
                raise
            logger.info("= the refresh token was refused (%s): a new login is needed", error.error)
            _forget_if_unfit(errand, site, client, error)
            return None
        # RFC 6749 6: what the answer leaves out stays as it was.
        return replace(
            new,
            refresh_token=new.refresh_token or tokens.refresh_token,
            scope=new.scope or tokens.scope,
            requested=tokens.requested,
            client=client.registered,
        )

    def _logged_in(
        self,
        errand: Errand,
        site: Site,
        login: Login,
        client: Credentials,
        asked: tuple[str, ...],
    ) -> Tokens:
        pkce, authority = Pkce(), site.authority
        errand.confidences.add(pkce.verifier)
        expected = Expected(new_state(), authority.issuer, authority.answers_with_issuer)
        parameters = {
            "response_type": "code",
            "client_id": client.client_id,
            "redirect_uri": login.redirect_uri,
            "state": expected.state,
            "code_challenge": pkce.challenge,
            "code_challenge_method": "S256",
            **joined(asked),
            **site.resource_parameter,
            **_extras(errand, asked),
        }
        code = login.code(_gate(site), parameters, expected)
        errand.enter(f"exchanging the code at {shown(authority.token_endpoint)}")
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": login.redirect_uri,
            "code_verifier": pkce.verifier,
            **site.resource_parameter,
        }
        tokens = request_tokens(errand, authority.token_endpoint, authority.issuer, form, client)
        return replace(tokens, scope=tokens.scope or asked, requested=asked, client=client.registered)

    def _known(self, errand: Errand, site: Site, tokens: Tokens) -> Credentials | None:
        """The credentials of the client that the tokens were given to; None if they are lost."""
        profile = self.profile
        if profile.client_id is not None:
            self.pin.hold(site)
            return given_client(site, profile)
        if profile.metadata_url is not None and site.authority.takes_metadata_url:
            method = SIGNED if profile.private_key is not None else NONE
            return Credentials(profile.metadata_url, method, None, profile.private_key)
        kept = tokens.client or stored_client(errand, site, None)
        if kept is None or kept.expired:
            return None
        errand.confidences.add(kept.client_secret)
        return Credentials.of(kept)


def _says_nothing_of_the_grant(error: TokenRefused, client: Credentials) -> bool:
    """Whether the server refused the client, or its proof, where no new registration could help."""
    return error.error in _PROOF_REFUSED or (error.error == "invalid_client" and client.registered is None)


def _forget_if_unfit(errand: Errand, site: Site, client: Credentials, error: AuthorizationFailed) -> None:
    """Have the client register anew, unless it has since."""
    if client.registered is None or error.details.get("error") not in _CLIENT_UNFIT:
        return
    if errand.storage.load_client(site.authority.issuer) == client.registered:
        errand.storage.save_client(site.authority.issuer, None)


def _gate(site: Site) -> str:
    """Where to log in, at a server that protects codes as it must."""
    authority = site.authority
    if "S256" not in (authority.code_challenge_methods or ()):
        raise AuthorizationFailed(
            f"the authorization server {shown(authority.issuer)} does not say that it supports PKCE with "
            "S256 (code_challenge_methods_supported), without which no login is safe; tell its operator"
        )
    if authority.authorization_endpoint is None:
        raise AuthorizationFailed(
            f"the authorization server {shown(authority.issuer)} has no authorization endpoint: nobody can "
            "log in there; use ClientCredentials or another grant"
        )
    return authority.authorization_endpoint


def _asked(site: Site, scopes: tuple[str, ...]) -> tuple[str, ...]:
    """The scopes, and the right to refresh where the server has a scope for that.

    But not that alone: where nobody names a scope, the server is to choose which ones.
    """
    listed = OFFLINE_ACCESS in site.authority.scopes_supported
    return union(scopes, (OFFLINE_ACCESS,)) if scopes and listed else scopes


def _extras(errand: Errand, asked: tuple[str, ...]) -> dict[str, str]:
    thumbprint = errand.binding.thumbprint
    return {
        # OpenID Connect Core 11: offline access is granted only where the person is asked.
        **({"prompt": "consent"} if OFFLINE_ACCESS in asked else {}),
        **({"dpop_jkt": thumbprint} if thumbprint else {}),
    }
