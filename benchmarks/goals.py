"""The goals: what the library must reach, as ratios within one run or as plain limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.contestants.roster import OURS
from benchmarks.harness import Row


@dataclass(frozen=True, slots=True)
class Goal:
    """Our ``figure`` is at most ``limit`` times that of ``against``; at most ``limit`` if that is None."""

    case: str
    figure: str
    limit: float
    against: str | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a goal; ``value`` is None if it was not measured."""

    goal: Goal
    value: float | None

    @property
    def word(self) -> str:
        """met, missed, or not measured."""
        if self.value is None:
            return "not measured"
        return "met" if self.value <= self.goal.limit else "missed"


GOALS: Final = (
    Goal("A", "p50_us", 2.5, "raw"),
    Goal("A", "p50_us", 0.20, "official-portal"),
    Goal("A", "p50_us", 0.30, "official-async"),
    Goal("A", "cpu_us", 0.15, "official-portal"),
    Goal("B", "wall_s", 1.5, "raw-threads"),
    Goal("B", "wall_s", 0.07, "official-portal"),
    Goal("C 1 MB", "wall_s", 1.3, "raw"),
    Goal("C 10 MB", "wall_s", 1.3, "raw"),
    Goal("C 1 MB", "wall_s", 0.25, "official-async"),
    Goal("C 10 MB", "growth_mb", 0.6, "official-async"),
    Goal("D counting", "growth_mb", 12.0),
    Goal("D slow", "growth_mb", 12.0),
    Goal("D stuck", "growth_mb", 12.0),
    Goal("D counting", "drain_s", 0.05, "official-portal"),
    Goal("D counting", "p50_ms", 0.05, "official-portal"),
    Goal("D slow", "p50_ms", 0.001, "official-portal"),
    Goal("E1", "p50_us", 1.3, "urllib3"),
    Goal("E50", "wall_s", 1.3, "urllib3"),
    Goal("ES", "p50_us", 1.3, "urllib3"),
    Goal("E1", "p50_us", 0.25, "official-portal"),
    Goal("E50", "wall_s", 0.25, "official-portal"),
    Goal("ES", "p50_us", 0.22, "official-portal"),
    Goal("F import", "rss_mb", 22.0),
    Goal("F import", "heavy", 0.0),
    Goal("F import", "import_ms", 0.10, "official-async"),
    Goal("F first result", "first_ms", 0.15, "official-async"),
    Goal("G1", "p50_us", 0.18, "official-server"),
    Goal("G50", "wall_s", 0.02, "official-server"),
    Goal("H1 2026-07-28", "p50_us", 1.4, "bare-waitress"),
    Goal("H1 2025-11-25", "p50_us", 1.4, "bare-waitress"),
    # At least 0.7 times the calls a second is at most 1 / 0.7 times the time for as many.
    Goal("H16 2026-07-28", "wall_s", 1 / 0.7, "bare-waitress"),
    Goal("H16 2025-11-25", "wall_s", 1 / 0.7, "bare-waitress"),
    Goal("H1 2026-07-28", "p50_us", 0.5, "official-server"),
    Goal("H1 2025-11-25", "p50_us", 0.4, "official-server"),
    Goal("H16 2026-07-28", "wall_s", 1 / 1.7, "official-server"),
    Goal("H16 2025-11-25", "wall_s", 1 / 1.7, "official-server"),
)


def judge(rows: Sequence[Row], goals: Sequence[Goal] = GOALS) -> list[Verdict]:
    """Each goal of a case that was run."""
    cases = {row.case for row in rows}
    return [Verdict(goal, _value(rows, goal)) for goal in goals if goal.case in cases]


def _value(rows: Sequence[Row], goal: Goal) -> float | None:
    ours = _figure(rows, goal.case, OURS, goal.figure)
    if ours is None or goal.against is None:
        return ours
    theirs = _figure(rows, goal.case, goal.against, goal.figure)
    return ours / theirs if theirs else None


def _figure(rows: Sequence[Row], case: str, contestant: str, figure: str) -> float | None:
    for row in rows:
        if (row.case, row.contestant) == (case, contestant):
            return row.medians.get(figure)
    return None
