"""The secrets met on the way, so that whoever writes a log or a report can hide them."""

from __future__ import annotations

import itertools
from operator import itemgetter
from typing import Final

__all__ = ["Confidences"]

_MOST: Final = 128


class Confidences:
    """Remembers the latest secrets. Any thread: each step is one operation of a dict."""

    def __init__(self) -> None:
        # When each was met last: one that is used for months must not make room for others.
        self._values: dict[str, int] = {}
        self._moments = itertools.count()

    def add(self, *values: str | None) -> None:
        """These are secrets from now on."""
        for value in values:
            if value:
                self._values[value] = next(self._moments)
        if len(self._values) > _MOST:
            for oldest, _ in sorted(self._values.copy().items(), key=itemgetter(1))[:-_MOST]:
                self._values.pop(oldest, None)

    @property
    def values(self) -> tuple[str, ...]:
        """All that are remembered."""
        return tuple(self._values)

    def __repr__(self) -> str:
        return f"<Confidences: {len(self._values)}>"
