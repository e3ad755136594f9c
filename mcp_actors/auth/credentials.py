"""How a client proves at a token endpoint who it is."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Final
from urllib.parse import quote_plus

from msgspec import Struct

from mcp_actors.auth.authorization_server import AuthorizationServer
from mcp_actors.auth.urls import shown
from mcp_actors.errors import AuthorizationFailed

if TYPE_CHECKING:
    from mcp_actors.auth.jose import SigningKey
    from mcp_actors.auth.tokens import RegisteredClient

__all__ = ["METHODS", "Credentials", "choose_method", "method_problem"]

NONE: Final = "none"
BASIC: Final = "client_secret_basic"
POST: Final = "client_secret_post"
SIGNED: Final = "private_key_jwt"
METHODS: Final = (NONE, BASIC, POST, SIGNED)
_ASSERTION_TYPE: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"


class Credentials(Struct, frozen=True):
    """Who the client is at one authorization server. ``repr`` shows no secret."""

    client_id: str
    method: str = NONE
    client_secret: str | None = None
    key: SigningKey | None = None
    registered: RegisteredClient | None = None
    """The registration they come from, if the client registered itself."""

    @classmethod
    def of(cls, registered: RegisteredClient) -> Credentials:
        """Those that a registration came to."""
        return cls(registered.client_id, registered.method, registered.client_secret, None, registered)

    def parameters(self, issuer: str) -> dict[str, str]:
        """What the form of a token request says about the client."""
        if self.method == NONE:
            return {"client_id": self.client_id}
        if self.method == POST:
            return {"client_id": self.client_id, "client_secret": self.client_secret or ""}
        if self.method == SIGNED:
            return {"client_assertion_type": _ASSERTION_TYPE, "client_assertion": self._assertion(issuer)}
        return {}

    def headers(self) -> dict[str, str]:
        """What its headers say about the client."""
        if self.method != BASIC:
            return {}
        # RFC 6749 2.3.1: both are form-encoded before they are joined, or a colon would tear them apart.
        pair = f"{quote_plus(self.client_id)}:{quote_plus(self.client_secret or '')}"
        return {"authorization": "Basic " + base64.b64encode(pair.encode("ascii")).decode("ascii")}

    def _assertion(self, issuer: str) -> str:
        from mcp_actors.auth.jose import client_assertion

        assert self.key is not None
        return client_assertion(client_id=self.client_id, audience=issuer, key=self.key)

    def __repr__(self) -> str:
        return f"<Credentials of {self.client_id!r}, {self.method}>"


def method_problem(method: str | None, *, secret: bool, key: bool) -> str | None:
    """Why a client cannot prove itself in this way, None if it can or nobody says how."""
    if method not in (None, *METHODS):
        return f"token_endpoint_auth_method: {', '.join(METHODS)}"
    if method == SIGNED and not key:
        return f"token_endpoint_auth_method={SIGNED!r} needs private_key="
    if method in (BASIC, POST) and not secret:
        return f"token_endpoint_auth_method={method!r} needs client_secret="
    return None


def choose_method(
    server: AuthorizationServer, *, secret: bool, key: bool = False, wanted: str | None = None
) -> str:
    """The method for a client that has a secret, a key or nothing, at a server that says what it takes.

    Raises:
        AuthorizationFailed: they have none in common.
    """
    # RFC 8414: a server that does not say takes HTTP Basic. But what else was a key given to it for?
    taken = server.token_endpoint_auth_methods or (SIGNED if key else BASIC,)
    own = [SIGNED] if key else [BASIC, POST] if secret else [NONE]
    if wanted is not None:
        return wanted
    for method in own:
        if method in taken:
            return method
    if not secret and not key:
        # Public clients are common, servers that forget to list them too.
        return NONE
    raise AuthorizationFailed(
        f"the authorization server {shown(server.issuer)} takes {', '.join(taken)} at its token endpoint, "
        f"but the client has {' or '.join(own)}; register it otherwise"
    )
