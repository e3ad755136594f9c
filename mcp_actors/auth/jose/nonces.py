"""The last DPoP nonce that each origin gave."""

from __future__ import annotations

import re
from typing import Final

from mcp_actors.auth.jose.address import origin

# RFC 9449 §8.1: visible characters without quote and backslash. The length is ours: it goes into a header.
_NONCE: Final = re.compile(r"[\x21\x23-\x5B\x5D-\x7E]{1,1024}")
_MOST_ORIGINS: Final = 64


class Nonces:
    """Any thread may use it: every step is one operation of a dict, and the last nonce given wins."""

    def __init__(self) -> None:
        self._latest: dict[str, str] = {}

    def get(self, url: str) -> str | None:
        """What to put into the next proof for the origin of ``url``."""
        return self._latest.get(origin(url))

    def remember(self, url: str, nonce: str | None) -> None:
        """Keep the ``DPoP-Nonce`` of an answer from ``url``.

        An answer without the header changes nothing, and so does a value that is no nonce.
        """
        if nonce is None or not _NONCE.fullmatch(nonce):
            return
        self._latest[origin(url)] = nonce
        # A client that is sent from one origin to the next must not remember without end.
        for oldest in list(self._latest)[:-_MOST_ORIGINS]:
            self._latest.pop(oldest, None)
