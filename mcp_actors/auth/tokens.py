"""What an authorization server gives: tokens, and the name under which it knows this client."""

from __future__ import annotations

from time import time as wall_clock
from typing import Final

from msgspec import Struct

__all__ = ["RegisteredClient", "Tokens", "renewal"]

#: A token this close to its end is renewed before it is sent: it has to live until the server reads it.
_LEEWAY: Final = 30.0
_LONGEST_LIFE: Final = 100 * 365 * 86400.0


def renewal(lifetime: float) -> float:
    """When a token that was issued just now for ``lifetime`` seconds is to be renewed."""
    # Never more than half of it, or a token that lives for seconds would never be sent.
    return wall_clock() + min(lifetime, _LONGEST_LIFE) - min(_LEEWAY, lifetime / 2)


class Tokens(Struct, frozen=True, omit_defaults=True):
    """One authorization for one resource. ``repr`` shows none of the secrets."""

    access_token: str
    token_type: str = "Bearer"
    renew_at: float | None = None
    """Seconds since the epoch: shortly before the end; None where the server names no end."""
    refresh_token: str | None = None
    scope: tuple[str, ...] = ()
    """What was granted."""
    requested: tuple[str, ...] = ()
    """What was asked for: the next authorization asks for at least as much."""
    thumbprint: str | None = None
    """The DPoP key that the token is bound to."""
    client: RegisteredClient | None = None
    """Whom it was given to, if the client registered itself: it may have registered anew since."""
    holder: str | None = None
    """The `Grant.holder` that got it; None where nobody said."""

    @property
    def expired(self) -> bool:
        """Whether the token is at its end, or so near that it may not arrive in time."""
        return self.renew_at is not None and wall_clock() >= self.renew_at

    def __repr__(self) -> str:
        kind = f"{self.token_type} token for {' '.join(self.scope) or 'unnamed scopes'}"
        return f"<Tokens: {kind}{', refreshable' if self.refresh_token else ''}>"


class RegisteredClient(Struct, frozen=True, omit_defaults=True):
    """What dynamic registration at one issuer came to. ``repr`` does not show the secret."""

    client_id: str
    method: str = "none"
    client_secret: str | None = None
    redirect_uri: str = ""
    expires_at: float | None = None
    """When the secret ends; None for never."""

    @property
    def expired(self) -> bool:
        """Whether the secret is at its end."""
        return self.expires_at is not None and wall_clock() >= self.expires_at

    def __repr__(self) -> str:
        return f"<RegisteredClient {self.client_id!r}, {self.method}>"
