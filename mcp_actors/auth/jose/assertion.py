"""How a client proves who it is without a secret: a JWT it signs for each token request (RFC 7523)."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable

from mcp_actors.auth.jose.signing import SigningKey


def client_assertion(
    *,
    client_id: str,
    audience: str,
    key: SigningKey,
    lifetime: float = 300.0,
    now: Callable[[], float] = time.time,
) -> str:
    """The ``client_assertion`` of one token request; a server may refuse to see the same one twice.

    Args:
        audience: the issuer of the authorization server that shall take it, and no other.
        lifetime: seconds until it expires.
    """
    if lifetime <= 0:
        raise ValueError(f"lifetime must be above 0 s, not {lifetime!r}")
    issued = int(now())
    claims = {
        "iss": client_id,
        "sub": client_id,
        "aud": audience,
        "iat": issued,
        # A lifetime below a second would otherwise end before it began.
        "exp": issued + max(1, int(lifetime)),
        "jti": secrets.token_urlsafe(24),
    }
    return key.sign(claims)
