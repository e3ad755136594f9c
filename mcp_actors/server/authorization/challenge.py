"""Challenge: what a refused request is told to bring (RFC 9110 11.6.1, RFC 6750 3, RFC 9728 5.1). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from mcp_actors.protocol.codec import JsonObject

__all__ = ["Challenge", "scope_text"]

# RFC 6750 3: what may stand in error and error_description.
_FOREIGN: Final = re.compile(r"[^\x20\x21\x23-\x5B\x5D-\x7E]+")
_SCOPE: Final = re.compile(r"[\x21\x23-\x5B\x5D-\x7E]+")
_MAX_DESCRIPTION: Final = 200


class Challenge(Struct, frozen=True):
    """One ``WWW-Authenticate`` header."""

    scheme: str = "Bearer"
    realm: str | None = None
    resource_metadata: str | None = None
    """Where the server says who authorizes its clients."""
    scope: str = ""
    """All that the request needs."""
    error: str | None = None
    """The code of RFC 6750 or 9449; none if the request showed no token."""
    description: str | None = None
    algorithms: str = ""
    """What DPoP proofs may be signed with."""

    @property
    def header(self) -> str:
        """The value of the header."""
        named = {
            "realm": self.realm,
            "error": self.error,
            "error_description": self._description,
            "scope": self.scope,
            "resource_metadata": self.resource_metadata,
            "algs": self.algorithms,
        }
        parameters = ", ".join(f"{name}={_quoted(value)}" for name, value in named.items() if value)
        return f"{self.scheme} {parameters}" if parameters else self.scheme

    @property
    def body(self) -> JsonObject | None:
        """The same for the body of the answer; None if no error is named."""
        if self.error is None:
            return None
        described = {"error_description": self._description} if self._description else {}
        scoped = {"scope": self.scope} if self.error == "insufficient_scope" else {}
        return {"error": self.error, **described, **scoped}

    @property
    def _description(self) -> str | None:
        return None if self.description is None else _FOREIGN.sub("?", self.description)[:_MAX_DESCRIPTION]


def scope_text(scopes: Iterable[str]) -> str:
    """Scopes in the form of RFC 6749 3.3, each once, sorted.

    Raises:
        ValueError: one that cannot be written, or ``offline_access``, which is between client and issuer.
    """
    found = sorted(set(scopes))
    for scope in found:
        if not _SCOPE.fullmatch(scope):
            raise ValueError(f"{scope!r} is no scope: visible ASCII without quote and backslash is")
        if scope == "offline_access":
            # MCP: SHOULD NOT be in challenges or metadata; a resource does not depend on refresh tokens.
            raise ValueError("offline_access is no scope of a resource")
    return " ".join(found)


def _quoted(value: str) -> str:
    return '"' + re.sub(r'(["\\])', r"\\\1", value) + '"'
