"""Partition: the part of the kept answers that whoever asks at the moment may see."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from msgspec import Raw, Struct

from mcp_actors.client.cache import ResponseCache, Ticket

#: A fingerprint of whoever requests are made for now; None if nobody can tell.
Principal: TypeAlias = Callable[[], str | None]


class Receipt(Struct, frozen=True):
    """Taken before a request is sent: what is asked for, and who asks."""

    ticket: Ticket
    who: str | None


class Partition:
    """A cache as one principal sees it: ``private`` answers are its own, ``public`` ones everybody's.

    Who asks is found out anew each time: a token may have been replaced by somebody else's. While nobody can
    tell, private answers are neither kept nor found.
    """

    def __init__(self, cache: ResponseCache, principal: Principal) -> None:
        self._cache = cache
        self._principal = principal

    def lookup(self, method: str, params: bytes) -> Raw | None:
        """The result of an earlier request like this one, if it is still fresh."""
        return self._cache.lookup(method, params, self._principal())

    def receipt(self, method: str, params: bytes) -> Receipt:
        """To be taken before a request is sent, and shown when its result is stored."""
        return Receipt(self._cache.ticket(method, params), self._principal())

    def store(self, receipt: Receipt, result: Raw, ttl_ms: object, scope: object) -> None:
        """Keep a complete result, as far as the server allows it."""
        # If who asks has changed meanwhile, it may be the answer to either.
        who = receipt.who if receipt.who == self._principal() else None
        self._cache.store(receipt.ticket, result, ttl_ms, scope, who)

    def forget(self, method: str, params: bytes) -> None:
        """Somebody wants a fresh answer."""
        self._cache.forget(method, params, self._principal())

    def drop_pages(self, method: str) -> None:
        """The server does not know a cursor any more, so the pages belong to an older list."""
        self._cache.drop_pages(method)
