"""Turns: an actor without a thread. Whoever brings an item does the work, one thread at a time."""

from __future__ import annotations

import contextlib
import logging
from collections import deque
from collections.abc import Callable
from typing import Final, Generic, TypeVar

__all__ = ["Turns"]

T = TypeVar("T")

_HOLDER: Final = 0

logger = logging.getLogger("mcp_actors.runtime")


def _nothing(*_ignored: object) -> None:
    """What nobody asked for."""


class Turns(Generic[T]):
    """Calls `work(item)` for each item brought, in the order of bringing, never on two threads at a time.

    A thread that brings an item while nobody is at work does the work, also that which others bring
    meanwhile; it calls `rest()` when nothing is left, and lets go. A thread that comes while another is at
    work returns at once. `work` and `rest` may bring items: these are done afterwards.

    When `work` or `rest` raises, whatever it is, `failed(error)` is called, once and before anything else;
    all items but the one at work then go to `discard(item)`, and so do those that come later. An interrupt
    (KeyboardInterrupt, SystemExit of a signal handler) is raised to the bringing thread all the same.

    Invariant: if nobody holds the turn, the queue is empty or somebody is between his `append` and his look
    at the turn. It holds because everybody looks at the queue again after letting go.
    """

    def __init__(
        self,
        work: Callable[[T], object],
        *,
        rest: Callable[[], object] = _nothing,
        failed: Callable[[BaseException], object] = _nothing,
        discard: Callable[[T], object] = _nothing,
    ) -> None:
        self._work = work
        self._rest = rest
        self._failed = failed
        self._discard = discard
        self._items: deque[T] = deque()
        # Not a lock: an interrupt right after `acquire` could not tell whether it was acquired. What
        # `setdefault` left here says who holds the turn, and both it and `clear` are atomic.
        self._turn: dict[int, object] = {}

    def __len__(self) -> int:
        """How many items wait. Any thread."""
        return len(self._items)

    def bring(self, item: T) -> None:
        """Have `item` worked on, here or by the thread that is at work. Any thread, also a signal handler."""
        mark = object()
        try:
            self._items.append(item)
            self._take_turns(mark)
        except BaseException as error:  # noqa: BLE001 - `failed` is told, or it is raised again
            self._mend(error, mark)

    def forget(self) -> None:
        """In a forked child: what waited belongs to the parent, and who was at work may not exist here.

        From now on every item is discarded.
        """
        self._end()
        # Should this very thread be at work, it finds the old queue empty and lets go of the old turn.
        self._items.clear()
        self._items, self._turn = deque(), {}

    def _take_turns(self, mark: object) -> None:
        items, turn = self._items, self._turn
        # After letting go the queue is looked at again: an item may have come when nobody was to do it.
        while items and turn.setdefault(_HOLDER, mark) is mark:
            while items:
                self._work(items.popleft())
            self._rest()
            turn.clear()

    def _mend(self, error: BaseException, mark: object) -> None:
        """Leave nothing undone after `error`: others have brought items and rely on us. May raise it."""
        ours = self._turn.get(_HOLDER) is mark
        try:
            if ours:
                self._fail(error)
            self._take_turns(mark)
        except BaseException as another:  # noqa: BLE001 - the same again
            self._mend(another, mark)
        if not ours or not isinstance(error, Exception):
            raise error

    def _fail(self, error: BaseException) -> None:
        failed = self._failed
        self._end()
        try:
            failed(error)
        except Exception:
            # A filter of the host's logging must keep nobody from his turn.
            with contextlib.suppress(Exception):
                logger.exception("the failure could not be told")
        finally:
            self._turn.clear()

    def _end(self) -> None:
        self._work = self._throw_away
        self._rest = self._failed = _nothing

    def _throw_away(self, item: T) -> None:
        try:
            self._discard(item)
        except Exception:
            with contextlib.suppress(Exception):
                logger.exception("an item could not be discarded")
