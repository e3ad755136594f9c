"""The harness: every job in a process of its own, the contestants in turns, round after round."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, TypeAlias

import orjson

from benchmarks.case import Case, Figures, Job, Outcome, Scale
from benchmarks.contestants.roster import ROSTER
from benchmarks.figures import medians
from benchmarks.placement import Pin

ROOT: Final = Path(__file__).resolve().parent.parent
_TAIL_LINES: Final = 6

Status: TypeAlias = Literal["ok", "skipped", "failed", "timeout"]


class JobFailed(Exception):
    """The process of a job ended without an outcome."""


class JobTimeout(Exception):
    """The process of a job took too long and was killed."""


@dataclass(slots=True)
class Row:
    """What one contestant did in one case, over all rounds."""

    case: str
    contestant: str
    pin: Pin
    rounds: list[Figures] = field(default_factory=list)
    notes: tuple[str, ...] = ()
    status: Status = "ok"
    error: str = ""

    @property
    def medians(self) -> Figures:
        """Over the rounds that worked."""
        return medians(self.rounds)


@dataclass(frozen=True, slots=True)
class Settings:
    """How to run. None means: as each case wants it."""

    scale: Scale = "full"
    rounds: int | None = None
    pin: Pin | None = None
    contestants: frozenset[str] | None = None

    def rounds_of(self, case: Case) -> int:
        """How often each contestant has its turn."""
        if self.rounds is not None:
            return self.rounds
        return {"full": case.rounds, "quick": min(case.rounds, 3), "smoke": 1}[self.scale]


def run_case(case: Case, settings: Settings, tell: Callable[[str], None]) -> list[Row]:
    """All rounds of one case: first everybody once, then everybody again."""
    names = [name for name in case.contestants if not settings.contestants or name in settings.contestants]
    rows = [Row(case.id, name, settings.pin or case.pin) for name in names]
    for row in rows:
        missing = ROSTER[row.contestant].missing
        if missing is not None:
            row.status, row.error = "skipped", missing
            tell(f"{case.id}: {row.contestant} is skipped: {missing}")
    rounds = settings.rounds_of(case)
    for number in range(1, rounds + 1):
        for row in rows:
            # Whoever failed once would only fail, and cost its time limit, again.
            if row.status == "ok":
                tell(f"{case.id}: round {number}/{rounds}: {row.contestant}")
                _run_round(case, row, case.job(row.contestant, settings.scale, settings.pin), tell)
    return rows


def run_cases(cases: Sequence[Case], settings: Settings, tell: Callable[[str], None]) -> list[Row]:
    """One case after the other."""
    return [row for case in cases for row in run_case(case, settings, tell)]


def _run_round(case: Case, row: Row, job: Job, tell: Callable[[str], None]) -> None:
    try:
        outcome = run_job(job, case.seconds)
    except JobTimeout as error:
        row.status, row.error = "timeout", str(error)
    except JobFailed as error:
        row.status, row.error = "failed", str(error)
    else:
        row.rounds.append(outcome.figures)
        row.notes = outcome.notes
        return
    tell(f"{case.id}: {row.contestant} {row.status}: {row.error}")


def run_job(job: Job, seconds: float) -> Outcome:
    """Do a job in a fresh interpreter; raises JobFailed or JobTimeout."""
    with tempfile.TemporaryDirectory(prefix="mcp-benchmark-") as folder:
        result, log = Path(folder, "outcome.json"), Path(folder, "log.txt")
        code = _execute(job, seconds, result, log)
        if code != 0 or not result.exists():
            lines = log.read_text(errors="replace").strip().splitlines()[-_TAIL_LINES:]
            raise JobFailed(f"ended with {code}: " + " | ".join(line.strip() for line in lines))
        value = orjson.loads(result.read_bytes())
    return Outcome(value["figures"], tuple(value["notes"]))


def _execute(job: Job, seconds: float, result: Path, log: Path) -> int:
    command = [sys.executable, "-m", "benchmarks.worker", job.to_json(), str(result)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with log.open("wb") as sink:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise JobTimeout(f"not done after {seconds:.0f} s") from None
        finally:
            if process.poll() is None:
                # Servers have sessions of their own; they end when their input does.
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
