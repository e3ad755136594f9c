"""From many durations to the few numbers that are compared."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median

from benchmarks.case import Figures


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that at least ``percent`` of all values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def latencies(seconds: Sequence[float], unit: str = "us") -> Figures:
    """p50 and p99 in microseconds, or in milliseconds for ``ms``."""
    factor = 1e6 if unit == "us" else 1e3
    return {f"p{percent}_{unit}": percentile(seconds, percent) * factor for percent in (50, 99)}


def medians(rounds: Sequence[Mapping[str, float]]) -> Figures:
    """The median of each figure over the rounds."""
    return {figure: median(each[figure] for each in rounds) for figure in (rounds[0] if rounds else ())}


def ratios(ours: Mapping[str, float], theirs: Mapping[str, float]) -> Figures:
    """How many times theirs ours is, for each figure that both have and that can be divided by."""
    return {figure: ours[figure] / theirs[figure] for figure in ours if theirs.get(figure)}
