"""Lock: for short steps that Ctrl-C may interrupt. Nobody who is interrupted leaves it locked."""

from __future__ import annotations

from _thread import RLock

__all__ = ["Lock"]


class Lock(RLock):  # type: ignore[misc]  # final for type checkers alone
    """Used as ``with lock:`` alone, and not by one thread twice at a time, but for a signal's handler.

    The interpreter looks for signals when a function of Python begins, and when one written in C has
    returned. So `Condition.__exit__` may be interrupted before it has released anything, and, since Python
    3.14, a block right after its lock was taken. This one is taken by a function of Python, which can give it
    back, and released by one written in C. Its conditions are for `wait` and `notify`, within ``with lock:``.
    """

    def __enter__(self, blocking: bool = True, timeout: float = -1) -> bool:
        try:
            taken = self.acquire(blocking, timeout)
        except BaseException:
            if self._is_owned():  # type: ignore[attr-defined]  # what conditions ask as well
                self.release()
            raise
        return taken
