"""Pages of a listing, and the cursors that lead from one to the next. Nothing is remembered between them."""

from __future__ import annotations

import base64
from bisect import bisect_right
from collections.abc import Hashable, Sequence
from typing import Final, TypeVar

from mcp_actors.protocol import codec
from mcp_actors.protocol.codec import Json
from mcp_actors.server.registry.listing import Listed

PAGE_SIZE: Final = 100
_MAX_CURSOR: Final = 64 * 1024

E = TypeVar("E", bound=Listed)


class InvalidCursor(ValueError):
    """A cursor that was never given out."""


def page(
    entries: Sequence[E], cursor: str | None, size: int = PAGE_SIZE, *, kind: str = ""
) -> tuple[Sequence[E], str | None]:
    """The entries behind a cursor, and the cursor behind them; None where the list ends.

    What is there from the first page to the last is given once, whatever comes and goes in between.

    Args:
        entries: in the order of their numbers; some may be left out, those that the caller may not see.
        kind: cursors of one kind do not fit another.

    Raises:
        InvalidCursor: the cursor is none of ours.
    """
    if size < 1:
        raise ValueError(f"a page has at least one entry, not {size}")
    start = 0 if cursor is None else _behind(entries, *_read(cursor, kind))
    items = entries[start : start + size]
    more = start + size < len(entries)
    return items, _written(kind, items[-1].number, items[-1].key) if more else None


def _behind(entries: Sequence[E], number: int, key: str) -> int:
    """Where the page behind the entry with that number begins."""
    start = bisect_right(entries, number, key=lambda entry: entry.number)
    last = entries[start - 1] if start else None
    if last is None or last.number != number or last.key == key:
        return start
    # Another process counted differently: a server that was restarted, or one of several. The name decides.
    named = (place + 1 for place, entry in enumerate(entries) if entry.key == key)
    return next(named, start - 1)


def _written(kind: str, number: int, key: Hashable) -> str:
    return base64.urlsafe_b64encode(codec.encode([kind, number, key])).rstrip(b"=").decode()


def _read(cursor: str, kind: str) -> tuple[int, str]:
    """The number and the key of the last entry of the page before.

    Raises:
        InvalidCursor: the cursor is none of ours.
    """
    try:
        if len(cursor) <= _MAX_CURSOR:
            said = codec.decode(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
            # Written again it must be the same: base64 and JSON have many spellings, and we use one.
            if _shape_fits(said) and _written(kind, said[1], said[2]) == cursor:
                return said[1], said[2]
    except ValueError:
        pass  # no ASCII, no base64, or no JSON
    raise InvalidCursor(f"the cursor {cursor[:40]!r} was not given out by this server for this list")


def _shape_fits(said: Json) -> bool:
    return isinstance(said, list) and len(said) == 3 and type(said[1]) is int and isinstance(said[2], str)
