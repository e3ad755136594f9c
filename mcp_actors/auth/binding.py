"""DPoP (RFC 9449) for one client: the key that binds its tokens, and the nonce each origin wants."""

from __future__ import annotations

from collections.abc import Mapping

from mcp_actors.auth.jose import DpopKey, Nonces
from mcp_actors.auth.tokens import Tokens

__all__ = ["Binding", "dpop_key"]


def dpop_key(dpop: bool | DpopKey) -> DpopKey | None:
    """The key for the option ``dpop=``: a new one for True."""
    if isinstance(dpop, DpopKey):
        return dpop
    return DpopKey.generate() if dpop else None


class Binding:
    """Signs each request where there is a key, does nothing where there is none. Any thread."""

    def __init__(self, key: DpopKey | None) -> None:
        self._key = key
        self._nonces = Nonces()

    @property
    def thumbprint(self) -> str | None:
        """What tokens bound to the key carry; None without one."""
        return None if self._key is None else self._key.thumbprint

    @property
    def token_type(self) -> str:
        """The type of token that is expected."""
        return "Bearer" if self._key is None else "DPoP"

    def nonce(self, url: str) -> str | None:
        """What the next proof for the origin of ``url`` has to hold; None if nothing is known of it."""
        return None if self._key is None else self._nonces.get(url)

    def proof(
        self, method: str, url: str, nonce: str | None, access_token: str | None = None
    ) -> dict[str, str]:
        """The header for one request; a new one for each."""
        if self._key is None:
            return {}
        return {"DPoP": self._key.proof(method, url, access_token=access_token, nonce=nonce)}

    def present(self, tokens: Tokens, method: str, url: str, nonce: str | None) -> dict[str, str]:
        """The headers that show ``tokens`` to the MCP server."""
        shown = {"Authorization": f"{self.token_type} {tokens.access_token}"}
        return {**shown, **self.proof(method, url, nonce, tokens.access_token)}

    def learn(self, url: str, headers: Mapping[str, str]) -> None:
        """Remember the nonce in an answer from ``url``."""
        if self._key is not None:
            self._nonces.remember(url, headers.get("dpop-nonce"))

    def outdated(self, url: str, nonce: str | None) -> bool:
        """Whether a proof with this nonce, or without one, failed for lack of the one that is known now.

        Not whether the last answer was the one to bring it: of several requests under way each has to ask.
        """
        return self.nonce(url) not in (None, nonce)
