"""What may be given as ``auth=``, and the authorizer it becomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol, TypeAlias, cast, runtime_checkable

from mcp_actors.auth.fixed import BearerToken, CallableAuth, TokenSource

if TYPE_CHECKING:
    from mcp_actors.transports.http.authorizer import Authorizer

__all__ = ["Auth", "Bindable", "as_authorizer"]


@runtime_checkable
class Bindable(Protocol):
    """A way to authorize that is not yet tied to a server: `OAuth`, `ClientCredentials` and the like."""

    def bind(
        self, server_url: str, verify: bool | str = True, proxies: Mapping[str, str] | None = None
    ) -> Authorizer:
        """The authorizer for one MCP server."""


Auth: TypeAlias = "str | TokenSource | Bindable | Authorizer"


def as_authorizer(
    auth: Auth | None,
    server_url: str,
    *,
    verify: bool | str = True,
    proxies: Mapping[str, str] | None = None,
) -> Authorizer | None:
    """The authorizer for one MCP server, None for None.

    Args:
        auth: a bearer token, a callable that returns one or headers, a `Bindable`, or an authorizer.
        verify: as for ``Client.http``; the authorization server is asked under the same terms.
        proxies: likewise.

    Raises:
        TypeError: it is none of these.
        ValueError: a token that fits into no header, or no http or https URL.
    """
    if auth is None:
        return None
    if isinstance(auth, str):
        return BearerToken(auth, server_url)
    if isinstance(auth, type):
        raise TypeError(f"auth= takes {auth.__name__}(...), not the class {auth.__name__} itself")
    if isinstance(auth, Bindable):
        return auth.bind(server_url, verify, proxies)
    if callable(getattr(auth, "headers", None)) and callable(getattr(auth, "refused", None)):
        return cast("Authorizer", auth)  # by its methods
    if isinstance(auth, Callable):  # type: ignore[arg-type]  # mypy takes it for no class
        return CallableAuth(cast(TokenSource, auth), server_url)
    raise TypeError(f"auth= takes a token, a callable, OAuth(...) or the like, not {type(auth).__name__}")
