"""ForkBorder: where a child process ends that was forked inside, and comes back."""

from __future__ import annotations

import os
from types import TracebackType

__all__ = ["ForkBorder"]


class ForkBorder:
    """Around code that is not ours. Of a fork in it only the parent gets out: the child has our sockets, but
    none of our threads, and whatever it went on to do would be done twice.

    It ends with the status of its ``SystemExit``, 0 if it returned, 1 if it raised anything else.
    """

    __slots__ = ("_pid",)

    def __enter__(self) -> None:
        self._pid = os.getpid()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if os.getpid() != self._pid:
            os._exit(_status(error))


def _status(error: BaseException | None) -> int:
    if isinstance(error, SystemExit):
        code = error.code
        return code if isinstance(code, int) else int(code is not None)
    return int(error is not None)
