"""The client credentials grant: the program is its own user."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from mcp_actors.auth.discovery import Site
from mcp_actors.auth.errand import Errand
from mcp_actors.auth.grants.grant import IssuerPin
from mcp_actors.auth.registration import ClientProfile, given_client
from mcp_actors.auth.scopes import joined
from mcp_actors.auth.token_endpoint import request_tokens
from mcp_actors.auth.tokens import Tokens
from mcp_actors.auth.urls import shown

__all__ = ["ClientCredentialsGrant"]


class ClientCredentialsGrant(Struct, frozen=True):
    """The grant, for one client that was registered by hand."""

    profile: ClientProfile
    pin: IssuerPin
    scopes: tuple[str, ...] | None = None
    interactive: bool = False

    @property
    def pinned(self) -> str | None:
        """See `Grant`."""
        return self.pin.issuer

    @property
    def trusted(self) -> frozenset[str]:
        """See `Grant`."""
        return self.pin.trusted

    @property
    def holder(self) -> str:
        """See `Grant`."""
        return f"client_credentials {self.profile.client_id}"

    @property
    def secrets(self) -> tuple[str, ...]:
        """See `Grant`."""
        return self.profile.secrets

    def acquire(self, errand: Errand, site: Site, scopes: tuple[str, ...]) -> Tokens:
        """Ask for a token in the client's own name."""
        self.pin.hold(site)
        authority = site.authority
        errand.enter(f"asking for a token at {shown(authority.token_endpoint)}")
        form = {"grant_type": "client_credentials", **joined(scopes), **site.resource_parameter}
        client = given_client(site, self.profile)
        tokens = request_tokens(errand, authority.token_endpoint, authority.issuer, form, client)
        # RFC 6749 4.4.3: a refresh token makes no sense here, for the credentials are at hand.
        return replace(tokens, scope=tokens.scope or scopes, requested=scopes, refresh_token=None)

    def refresh(self, errand: Errand, site: Site, tokens: Tokens) -> Tokens | None:  # noqa: ARG002
        """There is nothing to refresh."""
        return None
