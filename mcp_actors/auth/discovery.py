"""From an MCP server to the authorization server that speaks for it, today's way and that of 2025-03-26."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from mcp_actors.auth import authorization_server
from mcp_actors.auth.authorization_server import (
    AuthorizationServer,
    default_server,
    find_authorization_server,
)
from mcp_actors.auth.fetching import Fetcher
from mcp_actors.auth.protected_resource import ProtectedResource, find_protected_resource
from mcp_actors.auth.urls import canonical, origin, shown
from mcp_actors.errors import AuthorizationFailed
from mcp_actors.protocol.revisions.registry import NEWEST

__all__ = ["Site", "discover"]

# MCP 2025-03-26, authorization: discovery should name the revision.
_HEADERS: Final = {"mcp-protocol-version": NEWEST.version}


class Site(Struct, frozen=True):
    """One MCP server together with the authorization server that tokens for it come from."""

    server_url: str
    authority: AuthorizationServer
    resource: str | None = None
    """What token requests name as ``resource``: the metadata's own spelling. None before 2025-06-18."""
    scopes_supported: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        """Under which tokens are kept: issuer and resource."""
        return self.authority.issuer, self.resource or canonical(self.server_url)

    @property
    def resource_parameter(self) -> dict[str, str]:
        """The parameter that makes the token useless elsewhere (RFC 8707)."""
        return {} if self.resource is None else {"resource": self.resource}


def discover(
    fetcher: Fetcher,
    server_url: str,
    announced: str | None,
    pinned: str | None = None,
    earlier: str | None = None,
) -> Site:
    """Find out who authorizes for ``server_url``.

    Args:
        announced: the ``resource_metadata`` of the server's challenge.
        pinned: the only issuer that may.
        earlier: the ``resource_metadata`` of a challenge before that, for one that has none.

    Raises:
        AuthorizationFailed: nobody does, or nobody who may.
    """
    found = find_protected_resource(fetcher, server_url, announced, _HEADERS, earlier)
    if found is None:
        return Site(server_url, _legacy(fetcher, server_url, pinned))
    issuer = _chosen(found, server_url, pinned)
    authority = find_authorization_server(fetcher, issuer, _HEADERS)
    return Site(server_url, authority, found.resource, found.scopes_supported)


def _chosen(found: ProtectedResource, server_url: str, pinned: str | None) -> str:
    if pinned is None or pinned in found.authorization_servers:
        return pinned or found.authorization_servers[0]
    named = ", ".join(map(shown, found.authorization_servers))
    raise AuthorizationFailed(
        f"{shown(server_url)} is now authorized by {named}, but the client's credentials belong to "
        f"{shown(pinned)} and are shown to nobody else; pass the credentials for the new one"
    )


def _legacy(fetcher: Fetcher, server_url: str, pinned: str | None) -> AuthorizationServer:
    """The server is its own authorization server, with or without a document at its root."""
    root = origin(server_url)
    if pinned is not None and pinned.rstrip("/") != root:
        raise AuthorizationFailed(
            f"{shown(server_url)} publishes no resource metadata, so it would authorize its clients itself, "
            f"but the client's credentials belong to {shown(pinned)}"
        )
    reply = fetcher.get(authorization_server.candidates(root)[0], authorization_server.WHAT, _HEADERS)
    if reply.passing:
        raise AuthorizationFailed(
            f"{authorization_server.WHAT} at {shown(reply.url)} cannot be read: {reply.summary}",
            retryable=True,
        )
    if reply.status == 200 and reply.members is not None:
        # Servers of that time spell an issuer without a path with or without the slash.
        return authorization_server.read(reply, (root, root + "/"))
    return default_server(server_url)
