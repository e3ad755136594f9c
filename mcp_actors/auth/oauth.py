"""OAuth: a person logs in once, with a browser here or anywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from mcp_actors.auth.configuration import Configuration, scope_list, signing_key
from mcp_actors.auth.credentials import method_problem
from mcp_actors.auth.grants.authorization_code import AuthorizationCode
from mcp_actors.auth.grants.grant import IssuerPin
from mcp_actors.auth.login import LoginStyle, redirect_problem
from mcp_actors.auth.registration import ClientProfile, metadata_url_problem

if TYPE_CHECKING:
    from mcp_actors.auth.jose import DpopKey, SigningKey
    from mcp_actors.auth.storage import TokenStorage

__all__ = ["OAuth"]


class OAuth(Configuration):
    """The authorization code grant with PKCE, for ``Client.http(url, auth=OAuth())``.

    The first request that the server refuses leads to its authorization server and to a login there. A call
    waits for it until its own deadline; the login stays open for ``timeout`` seconds, and the next call joins
    it. One login at a time per server, whoever asks.

    Args:
        client_name: what the person sees.
        client_id: the client as it was registered by hand; without it the client registers itself.
        client_secret: what it was given then.
        private_key: PEM or JWK, if it proves itself by signing (``private_key_jwt``).
        client_metadata_url: an https URL with the client's metadata, which serves as its id (CIMD).
        issuer: the one authorization server that may see ``client_id``; by default the first that is met.
        redirect_uri: where the browser is sent afterwards; by default a free port on 127.0.0.1.
        scopes: what to ask for beside that which the server demands.
        storage: where tokens are kept; by default in memory.
        open_url: shows the login page, in place of the browser on this machine.
        callback: returns the URL that the browser was sent to, where nobody can listen for it.
        token_endpoint_auth_method: how the client proves itself; by default what the server takes.
        dpop: bind tokens to a key, so that a stolen one is of no use; True for a new key.
        timeout: seconds that a person has for the login.
        request_timeout: seconds for each request to the authorization server, from beginning to end.
    """

    def __init__(
        self,
        *,
        client_name: str = "mcp-actors",
        client_id: str | None = None,
        client_secret: str | None = None,
        private_key: SigningKey | str | bytes | Mapping[str, Any] | None = None,
        client_metadata_url: str | None = None,
        issuer: str | None = None,
        redirect_uri: str | None = None,
        scopes: str | Iterable[str] | None = None,
        storage: TokenStorage | None = None,
        open_url: Callable[[str], object] | None = None,
        callback: Callable[[], str] | None = None,
        software_id: str | None = None,
        software_version: str | None = None,
        token_endpoint_auth_method: str | None = None,
        dpop: bool | DpopKey = False,
        timeout: float = 300.0,
        request_timeout: float = 30.0,
    ) -> None:
        profile = ClientProfile(
            client_name,
            client_id,
            client_secret,
            signing_key(private_key, None),
            client_metadata_url,
            token_endpoint_auth_method,
            software_id,
            software_version,
        )
        style = LoginStyle(redirect_uri, open_url, callback, timeout)
        _check(profile, style)
        grant = AuthorizationCode(profile, style, IssuerPin(issuer), scope_list(scopes))
        super().__init__(grant, storage=storage, dpop=dpop, request_timeout=request_timeout)
        # Whoever waits no longer than the person has would not hear that nobody came, and would ask anew.
        self.login_timeout = timeout + request_timeout
        """Seconds that a login takes at most, the requests around it included."""


def _check(profile: ClientProfile, style: LoginStyle) -> None:
    """Raise ``ValueError`` for what the caller cannot mean."""
    problems = (
        None if style.timeout > 0 else f"timeout must be above 0 s, not {style.timeout!r}",
        style.redirect_uri and redirect_problem(style.redirect_uri, listened=style.callback is None),
        profile.metadata_url and metadata_url_problem(profile.metadata_url),
        "client_secret= needs client_id=" if profile.client_secret and not profile.client_id else None,
        # A client that registers itself is given its secret then.
        method_problem(
            profile.method,
            secret=profile.client_secret is not None or profile.client_id is None,
            key=profile.private_key is not None,
        ),
    )
    if problem := next(filter(None, problems), None):
        raise ValueError(problem)
