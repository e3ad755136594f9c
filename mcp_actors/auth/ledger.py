"""What happened to each request so far, so that none is tried for ever."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from mcp_actors.auth.discovery import Site
from mcp_actors.auth.tokens import Tokens
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.transports.http.authorizer import Attempt

__all__ = ["Held", "Ledger", "Page"]

_MOST_PAGES: Final = 4096


@dataclass(slots=True, eq=False)
class Held:
    """The tokens in use, and what is known of them. Compared by identity: each renewal makes a new one."""

    site: Site
    tokens: Tokens
    source: Literal["stored", "refreshed", "granted"]
    proven: bool = False
    """The server has taken it at least once."""
    outdated: str | None = field(default=None, repr=False)
    """The access token that lay in the storage before, and lies there still if these could not be saved."""


@dataclass(slots=True, eq=False)
class Page:
    """One request and its repetitions, which share a deadline."""

    deadline: Deadline
    used: Held | None = None
    nonce: str | None = None
    """Of the last proof that was sent."""
    sent: Mapping[str, str] | None = field(default=None, repr=False)
    refusals: int = 0
    authorizations: int = 0


class Ledger:
    """Any thread: each step is one operation of a dict. A page belongs to the thread of its exchange."""

    def __init__(self) -> None:
        self._pages: dict[int, Page] = {}

    def page(self, attempt: Attempt) -> Page:
        """The page of this request, a new one if there is none."""
        page = self._pages.get(id(attempt.deadline))
        if page is None:
            # It holds the deadline, so that no other object can have its identity meanwhile.
            page = self._pages[id(attempt.deadline)] = Page(attempt.deadline)
            # Requests that broke off are never closed: the oldest make room.
            for oldest in list(self._pages)[:-_MOST_PAGES] if len(self._pages) > _MOST_PAGES else ():
                self._pages.pop(oldest, None)
        return page

    def close(self, attempt: Attempt) -> Page | None:
        """The request is done."""
        return self._pages.pop(id(attempt.deadline), None)
