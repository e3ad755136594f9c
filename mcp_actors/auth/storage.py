"""Where tokens and registrations are kept between calls: the contract, and the memory of this process."""

from __future__ import annotations

import os
from typing import Protocol

from mcp_actors.auth.tokens import RegisteredClient, Tokens

__all__ = ["Claim", "MemoryStorage", "TokenStorage"]


class Claim(Protocol):
    """The right to renew one authorization."""

    def release(self) -> None:
        """Let others have it. Idempotent."""


class TokenStorage(Protocol):
    """Keeps secrets for all threads, and maybe processes, that share it. Any thread may call anything.

    Tokens belong to one issuer and resource, a registration to one issuer: neither is shown to another.
    """

    def load_tokens(self, issuer: str, resource: str) -> Tokens | None:
        """What was saved last, None if nothing was."""

    def save_tokens(self, issuer: str, resource: str, tokens: Tokens | None) -> None:
        """Keep the tokens; None forgets them."""

    def load_client(self, issuer: str) -> RegisteredClient | None:
        """What was saved last, None if nothing was."""

    def save_client(self, issuer: str, client: RegisteredClient | None) -> None:
        """Keep the registration; None forgets it."""

    def claim(self, issuer: str, resource: str) -> Claim | None:
        """The exclusive right to log in or refresh; None while somebody else has it. Never blocks."""


class MemoryStorage:
    """Forgets everything with the process. Each step is one operation of a dict, hence no lock."""

    def __init__(self) -> None:
        self._tokens: dict[tuple[str, str], Tokens] = {}
        self._clients: dict[str, RegisteredClient] = {}
        self._claims: dict[tuple[int, str, str], object] = {}

    def load_tokens(self, issuer: str, resource: str) -> Tokens | None:
        """See `TokenStorage`."""
        return self._tokens.get((issuer, resource))

    def save_tokens(self, issuer: str, resource: str, tokens: Tokens | None) -> None:
        """See `TokenStorage`."""
        if tokens is None:
            self._tokens.pop((issuer, resource), None)
        else:
            self._tokens[issuer, resource] = tokens

    def load_client(self, issuer: str) -> RegisteredClient | None:
        """See `TokenStorage`."""
        return self._clients.get(issuer)

    def save_client(self, issuer: str, client: RegisteredClient | None) -> None:
        """See `TokenStorage`."""
        if client is None:
            self._clients.pop(issuer, None)
        else:
            self._clients[issuer] = client

    def claim(self, issuer: str, resource: str) -> Claim | None:
        """See `TokenStorage`."""
        # The process is part of the key: a claim that was held at a fork belongs to the parent alone.
        claim = _MemoryClaim(self._claims, (os.getpid(), issuer, resource))
        return claim if claim.holds else None

    def __repr__(self) -> str:
        return f"<MemoryStorage of {len(self._tokens)} authorizations>"


class _MemoryClaim:
    def __init__(self, claims: dict[tuple[int, str, str], object], key: tuple[int, str, str]) -> None:
        self._claims = claims
        self._key = key
        self.holds = claims.setdefault(key, self) is self

    def release(self) -> None:
        if self.holds:
            self.holds = False
            del self._claims[self._key]
