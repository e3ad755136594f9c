"""The process of one job: does it, and leaves the outcome in a file.

Usage: python -m benchmarks.worker JOB FILE
"""

from __future__ import annotations

import importlib
import sys
from dataclasses import asdict
from pathlib import Path

import orjson

from benchmarks.case import Case, Job, Outcome


def work(job: Job) -> Outcome:
    """Do a job in this process."""
    # Only its own module: another question may import a library that this contestant need not carry.
    cases: tuple[Case, ...] = importlib.import_module(job.bench).CASES
    return next(case for case in cases if case.id == job.case).run(job)


def main(arguments: list[str]) -> None:
    """Do the job of the first argument, write to the file of the second."""
    outcome = work(Job.from_json(arguments[0]))
    Path(arguments[1]).write_bytes(orjson.dumps(asdict(outcome)))


if __name__ == "__main__":
    main(sys.argv[1:])
