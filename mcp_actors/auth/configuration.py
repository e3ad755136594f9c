"""Configuration: what `OAuth` and the other ways to a token are, whichever grant is behind them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from mcp_actors.auth.authorizer import GrantAuthorizer
from mcp_actors.auth.binding import Binding, dpop_key
from mcp_actors.auth.fetching import Network
from mcp_actors.auth.flights import Flights
from mcp_actors.auth.grants.grant import Grant
from mcp_actors.auth.jose import DpopKey, SigningKey
from mcp_actors.auth.storage import MemoryStorage, TokenStorage
from mcp_actors.auth.urls import origin

if TYPE_CHECKING:
    from mcp_actors.transports.http.authorizer import Authorizer

__all__ = ["Configuration", "scope_list", "signing_key"]


class Configuration:
    """One grant with its storage. Clients of one server or of several may share it, on any thread: its
    authorizers share tokens and logins."""

    def __init__(
        self, grant: Grant, *, storage: TokenStorage | None, dpop: bool | DpopKey, request_timeout: float
    ) -> None:
        if not request_timeout > 0:
            raise ValueError(f"request_timeout must be above 0 s, not {request_timeout!r}")
        self._grant = grant
        self._storage = MemoryStorage() if storage is None else storage
        self._flights = Flights()
        self._key = dpop_key(dpop)
        self._request_timeout = request_timeout

    def bind(
        self, server_url: str, verify: bool | str = True, proxies: Mapping[str, str] | None = None
    ) -> Authorizer:
        """The authorizer for one MCP server. Raises ``ValueError`` if that is no http or https URL."""
        origin(server_url)
        network = Network(server_url, self._request_timeout, verify, proxies)
        return GrantAuthorizer(self._grant, network, self._storage, self._flights, Binding(self._key))


def scope_list(scopes: str | Iterable[str] | None) -> tuple[str, ...] | None:
    """The option ``scopes=``, a text or a list."""
    if scopes is None:
        return None
    return tuple(scopes.split()) if isinstance(scopes, str) else tuple(scopes)


def signing_key(
    private_key: SigningKey | str | bytes | Mapping[str, Any] | None, algorithm: str | None
) -> SigningKey | None:
    """The option ``private_key=``: PEM, JWK, or a key that was loaded before."""
    if private_key is None or isinstance(private_key, SigningKey):
        return private_key
    return SigningKey.load(private_key, algorithm)
