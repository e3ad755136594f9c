"""The JWT bearer grant (RFC 7523): somebody whom the authorization server trusts vouches for the client."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from mcp_actors.auth.authorization_server import find_authorization_server
from mcp_actors.auth.binding import Binding
from mcp_actors.auth.credentials import NONE, Credentials
from mcp_actors.auth.discovery import Site
from mcp_actors.auth.errand import Errand
from mcp_actors.auth.grants.grant import IssuerPin
from mcp_actors.auth.registration import ClientProfile, given_client
from mcp_actors.auth.scopes import joined
from mcp_actors.auth.token_endpoint import answer_of, request_tokens
from mcp_actors.auth.tokens import Tokens
from mcp_actors.auth.urls import shown
from mcp_actors.errors import AuthorizationFailed

__all__ = ["AssertionGrant", "IdentityProvider", "Voucher"]

Voucher: TypeAlias = str | Callable[[], str]

_JWT_BEARER: Final = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_TOKEN_EXCHANGE: Final = "urn:ietf:params:oauth:grant-type:token-exchange"
_ID_JAG: Final = "urn:ietf:params:oauth:token-type:id-jag"


class IdentityProvider(Struct, frozen=True):
    """Where an enterprise's identity is turned into an assertion for one MCP authorization server."""

    issuer: str | None
    token_endpoint: str | None
    client: Credentials
    subject_token: Voucher
    subject_token_type: str

    @property
    def trusted(self) -> frozenset[str]:
        """URLs that the user named."""
        return frozenset(url for url in (self.issuer, self.token_endpoint) if url)

    @property
    def secrets(self) -> tuple[str, ...]:
        """What the user handed over."""
        return _texts(self.subject_token, self.client.client_secret)

    def __repr__(self) -> str:
        return f"<IdentityProvider {shown(self.issuer or self.token_endpoint or '')}>"


class AssertionGrant(Struct, frozen=True):
    """The grant. The assertion is a workload's own, or an ID-JAG that ``provider`` gives for one.

    ``repr`` shows no secret.
    """

    pin: IssuerPin
    profile: ClientProfile | None = None
    assertion: Voucher = ""
    provider: IdentityProvider | None = None
    scopes: tuple[str, ...] | None = None
    interactive: bool = False

    @property
    def pinned(self) -> str | None:
        """See `Grant`."""
        return self.pin.issuer

    @property
    def trusted(self) -> frozenset[str]:
        """See `Grant`."""
        return self.pin.trusted if self.provider is None else self.pin.trusted | self.provider.trusted

    @property
    def holder(self) -> str:
        """See `Grant`."""
        client = "" if self.profile is None else self.profile.client_id
        return f"assertion {client}"

    @property
    def secrets(self) -> tuple[str, ...]:
        """See `Grant`."""
        own = () if self.profile is None else self.profile.secrets
        others = () if self.provider is None else self.provider.secrets
        return (*_texts(self.assertion), *own, *others)

    def acquire(self, errand: Errand, site: Site, scopes: tuple[str, ...]) -> Tokens:
        """Exchange the assertion for a token; a refusal is final, no other grant is tried."""
        self.pin.hold(site)
        authority = site.authority
        assertion = self._assertion(errand, site, scopes)
        errand.enter(f"asking for a token at {shown(authority.token_endpoint)}")
        form = {
            "grant_type": _JWT_BEARER,
            "assertion": assertion,
            **joined(scopes),
            **site.resource_parameter,
        }
        client = _ANONYMOUS if self.profile is None else given_client(site, self.profile)
        tokens = request_tokens(errand, authority.token_endpoint, authority.issuer, form, client)
        return replace(tokens, scope=tokens.scope or scopes, requested=scopes, refresh_token=None)

    def refresh(self, errand: Errand, site: Site, tokens: Tokens) -> Tokens | None:  # noqa: ARG002
        """There is nothing to refresh: the next assertion says whether the right still exists."""
        return None

    def __repr__(self) -> str:
        return f"<AssertionGrant of {self.provider or self.profile or 'a workload'!r}>"

    def _assertion(self, errand: Errand, site: Site, scopes: tuple[str, ...]) -> str:
        if self.provider is None:
            return _spoken(errand, self.assertion, "assertion")
        return _exchanged(errand, site, self.provider, scopes)


class _Anonymous(Credentials, frozen=True):
    """Nobody: the assertion alone says who asks."""

    def parameters(self, issuer: str) -> dict[str, str]:  # noqa: ARG002
        return {}


_ANONYMOUS: Final = _Anonymous("", NONE)


def _texts(*values: Voucher | None) -> tuple[str, ...]:
    """Those that are known by now; a callable has yet to be asked."""
    return tuple(value for value in values if isinstance(value, str) and value)


def _spoken(errand: Errand, voucher: Voucher, name: str) -> str:
    """The text of a voucher, asked for anew where it is a callable."""
    try:
        text: Any = voucher if isinstance(voucher, str) else voucher()
    except Exception as error:
        raise AuthorizationFailed(f"no {name} to show: the callable raised {type(error).__name__}") from error
    if not isinstance(text, str) or not text:
        raise AuthorizationFailed(f"no {name} to show: the callable returned no text")
    errand.confidences.add(text)
    return text


def _exchanged(errand: Errand, site: Site, provider: IdentityProvider, scopes: tuple[str, ...]) -> str:
    """The ID-JAG for this site, from the identity provider."""
    url = provider.token_endpoint
    if url is None:
        assert provider.issuer is not None
        url = find_authorization_server(errand.fetcher, provider.issuer, {}).token_endpoint
    errand.enter(f"asking the identity provider at {shown(url)}")
    form = {
        "grant_type": _TOKEN_EXCHANGE,
        "requested_token_type": _ID_JAG,
        "audience": site.authority.issuer,
        "subject_token": _spoken(errand, provider.subject_token, "identity token"),
        "subject_token_type": provider.subject_token_type,
        **joined(scopes),
        **site.resource_parameter,
    }
    # The key binds tokens for the MCP server, and an assertion is none.
    unbound = dataclasses.replace(errand, binding=Binding(None))
    members = answer_of(unbound, url, provider.issuer or url, form, provider.client)
    token = members.get("access_token")
    # RFC 8693 2.2.1: it has to say what it gave. A token for something else is not to be shown around.
    if not isinstance(token, str) or not token or members.get("issued_token_type") != _ID_JAG:
        raise AuthorizationFailed(
            f"the identity provider at {shown(url)} gave no assertion for the MCP server"
        )
    errand.confidences.add(token)
    return token
