"""The pages of a listing, one by one or all together."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final, Generic, Self, TypeVar

from msgspec import structs

from mcp_actors import errors
from mcp_actors.client.calls import Calls, Manner
from mcp_actors.client.outgoing import Outgoing, check_mapping, check_text, outgoing
from mcp_actors.client.partition import Partition
from mcp_actors.client.results import parse
from mcp_actors.protocol import types
from mcp_actors.runtime.deadline import Clock, Deadline

_MOST_PAGES: Final = 1_000
_INVALID_PARAMS: Final = -32602

P = TypeVar("P", bound=types.ListResult)


class Pages(Generic[P]):
    """An iterator over the pages of one listing, for one thread at a time.

    All pages together may take ``manner.seconds`` of waiting; the time between two pages is the caller's own.
    A cursor that comes twice, or a thousand pages, is the server's mistake. A page that failed can be asked
    for again.

    Pages that the cache holds are not asked for, unless the caller wants ``fresh`` ones. If the server then
    does not know the cursor of such a page, the list has changed: its pages are dropped, and the listing
    begins again, once, with its first page. ``restarted`` tells whether it did; `collect` sees to it.
    """

    def __init__(
        self,
        calls: Calls,
        method: str,
        kind: type[P],
        manner: Manner,
        *,
        cache: Partition | None = None,
        cursor: str | None = None,
        fresh: bool = False,
        meta: Mapping[str, Any] | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        self._calls = calls
        self._method = method
        self._kind = kind
        self._manner = manner
        self._cache = cache
        self._cursor = None if cursor is None else check_text("cursor", cursor)
        # Somebody else began this list, and only they can begin it again.
        self._resumed = cursor is not None
        self._fresh = fresh
        self._common = {} if meta is None else {"_meta": check_mapping("meta", meta)}
        self._clock = clock
        self._left = manner.seconds
        self._seen: set[str | None] = set()
        self._from_cache = False
        self.on_page: Callable[[P], object] | None = None
        """Called with each page before it is given out."""
        self.done = False
        """Whether the last page was given out."""
        self.restarted = False
        """Whether the listing began again, with its first page, because it had changed."""

    @property
    def next_cursor(self) -> str | None:
        """Where to go on another time; None before the first page and after the last."""
        return self._cursor

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> P:
        page = self.next_page()
        if page is None:
            raise StopIteration
        return page

    def next_page(self) -> P | None:
        """The next page; None after the last."""
        if self.done:
            return None
        self._check_progress()
        began = self._clock()
        try:
            page = self._ask()
        finally:
            self._left -= self._clock() - began
        self._seen.add(self._cursor)
        # An empty cursor is a cursor; only its absence ends the list.
        self._cursor = page.next_cursor
        self.done = self._cursor is None
        if self.on_page is not None:
            self.on_page(page)
        return page

    def collect(self) -> list[P]:
        """All pages that are left, each of them once, also if the listing begins again."""
        pages: list[P] = []
        for page in self:
            if len(self._seen) == 1:
                pages.clear()
            pages.append(page)
        return pages

    # Steps.

    def _check_progress(self) -> None:
        pages, again = len(self._seen), self._cursor in self._seen
        if again or pages >= _MOST_PAGES:
            fault = f"cursor {str(self._cursor)[:80]!r} came again" if again else "there is a cursor"
            raise errors.InvalidResponse(
                f"{self._method} does not end: {fault} after {pages} pages", details={"pages": pages}
            )

    def _ask(self) -> P:
        try:
            return self._page()
        except errors.RemoteError as error:
            if error.code != _INVALID_PARAMS or self._cursor is None or self._cache is None:
                raise
            self._cache.drop_pages(self._method)
            if not self._from_cache or self._resumed or self.restarted:
                raise
        self.restarted = True
        self._cursor = None
        self._seen.clear()
        return self._page()

    def _page(self) -> P:
        params = self._common if self._cursor is None else {**self._common, "cursor": self._cursor}
        request = outgoing(self._method, params)
        kept = self._kept(request)
        page = self._fetch(request) if kept is None else kept
        # Only now: until here it speaks of the page that gave the cursor.
        self._from_cache = kept is not None
        return page

    def _kept(self, request: Outgoing) -> P | None:
        if self._cache is None:
            return None
        if self._fresh:
            self._cache.forget(self._method, request.params)
            return None
        result = self._cache.lookup(self._method, request.params)
        return None if result is None else parse(self._kind, result, self._method)

    def _fetch(self, request: Outgoing) -> P:
        cache = self._cache
        receipt = None if cache is None else cache.receipt(self._method, request.params)
        deadline = self._manner.deadline or Deadline.after(self._left)
        result = self._calls.run(request, structs.replace(self._manner, deadline=deadline))
        page = parse(self._kind, result, self._method)
        if cache is not None and receipt is not None:
            cache.store(receipt, result, page.ttl_ms, page.cache_scope)
        return page
