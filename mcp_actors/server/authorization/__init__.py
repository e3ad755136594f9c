"""The resource server's side of MCP authorization: tokens are checked here, and issued elsewhere."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from mcp_actors.server.authorization.denied import Denied
from mcp_actors.server.authorization.principal import Principal
from mcp_actors.server.authorization.static import StaticTokens
from mcp_actors.server.authorization.verifier import (
    TokenRefused,
    TokenVerifier,
    VerifierUnavailable,
    as_verifier,
)

if TYPE_CHECKING:
    from mcp_actors.server.authorization.authorization import Authorization
    from mcp_actors.server.authorization.dpop import DpopVerifier
    from mcp_actors.server.authorization.introspection import IntrospectionVerifier
    from mcp_actors.server.authorization.jwt import JwtVerifier

__all__ = [
    "Authorization",
    "Denied",
    "DpopVerifier",
    "IntrospectionVerifier",
    "JwtVerifier",
    "Principal",
    "StaticTokens",
    "TokenRefused",
    "TokenVerifier",
    "VerifierUnavailable",
    "as_verifier",
]

#: What is imported when somebody asks for it: a server without authorization needs the principal alone.
_LATER: Final = {
    "Authorization": "authorization",
    "DpopVerifier": "dpop",
    "IntrospectionVerifier": "introspection",
    "JwtVerifier": "jwt",
}


# Any: whatever has the name.
def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
