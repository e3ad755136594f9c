"""The protected resource metadata (RFC 9728) that a server publishes, and where. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from mcp_actors.auth.urls import canonical, origin, require_safe
from mcp_actors.errors import AuthorizationFailed
from mcp_actors.protocol.codec import JsonObject

__all__ = ["ResourceMetadata", "checked_servers", "checked_url", "resource_name_of"]

_PLACE: Final = "/.well-known/oauth-protected-resource"


class ResourceMetadata(Struct, frozen=True):
    """What a client has to know before it can ask for a token."""

    resource: str
    """The server's URL in its one normal form: what tokens name as their audience."""
    authorization_servers: tuple[str, ...]
    scopes_supported: tuple[str, ...] = ()
    resource_name: str | None = None
    dpop_algorithms: tuple[str, ...] = ()
    dpop_required: bool = False

    @property
    def document(self) -> JsonObject:
        """The document, a new one each time."""
        document: JsonObject = {
            "resource": self.resource,
            "authorization_servers": list(self.authorization_servers),
            "bearer_methods_supported": ["header"],
        }
        if self.scopes_supported:
            document["scopes_supported"] = list(self.scopes_supported)
        if self.resource_name:
            document["resource_name"] = self.resource_name
        if self.dpop_algorithms:
            document["dpop_signing_alg_values_supported"] = list(self.dpop_algorithms)
            document["dpop_bound_access_tokens_required"] = self.dpop_required
        return document

    @property
    def paths(self) -> tuple[str, ...]:
        """Where it is served: with the resource's path, then at the root, as clients look for it."""
        path = urlsplit(self.resource).path
        return (_PLACE + path, _PLACE) if path else (_PLACE,)

    @property
    def url(self) -> str:
        """The address that challenges announce."""
        return origin(self.resource) + self.paths[0]


def resource_name_of(url: str) -> str:
    """The normal form of a resource's URL: no fragment, no query, no slash at the end.

    Raises:
        ValueError: no URL that tokens could be sent to.
    """
    if urlsplit(checked_url(url, "the resource")).query:
        raise ValueError("the resource is an address without a query")
    return canonical(url)


def checked_url(url: str, what: str) -> str:
    """The URL itself, if it is https, or http on this machine. Raises ``ValueError``."""
    try:
        return require_safe(url, what)
    except AuthorizationFailed as error:
        raise ValueError(error.message) from None


def checked_servers(urls: Sequence[str]) -> tuple[str, ...]:
    """The issuers, at least one. Raises ``ValueError``, ``TypeError`` for a plain string."""
    if isinstance(urls, str):
        raise TypeError("authorization_servers is a sequence of URLs, not one URL")
    if not urls:
        raise ValueError("at least one authorization server is needed")
    return tuple(checked_url(url, "the authorization server") for url in urls)
