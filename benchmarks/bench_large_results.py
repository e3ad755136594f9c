"""C: what do large results cost, in time and in memory?"""

from __future__ import annotations

from typing import Final

from benchmarks.bench_round_trip import ECHO
from benchmarks.case import Case, Column, Job, Outcome
from benchmarks.contestants.contract import Call
from benchmarks.contestants.roster import OURS, PEERS, open_contestant
from benchmarks.figures import latencies
from benchmarks.usage import MB, Meter

_WARM_UP_BYTES: Final = 200_000


def run(job: Job) -> Outcome:
    """One large result after the other; each is dropped when the next is asked for."""
    size = job.sizes["bytes"]
    call = Call("big", {"n": size}, size)
    with open_contestant(job) as contestant:
        contestant.sequence(ECHO, 10)
        # Large enough for whatever a contestant does with large frames, small beside the memory that counts.
        for length in (_WARM_UP_BYTES, size):
            contestant.sequence(Call("prepare", {"n": length}), 1)
        contestant.sequence(Call("big", {"n": _WARM_UP_BYTES}, _WARM_UP_BYTES), 2)
        with Meter() as meter:
            seconds = contestant.sequence(call, job.sizes["calls"])
    figures = {"wall_s": meter.wall, "growth_mb": meter.growth / MB, "peak_mb": meter.peak / MB}
    return Outcome(figures | latencies(seconds, "ms"))


_COLUMNS: Final = (
    Column("wall_s", "wall s"),
    Column("p50_ms", "p50 ms"),
    Column("growth_mb", "growth MB"),
    Column("peak_mb", "peak MB"),
)
_CONTESTANTS: Final = ("raw", OURS, *PEERS)

CASES: Final = (
    Case(
        id="C 1 MB",
        workload="C",
        bench=__name__,
        what="stdio, results of 1 MB, one after the other",
        run=run,
        sizes={"bytes": 1_000_000, "calls": 50},
        quick={"bytes": 1_000_000, "calls": 10},
        smoke={"bytes": 200_000, "calls": 2},
        contestants=_CONTESTANTS,
        columns=_COLUMNS,
        limit="raw",
        peer="official-async",
    ),
    Case(
        id="C 10 MB",
        workload="C",
        bench=__name__,
        what="stdio, results of 10 MB, one after the other",
        run=run,
        sizes={"bytes": 10_000_000, "calls": 5},
        quick={"bytes": 10_000_000, "calls": 2},
        smoke={"bytes": 500_000, "calls": 1},
        contestants=_CONTESTANTS,
        columns=_COLUMNS,
        limit="raw",
        peer="official-async",
    ),
)

if __name__ == "__main__":
    from benchmarks.command import main

    raise SystemExit(main(only="C"))
