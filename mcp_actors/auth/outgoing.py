"""One HTTP request to an authorization server, and the whole answer to it."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

__all__ = ["Answer", "Outgoing"]


class Outgoing(Struct, frozen=True):
    """A request. ``repr`` shows neither its headers nor its body."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None = None
    timeout: float = 0.0
    """Seconds for each step; the total is the business of whoever can cut the connection."""
    verify: bool | str = True
    proxies: Mapping[str, str] | None = None

    def __repr__(self) -> str:
        return f"<Outgoing {self.method}>"


class Answer(Struct, frozen=True):
    """An answer; names of headers are in lower case. ``repr`` does not show the body."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def __repr__(self) -> str:
        return f"<Answer {self.status}>"
