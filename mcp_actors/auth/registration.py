"""Under which name an authorization server knows the client: given, published by itself, or registered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from msgspec import Struct

from mcp_actors.auth.credentials import BASIC, METHODS, NONE, POST, SIGNED, Credentials, choose_method
from mcp_actors.auth.discovery import Site
from mcp_actors.auth.errand import Errand
from mcp_actors.auth.fetching import Reply
from mcp_actors.auth.jose import SigningKey
from mcp_actors.auth.scopes import joined
from mcp_actors.auth.tokens import RegisteredClient
from mcp_actors.auth.urls import is_loopback, shown
from mcp_actors.errors import AuthorizationFailed
from mcp_actors.telemetry.redaction import presentable

__all__ = ["ClientProfile", "identify", "metadata_url_problem", "stored_client"]

WHAT: Final = "the registration endpoint"


class ClientProfile(Struct, frozen=True):
    """What the user of this package said about the client. ``repr`` shows no secret."""

    client_name: str
    client_id: str | None = None
    client_secret: str | None = None
    private_key: SigningKey | None = None
    metadata_url: str | None = None
    method: str | None = None
    software_id: str | None = None
    software_version: str | None = None

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not turn up anywhere."""
        return (self.client_secret,) if self.client_secret else ()

    def __repr__(self) -> str:
        return f"<ClientProfile {self.client_name!r}>"


def identify(
    errand: Errand, site: Site, profile: ClientProfile, redirect_uri: str, scopes: tuple[str, ...]
) -> Credentials:
    """The credentials for this authorization server, registering the client there if need be.

    Raises:
        AuthorizationFailed: there is no way to become known there.
    """
    server = site.authority
    if profile.client_id is not None:
        return given_client(site, profile)
    if profile.metadata_url is not None and server.takes_metadata_url:
        method = SIGNED if profile.private_key is not None else NONE
        return Credentials(profile.metadata_url, method, None, profile.private_key)
    if server.registration_endpoint is None:
        raise AuthorizationFailed(
            f"the authorization server {shown(server.issuer)} does not know this client and lets none "
            "register: register the client there by hand and pass client_id="
        )
    kept = stored_client(errand, site, redirect_uri)
    if kept is None:
        errand.enter(f"registering the client at {shown(server.registration_endpoint)}")
        kept = _register(errand, site, profile, redirect_uri, scopes)
        errand.storage.save_client(server.issuer, kept)
    errand.confidences.add(kept.client_secret)
    return Credentials.of(kept)


def given_client(site: Site, profile: ClientProfile) -> Credentials:
    """The credentials of a client that was registered by hand."""
    assert profile.client_id is not None
    secret, key = profile.client_secret, profile.private_key
    method = choose_method(
        site.authority, secret=secret is not None, key=key is not None, wanted=profile.method
    )
    return Credentials(profile.client_id, method, secret, key)


def stored_client(errand: Errand, site: Site, redirect_uri: str | None) -> RegisteredClient | None:
    """The registration kept for this issuer, if it is still good, and for this address to come back to."""
    kept = errand.storage.load_client(site.authority.issuer)
    if kept is None or kept.expired or redirect_uri not in (None, kept.redirect_uri):
        return None
    return kept


def metadata_url_problem(url: str) -> str | None:
    """Why the URL cannot be a client's name, None if it can."""
    parts = urlsplit(url)
    if parts.scheme != "https" or not parts.hostname or parts.path in ("", "/") or parts.fragment:
        return "client_metadata_url has to be an https URL with a path"
    return None


def _register(
    errand: Errand, site: Site, profile: ClientProfile, redirect_uri: str, scopes: tuple[str, ...]
) -> RegisteredClient:
    url = site.authority.registration_endpoint
    assert url is not None
    request = _request(site, profile, redirect_uri, scopes, bound=errand.binding.thumbprint is not None)
    reply = errand.fetcher.post_json(url, WHAT, request)
    members = reply.members
    if reply.status not in (200, 201) or members is None or not isinstance(members.get("client_id"), str):
        raise _unknowable(site) if site.authority.assumed else _refusal(reply, errand.confidences.values)
    return _registered(members, redirect_uri, url)


def _request(
    site: Site, profile: ClientProfile, redirect_uri: str, scopes: tuple[str, ...], *, bound: bool
) -> dict[str, Any]:
    host = urlsplit(redirect_uri)
    native = host.scheme not in ("http", "https") or is_loopback(host.hostname or "")
    optional = {"software_id": profile.software_id, "software_version": profile.software_version}
    return {
        "client_name": profile.client_name,
        "redirect_uris": [redirect_uri],
        # Without it a server may refuse the loopback address (OpenID Connect Registration 1.0).
        "application_type": "native" if native else "web",
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": profile.method or _method_asked_for(site),
        **({"dpop_bound_access_tokens": True} if bound else {}),
        **{name: value for name, value in optional.items() if value is not None},
        **joined(scopes),
    }


def _method_asked_for(site: Site) -> str:
    taken = site.authority.token_endpoint_auth_methods
    return next((method for method in (NONE, BASIC, POST) if method in (taken or (BASIC,))), NONE)


def _registered(members: Mapping[str, Any], redirect_uri: str, url: str) -> RegisteredClient:
    secret = members.get("client_secret")
    secret = secret if isinstance(secret, str) and secret else None
    # RFC 7591: not said means Basic, which makes no sense without a secret.
    method = members.get("token_endpoint_auth_method") or (BASIC if secret else NONE)
    if method not in METHODS or method == SIGNED or (method != NONE and secret is None):
        raise AuthorizationFailed(
            f"{WHAT} {shown(url)} registered the client with an authentication method that it cannot use: "
            f"{presentable(str(method), 64)}; register it by hand and pass client_id="
        )
    ends = members.get("client_secret_expires_at")
    expires_at = float(ends) if isinstance(ends, int | float) and ends and secret else None
    return RegisteredClient(members["client_id"], method, secret, redirect_uri, expires_at)


def _unknowable(site: Site) -> AuthorizationFailed:
    return AuthorizationFailed(
        f"{shown(site.server_url)} wants an authorization but publishes nothing about how to get one; "
        "ask its operator, and pass a token as auth= if that is what it takes"
    )


def _refusal(reply: Reply, secrets: tuple[str, ...]) -> AuthorizationFailed:
    members = reply.members or {}
    said = [members[name] for name in ("error", "error_description") if isinstance(members.get(name), str)]
    why = presentable(": ".join(said) or reply.summary, 250, secrets)
    return AuthorizationFailed(
        f"{WHAT} {shown(reply.url)} refused the client: {why}; register it by hand and pass client_id=, "
        "or pass a redirect_uri= that the server accepts",
        retryable=reply.passing,
    )
