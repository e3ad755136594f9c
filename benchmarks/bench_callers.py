"""B: how long do many threads take that share one connection, and how long does the unluckiest call wait?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from benchmarks.bench_round_trip import ECHO
from benchmarks.case import Case, Column, Job, Outcome
from benchmarks.contestants.contract import Contestant
from benchmarks.contestants.roster import OURS, PEERS, open_contestant
from benchmarks.figures import latencies
from benchmarks.usage import Meter


def run(job: Job) -> Outcome:
    """All callers at once, each as fast as it can."""
    with open_contestant(job) as contestant:
        return measure(contestant, job.sizes)


def measure(contestant: Contestant, sizes: Mapping[str, int]) -> Outcome:
    """The same for any contestant that is connected, however it is."""
    callers = sizes["callers"]
    each = sizes["calls"] // callers
    contestant.crowd(ECHO, callers, max(1, sizes["warm_up"] // callers))
    with Meter() as meter:
        crowd = contestant.crowd(ECHO, callers, each)
    calls = callers * each
    figures = {"wall_s": crowd.wall, "calls_per_s": calls / crowd.wall, "cpu_us": meter.cpu / calls * 1e6}
    return Outcome(figures | latencies(crowd.seconds, "ms"))


COLUMNS: Final = (
    Column("wall_s", "wall s"),
    Column("calls_per_s", "calls/s"),
    Column("p50_ms", "p50 ms"),
    Column("p99_ms", "p99 ms"),
    Column("cpu_us", "CPU µs/call"),
)

CASES: Final[tuple[Case, ...]] = (
    Case(
        id="B",
        workload="B",
        bench=__name__,
        what="stdio, many callers at once on one connection",
        run=run,
        sizes={"calls": 5000, "callers": 50, "warm_up": 500},
        quick={"calls": 1000, "callers": 50, "warm_up": 100},
        smoke={"calls": 20, "callers": 5, "warm_up": 5},
        contestants=("raw-threads", OURS, *PEERS),
        columns=COLUMNS,
        limit="raw-threads",
        peer="official-portal",
        pin="one",
    ),
)

if __name__ == "__main__":
    from benchmarks.command import main

    raise SystemExit(main(only="B"))
