"""Ids of requests nobody waits for any more, so that a late answer is told from a foreign one."""

from __future__ import annotations

import math


class Tombstones:
    """Remembers ids for at least ``ttl`` seconds, without a clock: it counts the sweeps that happen every
    ``sweep`` seconds. At most ``limit`` ids are kept; beyond that the oldest go first."""

    def __init__(self, ttl: float, sweep: float, limit: int = 10_000) -> None:
        # An id buried just before a sweep has aged nothing at that sweep, hence one more than the quotient.
        self._sweeps = math.ceil(ttl / sweep) + 1
        self._limit = limit
        self._ages: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._ages)

    def __contains__(self, id_: object) -> bool:
        # Exact type: True == 1 and 1.0 == 1 are the same key to a dict, and different ids on the wire.
        return type(id_) is int and id_ in self._ages

    def bury(self, id_: int) -> None:
        """Remember an id."""
        self._ages[id_] = 0
        if len(self._ages) > self._limit:
            del self._ages[next(iter(self._ages))]

    def sweep(self) -> None:
        """Age every id by one sweep and forget those old enough."""
        self._ages = {id_: age + 1 for id_, age in self._ages.items() if age + 1 < self._sweeps}
