"""Authorization server metadata (RFC 8414, OpenID Connect Discovery): its endpoints and what it can do."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlsplit

from msgspec import Struct

from mcp_actors.auth.fetching import Fetcher, Reply
from mcp_actors.auth.urls import origin, require_safe, shown
from mcp_actors.errors import AuthorizationFailed

__all__ = ["AuthorizationServer", "candidates", "default_server", "find_authorization_server", "read"]

WHAT: Final = "the authorization server metadata"
_OAUTH: Final = "/.well-known/oauth-authorization-server"
_OPENID: Final = "/.well-known/openid-configuration"
_MAX_ITEMS: Final = 200


class AuthorizationServer(Struct, frozen=True):
    """One authorization server. ``issuer`` is spelled as the document spells it."""

    issuer: str
    token_endpoint: str
    authorization_endpoint: str | None = None
    registration_endpoint: str | None = None
    code_challenge_methods: tuple[str, ...] | None = None
    token_endpoint_auth_methods: tuple[str, ...] | None = None
    scopes_supported: tuple[str, ...] = ()
    takes_metadata_url: bool = False
    """Whether a client may be known by the URL of its own metadata (CIMD)."""
    answers_with_issuer: bool = False
    """Whether every authorization response carries ``iss`` (RFC 9207)."""
    assumed: bool = False
    """No document exists: the endpoints are the defaults of MCP 2025-03-26."""


def candidates(issuer: str) -> list[str]:
    """Where the document of an issuer may be, in order."""
    root, path = origin(issuer), urlsplit(issuer).path.rstrip("/")
    if not path:
        return [root + _OAUTH, root + _OPENID]
    return [root + _OAUTH + path, root + _OPENID + path, root + path + _OPENID]


def find_authorization_server(fetcher: Fetcher, issuer: str, headers: dict[str, str]) -> AuthorizationServer:
    """The metadata of ``issuer``.

    Raises:
        AuthorizationFailed: there are none, they are another's, or they are of no use.
    """
    require_safe(issuer, "the authorization server")
    tried: list[str] = []
    for candidate in candidates(issuer):
        reply = fetcher.get(candidate, WHAT, headers)
        if reply.status == 200 and reply.members is not None:
            return read(reply, (issuer,))
        tried.append(f"{shown(candidate)} ({reply.summary if reply.status != 200 else 'no JSON object'})")
        if reply.passing:
            raise AuthorizationFailed(f"{WHAT} cannot be read: {tried[-1]}", retryable=True)
    raise AuthorizationFailed(
        f"the authorization server {shown(issuer)} publishes no metadata: tried {', '.join(tried)}"
    )


def default_server(server_url: str) -> AuthorizationServer:
    """What MCP 2025-03-26 assumes of a server that publishes nothing at all."""
    root = origin(server_url)
    # How clients prove themselves it does not say either. Whoever was registered by hand knows.
    methods = ("none", "client_secret_basic", "client_secret_post", "private_key_jwt")
    return AuthorizationServer(
        root, f"{root}/token", f"{root}/authorize", f"{root}/register", ("S256",), methods, assumed=True
    )


def read(reply: Reply, issuers: tuple[str, ...]) -> AuthorizationServer:
    """The document in ``reply``, which has to name one of ``issuers`` letter by letter (RFC 8414 3.3)."""
    members = reply.members or {}
    issuer = members.get("issuer")
    if not isinstance(issuer, str) or issuer not in issuers:
        raise AuthorizationFailed(
            f"{WHAT} at {shown(reply.url)} belong to {shown(str(issuer))}, not to {shown(issuers[0])}: "
            "none of it is used; tell the server's operator"
        )
    token_endpoint = _endpoint(members, "token_endpoint")
    if token_endpoint is None:
        raise AuthorizationFailed(f"{WHAT} at {shown(reply.url)} name no token endpoint")
    return AuthorizationServer(
        issuer,
        token_endpoint,
        _endpoint(members, "authorization_endpoint"),
        _endpoint(members, "registration_endpoint"),
        _texts(members.get("code_challenge_methods_supported")),
        _texts(members.get("token_endpoint_auth_methods_supported")),
        _texts(members.get("scopes_supported")) or (),
        members.get("client_id_metadata_document_supported") is True,
        members.get("authorization_response_iss_parameter_supported") is True,
    )


def _endpoint(members: dict[str, Any], name: str) -> str | None:
    value = members.get(name)
    return require_safe(value, f"the {name.replace('_', ' ')}") if isinstance(value, str) else None


def _texts(value: Any) -> tuple[str, ...] | None:
    if not isinstance(value, list):
        return None
    return tuple(item for item in value if isinstance(item, str))[:_MAX_ITEMS]
