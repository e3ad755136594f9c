"""Protected resource metadata (RFC 9728): what the MCP server says about who authorizes its clients."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlsplit

from msgspec import Struct

from mcp_actors.auth.fetching import Fetcher, Reply
from mcp_actors.auth.scopes import valid
from mcp_actors.auth.urls import covers, origin, same_origin, shown
from mcp_actors.errors import AuthorizationFailed

__all__ = ["ProtectedResource", "find_protected_resource", "well_known"]

WHAT: Final = "the resource metadata"
_PLACE: Final = "/.well-known/oauth-protected-resource"
_MAX_SERVERS: Final = 20


class ProtectedResource(Struct, frozen=True):
    """The document, as far as it matters here."""

    resource: str
    authorization_servers: tuple[str, ...]
    scopes_supported: tuple[str, ...] = ()


def find_protected_resource(
    fetcher: Fetcher,
    server_url: str,
    announced: str | None,
    headers: dict[str, str],
    earlier: str | None = None,
) -> ProtectedResource | None:
    """The metadata of the server: from where it announced them, and only there, else from where they were
    announced ``earlier``, else from the known places.

    None if the server has none at all, as those of 2025-03-26.

    Raises:
        AuthorizationFailed: there is a document, or should be one, and it is of no use.
    """
    if announced is not None:
        if not same_origin(announced, server_url):
            raise AuthorizationFailed(
                f"{shown(server_url)} announces its resource metadata at another origin, {shown(announced)}, "
                "which is refused; tell its operator"
            )
        return _read(_answered(fetcher.get(announced, WHAT, headers)), server_url)
    places = well_known(server_url)
    for candidate in places if earlier is None else (earlier, *places):
        reply = fetcher.get(candidate, WHAT, headers)
        if reply.passing:
            return _read(_answered(reply), server_url)
        # A web site may answer every address with a page of its own: that is no metadata document.
        if reply.status == 200 and reply.members is not None:
            return _read(reply, server_url)
    return None


def well_known(server_url: str) -> list[str]:
    """The known places in order: with the server's path, then without."""
    root = origin(server_url) + _PLACE
    path = urlsplit(server_url).path.rstrip("/")
    return [root + path, root] if path else [root]


def _answered(reply: Reply) -> Reply:
    if reply.status != 200 or reply.members is None:
        why = reply.summary if reply.status != 200 else "its answer is no JSON object"
        raise AuthorizationFailed(
            f"{WHAT} at {shown(reply.url)} cannot be read: {why}", retryable=reply.passing
        )
    return reply


def _read(reply: Reply, server_url: str) -> ProtectedResource:
    members = reply.members or {}
    resource, servers = members.get("resource"), _texts(members.get("authorization_servers"))
    if not isinstance(resource, str) or not servers:
        raise AuthorizationFailed(
            f"{WHAT} at {shown(reply.url)} lack 'resource' or 'authorization_servers'; "
            "tell the server's operator"
        )
    if not covers(resource, server_url):
        # A token for another resource would let this server act there in our name.
        raise AuthorizationFailed(
            f"{WHAT} at {shown(reply.url)} are about {shown(resource)}, not about {shown(server_url)}: "
            "no token is asked for; check the server's URL"
        )
    return ProtectedResource(resource, servers, valid(_texts(members.get("scopes_supported"))))


def _texts(value: Any) -> tuple[str, ...]:
    items = value if isinstance(value, list) else ()
    return tuple(item for item in items if isinstance(item, str) and item)[:_MAX_SERVERS]
