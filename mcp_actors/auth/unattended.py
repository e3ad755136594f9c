"""Authorization where no person is present: client credentials, an enterprise's identity, a workload's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from mcp_actors.auth.configuration import Configuration, scope_list, signing_key
from mcp_actors.auth.credentials import BASIC, NONE, Credentials, method_problem
from mcp_actors.auth.grants.assertion import AssertionGrant, IdentityProvider, Voucher
from mcp_actors.auth.grants.client_credentials import ClientCredentialsGrant
from mcp_actors.auth.grants.grant import IssuerPin
from mcp_actors.auth.registration import ClientProfile

if TYPE_CHECKING:
    from mcp_actors.auth.jose import DpopKey, SigningKey
    from mcp_actors.auth.storage import TokenStorage

__all__ = ["ClientCredentials", "EnterpriseManaged", "WorkloadIdentity"]

_ID_TOKEN: Final = "urn:ietf:params:oauth:token-type:id_token"


class ClientCredentials(Configuration):
    """The program authorizes itself, with a secret or by signing.

    Args:
        client_id: the client as it was registered.
        client_secret: its secret, or
        private_key: PEM or JWK, to sign with ``algorithm`` (``private_key_jwt``, recommended).
        issuer: the one authorization server that may see the credentials. Without it the first that the MCP
            server names is trusted with them: pass it unless you trust that server as well.
        scopes: what to ask for beside that which the server demands.
        dpop: bind tokens to a key; True for a new one.
    """

    def __init__(
        self,
        client_id: str,
        client_secret: str | None = None,
        *,
        private_key: SigningKey | str | bytes | Mapping[str, Any] | None = None,
        algorithm: str | None = None,
        issuer: str | None = None,
        scopes: str | Iterable[str] | None = None,
        token_endpoint_auth_method: str | None = None,
        storage: TokenStorage | None = None,
        dpop: bool | DpopKey = False,
        request_timeout: float = 30.0,
    ) -> None:
        if (client_secret is None) == (private_key is None):
            raise ValueError("pass client_secret= or private_key=, one of them")
        key, method = signing_key(private_key, algorithm), token_endpoint_auth_method
        if problem := method_problem(method, secret=client_secret is not None, key=key is not None):
            raise ValueError(problem)
        profile = ClientProfile(client_id, client_id, client_secret, key, None, method)
        grant = ClientCredentialsGrant(profile, IssuerPin(issuer), scope_list(scopes))
        super().__init__(grant, storage=storage, dpop=dpop, request_timeout=request_timeout)


class EnterpriseManaged(Configuration):
    """The enterprise's identity provider decides: it turns an identity token into an assertion (ID-JAG) for
    the MCP server's authorization server, which gives a token for it. Nobody is sent to a login page there.

    Args:
        client_id: the client at the MCP server's authorization server, with
        client_secret: its secret, or ``private_key`` to sign with; neither for a public client.
        id_token: what the person's single sign-on gave, or a callable that returns it.
        idp_client_id: the client at the identity provider, with ``idp_client_secret`` if it has one.
        idp_issuer: the identity provider; its token endpoint is looked up, unless
        idp_token_endpoint: says where it is.
        subject_token_type: of ``id_token``; another URN for SAML assertions or refresh tokens.
        issuer: the one authorization server that may see the credentials; by default the first that is met.
    """

    def __init__(
        self,
        client_id: str,
        client_secret: str | None = None,
        *,
        id_token: Voucher,
        idp_client_id: str,
        idp_client_secret: str | None = None,
        idp_issuer: str | None = None,
        idp_token_endpoint: str | None = None,
        subject_token_type: str = _ID_TOKEN,
        private_key: SigningKey | str | bytes | Mapping[str, Any] | None = None,
        algorithm: str | None = None,
        issuer: str | None = None,
        scopes: str | Iterable[str] | None = None,
        storage: TokenStorage | None = None,
        dpop: bool | DpopKey = False,
        request_timeout: float = 30.0,
    ) -> None:
        if idp_issuer is None and idp_token_endpoint is None:
            raise ValueError("pass idp_issuer= or idp_token_endpoint=")
        idp_method = NONE if idp_client_secret is None else BASIC
        client = Credentials(idp_client_id, idp_method, idp_client_secret)
        provider = IdentityProvider(idp_issuer, idp_token_endpoint, client, id_token, subject_token_type)
        key = signing_key(private_key, algorithm)
        grant = AssertionGrant(
            IssuerPin(issuer),
            ClientProfile(client_id, client_id, client_secret, key),
            provider=provider,
            scopes=scope_list(scopes),
        )
        super().__init__(grant, storage=storage, dpop=dpop, request_timeout=request_timeout)


class WorkloadIdentity(Configuration):
    """The platform vouches for the program: its signed identity (a JWT) is exchanged for a token.

    Args:
        assertion: the JWT, or a callable that returns a current one.
        client_id: only where the authorization server wants one.
        issuer: the one authorization server that may see the assertion; by default the first that is met.
    """

    def __init__(
        self,
        assertion: Voucher,
        *,
        client_id: str | None = None,
        issuer: str | None = None,
        scopes: str | Iterable[str] | None = None,
        storage: TokenStorage | None = None,
        dpop: bool | DpopKey = False,
        request_timeout: float = 30.0,
    ) -> None:
        profile = None if client_id is None else ClientProfile(client_id, client_id, method=NONE)
        grant = AssertionGrant(IssuerPin(issuer), profile, assertion=assertion, scopes=scope_list(scopes))
        super().__init__(grant, storage=storage, dpop=dpop, request_timeout=request_timeout)
