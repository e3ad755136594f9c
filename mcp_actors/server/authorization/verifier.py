"""What turns a token into a principal: the contract, and its two ways to say no."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias, cast

from mcp_actors.server.authorization.principal import Principal

__all__ = [
    "TokenFunction",
    "TokenRefused",
    "TokenVerifier",
    "Verification",
    "VerifierUnavailable",
    "as_verifier",
]


class TokenRefused(Exception):
    """The token is not good here: HTTP 401.

    ``reason`` is told to the client. It never holds the token or a part of it.
    """

    def __init__(self, reason: str = "the token is not valid") -> None:
        super().__init__(reason)
        self.reason = reason


class VerifierUnavailable(Exception):
    """Nobody can say now whether the token is good: HTTP 503. ``reason`` is for the operator alone."""

    def __init__(self, reason: str, *, retry_after: float = 5.0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retry_after = retry_after


class TokenVerifier(Protocol):
    """Knows which tokens are good. Called from many threads at once."""

    def verify(self, token: str) -> Principal:
        """On whose behalf the token speaks.

        Raises:
            TokenRefused: it is not good: forged, expired, meant for another server.
            VerifierUnavailable: that cannot be found out now.
        """


TokenFunction: TypeAlias = Callable[[str], Principal | None]
#: What may be given where a verifier is wanted.
Verification: TypeAlias = TokenVerifier | TokenFunction


class _Function:
    """A verifier made of a function that gives None for a token that is not good."""

    def __init__(self, function: TokenFunction) -> None:
        self._function = function

    def verify(self, token: str) -> Principal:
        principal = self._function(token)
        if principal is None:
            raise TokenRefused
        if not isinstance(principal, Principal):
            raise TypeError(f"a token function returns a Principal or None, not {type(principal).__name__}")
        return principal

    def __repr__(self) -> str:
        return f"<verifier {getattr(self._function, '__qualname__', type(self._function).__name__)}>"


def as_verifier(verification: Verification) -> TokenVerifier:
    """The verifier itself, or one made of a function ``(token) -> Principal | None``.

    Raises:
        TypeError: it is neither.
    """
    if callable(getattr(verification, "verify", None)):
        return cast(TokenVerifier, verification)  # by its method
    if callable(verification):
        return _Function(verification)
    raise TypeError(f"a token verifier or a function is needed, not {type(verification).__name__}")
