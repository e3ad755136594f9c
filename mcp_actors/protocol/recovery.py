"""What is asked again after a loss, before the connection counts as ready: the listings callers had made."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import Raw, Struct

from mcp_actors.protocol import codec

#: The methods whose results are listings, and the capability each needs.
LISTINGS: Final = {
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resources",
    "prompts/list": "prompts",
}
_MOST_PAGES: Final = 1_000


class Page(Struct, frozen=True):
    """Ask for one page of a listing. ``params`` is an encoded object."""

    method: str
    params: bytes


class Relisting:
    """Walks through the listings page by page. A listing the server refuses is skipped."""

    def __init__(self, methods: Iterable[str], capabilities: codec.JsonObject) -> None:
        self._methods = [method for method in sorted(methods) if LISTINGS[method] in capabilities]
        self._cursors: set[str] = set()

    @property
    def method(self) -> str:
        """The listing whose page is being waited for."""
        return self._methods[0]

    def next_page(self, result: Raw | None = None) -> Page | None:
        """The page to ask for now: the first, the one after ``result``, or None when all is listed."""
        cursor = _cursor(result) if result is not None else None
        # The first page had no cursor.
        if cursor is not None and cursor not in self._cursors and len(self._cursors) < _MOST_PAGES - 1:
            self._cursors.add(cursor)
            return Page(self.method, codec.encode({"cursor": cursor}))
        return self.next_listing() if result is not None else self._first_page()

    def next_listing(self) -> Page | None:
        """Go on to the following listing."""
        del self._methods[0]
        return self._first_page()

    def _first_page(self) -> Page | None:
        self._cursors = set()
        return Page(self.method, b"{}") if self._methods else None


def _cursor(result: Raw) -> str | None:
    try:
        value = codec.decode(result)
    except codec.DecodeFailed:
        return None
    cursor = value.get("nextCursor") if isinstance(value, dict) else None
    return cursor if isinstance(cursor, str) else None
