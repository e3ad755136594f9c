"""StaticTokens: tokens known in advance, for tests and small setups."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping

from mcp_actors.server.authorization.credentials import is_token
from mcp_actors.server.authorization.principal import Principal
from mcp_actors.server.authorization.verifier import TokenRefused

__all__ = ["StaticTokens"]


class StaticTokens:
    """Keeps digests, not tokens. How long a look takes tells nothing about the tokens. Any thread."""

    def __init__(self, principals: Mapping[str, Principal]) -> None:
        if not all(map(is_token, principals)):
            raise ValueError("a token has 1 to 16384 letters, digits or -._~+/ and may end in =")
        self._known = tuple((_digest(token), principal) for token, principal in principals.items())

    def verify(self, token: str) -> Principal:
        """Whose token it is. Raises ``TokenRefused``."""
        digest, found = _digest(token), None
        for known, principal in self._known:
            # All of them are looked at, also after the right one.
            if hmac.compare_digest(known, digest):
                found = principal
        if found is None:
            raise TokenRefused
        return found

    def __repr__(self) -> str:
        return f"<StaticTokens: {len(self._known)}>"


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
