"""Supervision as arithmetic: which children stop and start after a failure, and when to give up. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from mcp_actors.runtime.directory import Directory
    from mcp_actors.runtime.ref import Ref

from msgspec import Struct

__all__ = ["ChildSpec", "Intensity", "Plan", "Strategy", "one_for_all", "one_for_one", "rest_for_one"]


class ChildSpec(Struct, frozen=True):
    """How to start one child, and how long it may take to stop.

    `start` is given the supervisor, to be named as the parent, and the directory of those started before.
    """

    name: str
    start: Callable[[Ref, Directory], Ref]
    stop_timeout: float = 5.0


class Plan(Struct, frozen=True):
    """What to do about a failure: stop these, in this order, then start those, in that order."""

    stop: tuple[str, ...]
    start: tuple[str, ...]


Strategy: TypeAlias = Callable[[Sequence[str], str], Plan]


def one_for_one(_names: Sequence[str], failed: str) -> Plan:
    """Only the failed child is started again."""
    return Plan(stop=(), start=(failed,))


def rest_for_one(names: Sequence[str], failed: str) -> Plan:
    """The failed child is started again, and those after it, which were built upon it."""
    place = names.index(failed)
    return Plan(stop=tuple(reversed(names[place + 1 :])), start=tuple(names[place:]))


def one_for_all(names: Sequence[str], failed: str) -> Plan:
    """All children are started again."""
    return Plan(stop=tuple(name for name in reversed(names) if name != failed), start=tuple(names))


class Intensity(Struct, frozen=True):
    """At most `limit` restarts within any `period` seconds."""

    limit: int = 3
    period: float = 5.0

    def allows(self, now: float, earlier: Iterable[float]) -> bool:
        """Whether one more restart is allowed `now`, given the moments of the `earlier` ones."""
        return sum(now - moment <= self.period for moment in earlier) < self.limit
