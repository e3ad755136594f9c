"""Directory: where to find the current children of a supervisor, and what became of the earlier ones."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_actors.runtime.ref import Ref

from msgspec import Struct

__all__ = ["Directory", "Restart"]

_RESTARTS_KEPT = 32


class Restart(Struct, frozen=True):
    """A child had to be replaced: when (on the supervisor's clock), which one, and why."""

    time: float
    child: str
    error: str


class Directory:
    """Name -> ref of the child that bears it now. The supervisor writes; any thread reads, without locks."""

    def __init__(self) -> None:
        self._refs: dict[str, Ref] = {}
        self._history: deque[Restart] = deque(maxlen=_RESTARTS_KEPT)
        self.abandoned = 0
        """How many children did not stop in time and were left behind."""

    def get(self, name: str) -> Ref | None:
        """The current child of that name; None while there is none."""
        return self._refs.get(name)

    @property
    def history(self) -> tuple[Restart, ...]:
        """The last 32 failures, oldest first, the one that ended the supervisor included."""
        return tuple(self._history.copy())

    # -- the supervisor's thread

    def publish(self, name: str, ref: Ref) -> None:
        """From now on this is the child of that name."""
        self._refs[name] = ref

    def withdraw(self, name: str) -> None:
        """From now on there is no child of that name."""
        self._refs.pop(name, None)

    def record(self, restart: Restart) -> None:
        """Remember a failure; the oldest of more than 32 is forgotten."""
        self._history.append(restart)
