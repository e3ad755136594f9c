"""What is asked again after a loss, before the connection counts as ready."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Raw, Struct

from mcp_actors.protocol import codec
from mcp_actors.protocol.agreement import Agreement
from mcp_actors.protocol.revisions import Era
from mcp_actors.protocol.standing import SET_LEVEL, SUBSCRIBE, Standing
from mcp_actors.protocol.types.capabilities import declares

#: The methods whose results are listings, and the capability each needs.
LISTINGS: Final = {
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resources",
    "prompts/list": "prompts",
}
_MOST_PAGES: Final = 1_000


class Question(Struct, frozen=True):
    """To ask of the server. ``params`` is an encoded object; ``subject`` the resource it is about, if any."""

    method: str
    params: bytes
    subject: str | None = None


class Relisting:
    """Walks through the listings page by page. A listing the server refuses is skipped."""

    def __init__(self, methods: Iterable[str], capabilities: codec.JsonObject) -> None:
        self._methods = [method for method in sorted(methods) if LISTINGS[method] in capabilities]
        self._cursors: set[str] = set()

    @property
    def method(self) -> str:
        """The listing whose page is being waited for."""
        return self._methods[0]

    def next_page(self, result: Raw | None = None) -> Question | None:
        """The page to ask for now: the first, the one after ``result``, or None when all is listed."""
        cursor = _cursor(result) if result is not None else None
        # The first page had no cursor.
        if cursor is not None and cursor not in self._cursors and len(self._cursors) < _MOST_PAGES - 1:
            self._cursors.add(cursor)
            return Question(self.method, codec.encode({"cursor": cursor}))
        return self.next_listing() if result is not None else self._first_page()

    def next_listing(self) -> Question | None:
        """Go on to the following listing."""
        del self._methods[0]
        return self._first_page()

    def _first_page(self) -> Question | None:
        self._cursors = set()
        return Question(self.method, b"{}") if self._methods else None


class Recovery:
    """The questions in their order: listings, then what else was agreed with a server that is gone."""

    def __init__(self, standing: Standing, agreement: Agreement) -> None:
        self._relisting = Relisting(standing.listed, agreement.capabilities)
        self._wishes = deque(_wishes(standing, agreement))
        self._open: Question | None = None

    @property
    def listing(self) -> bool:
        """The open question is a page of a listing."""
        return self._open is not None and self._open.method in LISTINGS

    @property
    def first(self) -> bool:
        """The open question is the first page of a listing."""
        return self.listing and self._open == Question(self.method, b"{}")

    @property
    def subject(self) -> str | None:
        """The resource that the open question is about, if it is about one."""
        return None if self._open is None else self._open.subject

    @property
    def method(self) -> str:
        """What the open question asks for."""
        assert self._open is not None
        return self._open.method

    def begin(self) -> Question | None:
        """The first question, or None if there is nothing to ask."""
        return self._ask(self._relisting.next_page())

    def answered(self, result: Raw) -> Question | None:
        """The open question got a result; the next one, or None when all is asked."""
        return self._ask(self._relisting.next_page(result) if self.listing else None)

    def refused(self) -> Question | None:
        """The open question got an error; the next one, or None when all is asked."""
        return self._ask(self._relisting.next_listing() if self.listing else None)

    def _ask(self, page: Question | None) -> Question | None:
        self._open = page if page is not None else (self._wishes.popleft() if self._wishes else None)
        return self._open


def _wishes(standing: Standing, agreement: Agreement) -> Iterator[Question]:
    if agreement.revision.era is Era.STATELESS:
        # There a level travels with each request, and one stream brings all the news.
        return
    if standing.level is not None and declares(agreement.capabilities, "logging"):
        yield Question(SET_LEVEL, codec.encode({"level": standing.level}))
    if declares(agreement.capabilities, "resources.subscribe"):
        for uri in standing.uris:
            yield Question(SUBSCRIBE, codec.encode({"uri": uri}), uri)


def _cursor(result: Raw) -> str | None:
    try:
        value = codec.decode(result)
    except codec.DecodeFailed:
        return None
    cursor = value.get("nextCursor") if isinstance(value, dict) else None
    return cursor if isinstance(cursor, str) else None
