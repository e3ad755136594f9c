"""The command line: which questions, how large, who takes part, where the results go."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import orjson

from benchmarks.case import Case, Scale
from benchmarks.contestants.roster import ROSTER
from benchmarks.goals import judge
from benchmarks.harness import ROOT, Settings, run_cases
from benchmarks.machine import facts
from benchmarks.placement import PINS
from benchmarks.questions import CASES, WORKLOADS
from benchmarks.report import as_json, as_text

_RESULTS: Final = ROOT / "benchmarks" / "results"


@dataclass(frozen=True, slots=True)
class Order:
    """What the command line asks for."""

    cases: tuple[Case, ...]
    settings: Settings
    file: Path


def main(arguments: Sequence[str] | None = None, *, only: str | None = None) -> int:
    """Measure and report. The exit code says whether everything ran, not how fast it was."""
    order = parse(arguments, only)
    contestants = _contestants(order)
    about = facts(contestants)
    rows = run_cases(order.cases, order.settings, _tell)
    verdicts = judge(rows)
    settings = order.settings
    options = {
        "scale": settings.scale,
        "rounds": settings.rounds,
        "pin": settings.pin,
        "cases": [case.id for case in order.cases],
        "contestants": contestants,
    }
    order.file.parent.mkdir(parents=True, exist_ok=True)
    order.file.write_bytes(
        orjson.dumps(
            as_json(about, options, rows, verdicts), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS
        )
    )
    sys.stdout.write(as_text(about, settings.scale, order.cases, rows, verdicts))
    _tell(f"written to {order.file}")
    return 1 if any(row.status in ("failed", "timeout") for row in rows) else 0


def parse(arguments: Sequence[str] | None, only: str | None = None) -> Order:
    """Read the command line; ``only`` is the default of the option of that name."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--only", default=only, help=f"workloads ({','.join(WORKLOADS)}) or cases, by commas; default: all"
    )
    parser.add_argument("--contestants", help=f"by commas: {', '.join(ROSTER)}; default: all")
    parser.add_argument("--rounds", type=int, help="rounds of each case; default: as each case wants")
    parser.add_argument("--pin", choices=PINS, help="where client and server run; default: one for A and B")
    parser.add_argument("--json", type=Path, help="where to write; default: a new file in benchmarks/results")
    size = parser.add_mutually_exclusive_group()
    size.add_argument(
        "--quick", dest="scale", action="store_const", const="quick", help="smaller, fewer rounds"
    )
    size.add_argument(
        "--smoke", dest="scale", action="store_const", const="smoke", help="tiny: does it work?"
    )
    given = parser.parse_args(arguments)
    try:
        cases = chosen(given.only)
        contestants = _known(given.contestants)
    except ValueError as error:
        parser.error(str(error))
    scale: Scale = given.scale or "full"
    file = given.json or _RESULTS / f"{time.strftime('%Y%m%d-%H%M%S')}-{scale}.json"
    return Order(cases, Settings(scale, given.rounds, given.pin, contestants), file)


def chosen(only: str | None) -> tuple[Case, ...]:
    """The cases of the workloads or case ids named; all without a name."""
    if only is None:
        return tuple(CASES.values())
    names = [name.strip() for name in only.split(",")]
    for name in names:
        if name not in CASES and name not in WORKLOADS:
            raise ValueError(f"no workload or case is named {name!r}")
    return tuple(case for case in CASES.values() if case.workload in names or case.id in names)


def _known(contestants: str | None) -> frozenset[str] | None:
    if contestants is None:
        return None
    names = frozenset(name.strip() for name in contestants.split(","))
    if unknown := names - ROSTER.keys():
        raise ValueError(f"no contestant is named {', '.join(sorted(unknown))}")
    return names


def _contestants(order: Order) -> list[str]:
    wanted = order.settings.contestants
    return [
        name
        for name in ROSTER
        if any(name in case.contestants for case in order.cases) and (wanted is None or name in wanted)
    ]


def _tell(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
