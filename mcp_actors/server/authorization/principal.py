"""Principal: on whose behalf a request came, as its token says."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from mcp_actors.protocol import codec

__all__ = ["Principal"]


class Principal(Struct, frozen=True):
    """Who may do what. ``repr`` shows no claims: they may tell more about a person than a log should."""

    subject: str
    scopes: frozenset[str] = frozenset()
    client_id: str | None = None
    """The program that acts for the subject, where the token names it."""
    # Any: claims are JSON.
    claims: Mapping[str, Any] = field(default_factory=dict)
    """All that the token says."""
    issuer: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.subject, str) or not self.subject:
            raise ValueError("a principal has a subject")
        if not isinstance(self.scopes, frozenset):
            # A plain string would be taken for a set of its letters.
            raise TypeError(f"scopes is a frozenset of strings, not {type(self.scopes).__name__}")

    @property
    def binding(self) -> str:
        """What sessions, tasks and request states are bound to: the same for all tokens of the same subject
        and client at the same issuer, different for all others, and no secret."""
        return hashlib.sha256(codec.encode([self.issuer, self.subject, self.client_id])).hexdigest()

    def __repr__(self) -> str:
        return f"<Principal {self.subject!r}, scopes: {' '.join(sorted(self.scopes)) or 'none'}>"
