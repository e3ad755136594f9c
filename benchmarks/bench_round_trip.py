"""A: how long does one caller wait for a small answer, and how much processor time does the call cost?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from benchmarks.case import Case, Column, Job, Outcome
from benchmarks.contestants.contract import Call, Contestant
from benchmarks.contestants.roster import LIMITS, OURS, PEERS, open_contestant
from benchmarks.figures import latencies
from benchmarks.usage import MB, Meter

TEXT: Final = (
    "a text of about a hundred bytes, which is what a small tool is mostly asked and mostly answers, too"
)
ECHO: Final = Call("echo", {"text": TEXT}, len(TEXT))


def run(job: Job) -> Outcome:
    """One caller, one call after the other."""
    with open_contestant(job) as contestant:
        return measure(contestant, job.sizes)


def measure(contestant: Contestant, sizes: Mapping[str, int]) -> Outcome:
    """The same for any contestant that is connected, however it is."""
    calls = sizes["calls"]
    contestant.sequence(ECHO, sizes["warm_up"])
    with Meter() as meter:
        seconds = contestant.sequence(ECHO, calls)
    figures = {"cpu_us": meter.cpu / calls * 1e6, "wall_s": meter.wall, "peak_mb": meter.peak / MB}
    return Outcome(latencies(seconds) | figures)


COLUMNS: Final = (
    Column("p50_us", "p50 µs"),
    Column("p99_us", "p99 µs"),
    Column("cpu_us", "CPU µs/call"),
    Column("peak_mb", "peak MB"),
)

CASES: Final[tuple[Case, ...]] = (
    Case(
        id="A",
        workload="A",
        bench=__name__,
        what="stdio, one caller, sequential tools/call of about 100 bytes",
        run=run,
        sizes={"calls": 2000, "warm_up": 200},
        quick={"calls": 500, "warm_up": 100},
        smoke={"calls": 20, "warm_up": 2},
        contestants=(*LIMITS, OURS, *PEERS),
        columns=COLUMNS,
        limit="raw",
        peer="official-portal",
        pin="one",
    ),
)

if __name__ == "__main__":
    from benchmarks.command import main

    raise SystemExit(main(only="A"))
