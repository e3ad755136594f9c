"""Loan: a thread that waits for an answer, and would rather work on it."""

from __future__ import annotations

from collections.abc import Callable
from threading import get_ident, main_thread
from typing import TypeAlias

__all__ = ["Loan", "loan_of_this_thread"]

Work: TypeAlias = Callable[[], object]


class Loan:
    """Of the thread that made it, for one piece of work. A turn on another thread borrows nothing: whoever
    made the loan may have looked already."""

    __slots__ = ("_thread", "_work")

    def __init__(self) -> None:
        self._thread = get_ident()
        self._work: Work | None = None

    def take(self, work: Work) -> bool:
        """Have the lender do it. False if that is another thread, or has something to do already."""
        if self._work is not None or get_ident() != self._thread:
            return False
        self._work = work
        return True

    def work(self) -> None:
        """Do what was taken on, if anything was. The lender's thread."""
        work, self._work = self._work, None
        if work is not None:
            work()


def loan_of_this_thread() -> Loan | None:
    """What this thread can lend. The main one nothing: it hears signals, and a handler would catch them."""
    return None if get_ident() == main_thread().ident else Loan()
