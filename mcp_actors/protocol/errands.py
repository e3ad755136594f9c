"""Requests of the connection's own whose answers tell nobody anything."""

from __future__ import annotations

from collections import deque
from typing import Final

_MOST: Final = 16


class Errands:
    """The ids of those not answered yet. Beyond so many the oldest are forgotten: some are never answered."""

    def __init__(self) -> None:
        self._open: deque[object] = deque(maxlen=_MOST)

    def add(self, id_: int) -> None:
        """A request went out."""
        self._open.append(id_)

    def done(self, id_: object) -> bool:
        """An answer came; whether it was to one of these."""
        if id_ not in self._open:
            return False
        self._open.remove(id_)
        return True

    def forget(self) -> None:
        """The wire is gone."""
        self._open.clear()
