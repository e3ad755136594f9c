"""Authorization of the client over HTTP: what may be passed as ``Client.http(url, auth=...)``."""

from __future__ import annotations

from mcp_actors.auth.coercion import as_authorizer
from mcp_actors.auth.file_storage import FileStorage
from mcp_actors.auth.fixed import BearerToken, CallableAuth
from mcp_actors.auth.jose import DpopKey, SigningKey
from mcp_actors.auth.oauth import OAuth
from mcp_actors.auth.storage import Claim, MemoryStorage, TokenStorage
from mcp_actors.auth.tokens import RegisteredClient, Tokens
from mcp_actors.auth.unattended import ClientCredentials, EnterpriseManaged, WorkloadIdentity

__all__ = [
    "BearerToken",
    "CallableAuth",
    "Claim",
    "ClientCredentials",
    "DpopKey",
    "EnterpriseManaged",
    "FileStorage",
    "MemoryStorage",
    "OAuth",
    "RegisteredClient",
    "SigningKey",
    "TokenStorage",
    "Tokens",
    "WorkloadIdentity",
    "as_authorizer",
]
