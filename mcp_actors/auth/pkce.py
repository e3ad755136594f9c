"""PKCE (RFC 7636): what ties an authorization code to the client that asked for it."""

from __future__ import annotations

import base64
import hashlib
import secrets
from dataclasses import dataclass, field

__all__ = ["Pkce"]


@dataclass(frozen=True, slots=True)
class Pkce:
    """The secret kept here and what is shown of it. Only S256: ``plain`` would show the secret itself."""

    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48), repr=False)

    @property
    def challenge(self) -> str:
        """The digest that goes with the authorization request."""
        digest = hashlib.sha256(self.verifier.encode("ascii")).digest()
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")
