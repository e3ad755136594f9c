"""The report: plain tables for people, one JSON object for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from benchmarks.case import Case, Column, Figures, Scale
from benchmarks.figures import ratios
from benchmarks.goals import Verdict
from benchmarks.harness import Row
from benchmarks.machine import Facts


def as_json(
    facts: Facts, options: Mapping[str, Any], rows: Sequence[Row], verdicts: Sequence[Verdict]
) -> Any:
    """The whole run. ``ratios`` say how many times the named contestant's figure a row's is."""
    return {
        "machine": facts,
        "options": dict(options),
        "results": [_row_json(row, rows) for row in rows],
        "goals": [
            asdict(verdict.goal) | {"value": verdict.value, "verdict": verdict.word} for verdict in verdicts
        ],
    }


def _row_json(row: Row, rows: Sequence[Row]) -> dict[str, Any]:
    others = {
        other.contestant: ratios(row.medians, other.medians)
        for other in rows
        if other.case == row.case and other.contestant != row.contestant and other.rounds and row.rounds
    }
    return asdict(row) | {"medians": row.medians, "ratios": others}


def as_text(
    facts: Facts, scale: Scale, cases: Sequence[Case], rows: Sequence[Row], verdicts: Sequence[Verdict]
) -> str:
    """Tables, one below the other."""
    parts = ["\n".join(f"{name}: {value}" for name, value in facts.items())]
    parts += [_contest(case, scale, rows) for case in cases if case.workload != "M"]
    parts += _bounds([case for case in cases if case.workload == "M"], scale, rows)
    parts += _goals(scale, verdicts)
    return "\n\n".join(parts) + "\n"


def _contest(case: Case, scale: Scale, rows: Sequence[Row]) -> str:
    mine = {row.contestant: row for row in rows if row.case == case.id}
    against = [name for name in (case.limit, case.peer) if name in mine]
    head = [
        "contestant",
        *(column.heading for column in case.columns),
        *(f"x {name}" for name in against),
        "",
    ]
    lines = [_contest_line(case, row, [mine[name] for name in against]) for row in mine.values()]
    pin = next((row.pin for row in mine.values()), case.pin)
    rounds = max((len(row.rounds) for row in mine.values()), default=0)
    title = f"{case.id}: {case.what}\n{_sizes(case, scale)}placement: {pin}; medians of rounds: {rounds}"
    return f"{title}\n{_table([head, *lines])}"


def _contest_line(case: Case, row: Row, against: Sequence[Row]) -> list[str]:
    figures, key = row.medians, case.columns[0].figure
    cells = [_number(figures.get(column.figure)) for column in case.columns]
    compared = [_number(ratios(figures, other.medians).get(key)) for other in against]
    remark = "; ".join(row.notes) if row.status == "ok" else f"{row.status}: {row.error}"
    return [row.contestant, *cells, *compared, remark]


def _bounds(cases: Sequence[Case], scale: Scale, rows: Sequence[Row]) -> list[str]:
    if not cases:
        return []
    head = ["weather", *(column.heading for column in cases[0].columns), ""]
    # A bound may differ from row to row, so it stands beside the depth.
    lines = [
        [
            case.id.removeprefix("M "),
            *(_bounded(row.medians, column) for column in case.columns),
            _health(row),
        ]
        for case in cases
        for row in rows
        if row.case == case.id
    ]
    title = f"M: {cases[0].what}\n{_sizes(cases[0], scale)}each cell: greatest/bound"
    return [f"{title}\n{_table([head, *lines])}"]


def _sizes(case: Case, scale: Scale) -> str:
    return "".join(f"{name.replace('_', ' ')}: {size:,}; " for name, size in case.sized(scale).items())


def _bounded(figures: Figures, column: Column) -> str:
    bound = figures.get(f"{column.figure}_bound")
    value = _number(figures.get(column.figure))
    return value if bound is None else f"{value}/{_number(bound)}"


def _health(row: Row) -> str:
    if row.status != "ok":
        return f"{row.status}: {row.error}"
    return "; ".join(row.notes) or "OK"


def _goals(scale: Scale, verdicts: Sequence[Verdict]) -> list[str]:
    if not verdicts:
        return []
    lines = [
        [
            verdict.goal.case,
            verdict.goal.figure,
            f"<= {verdict.goal.limit:g}" + (f" x {verdict.goal.against}" if verdict.goal.against else ""),
            _number(verdict.value),
            verdict.word,
        ]
        for verdict in verdicts
    ]
    doubt = "" if scale == "full" else f" ({scale} sizes: these verdicts prove nothing)"
    return [f"Goals of mcp_actors{doubt}\n{_table([['case', 'figure', 'goal', 'value', ''], *lines])}"]


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    if value == int(value) or abs(value) >= 1000:
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 100 else f"{value:.3g}"


def _table(lines: Sequence[Sequence[str]]) -> str:
    widths = [max(len(line[place]) for line in lines) for place in range(len(lines[0]))]
    return "\n".join(_line(line, widths) for line in lines)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *middle, last = zip(cells, widths, strict=True)
    numbers = (cell.rjust(width) for cell, width in middle)
    return "  ".join([first[0].ljust(first[1]), *numbers, last[0]]).rstrip()
