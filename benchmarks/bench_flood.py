"""D: what becomes of calls and memory when a server talks without end to quick, slow and stuck handlers?"""

from __future__ import annotations

import time
from functools import partial
from typing import Final

from benchmarks.bench_round_trip import ECHO
from benchmarks.case import Case, Column, Job, Outcome
from benchmarks.contestants.contract import Call
from benchmarks.contestants.roster import OURS, PEERS, open_contestant
from benchmarks.figures import latencies
from benchmarks.handlers import Handler, HandlerKind
from benchmarks.usage import MB, Meter

PAUSE: Final = 0.01
LEFT: Final = Call("left", {})


def run(kind: HandlerKind, job: Job) -> Outcome:
    """Flood, and call every 10 ms until each notification was handled or dropped.

    Where the handler is stuck that never comes true; there it is over when all of the flood was read.
    """
    handler, flood = Handler(kind), job.sizes["notifications"]
    # Unasked-for notifications are legal in the handshake era only.
    with open_contestant(job, era="legacy", handler=handler) as contestant:

        def enough(text: str) -> bool:
            return _all_written(text) if kind == "stuck" else handler.heard + contestant.lost() >= flood

        contestant.sequence(ECHO, job.sizes["warm_up"])
        with Meter() as meter:
            began = time.perf_counter()
            contestant.sequence(Call("flood", {"n": flood}), 1)
            seconds = contestant.paced(LEFT, PAUSE, enough)
        ended = time.perf_counter() if kind == "stuck" else handler.last
        lost = contestant.lost()
        handler.release()
    figures = {
        "drain_s": ended - began,
        "growth_mb": meter.growth / MB,
        "lost": float(lost),
        "calls": float(len(seconds)),
        "cpu_s": meter.cpu,
    }
    return Outcome(latencies(seconds, "ms") | figures)


def _all_written(text: str) -> bool:
    """Whether an answer of ``left`` says that the whole flood is in front of it."""
    return text.split()[0] == "0"


_COLUMNS: Final = (
    Column("p50_ms", "call p50 ms"),
    Column("p99_ms", "call p99 ms"),
    Column("drain_s", "drain s"),
    Column("growth_mb", "growth MB"),
    Column("lost", "lost"),
    Column("cpu_s", "CPU s"),
)


def _case(kind: HandlerKind, what: str, notifications: int, contestants: tuple[str, ...]) -> Case:
    return Case(
        id=f"D {kind}",
        workload="D",
        bench=__name__,
        what=f"stdio, a flood of notifications of 200 bytes while calls go every 10 ms; {what}",
        run=partial(run, kind),
        sizes={"notifications": notifications, "warm_up": 50},
        quick={"notifications": notifications // 10, "warm_up": 20},
        smoke={"notifications": 100, "warm_up": 2},
        contestants=contestants,
        columns=_COLUMNS,
        limit="raw-threads" if "raw-threads" in contestants else None,
        peer="official-portal",
        rounds=3,
    )


CASES: Final = (
    _case("counting", "a handler counts them", 200_000, ("raw-threads", OURS, *PEERS)),
    _case("slow", "a handler blocks for 1 ms", 20_000, (OURS, *PEERS)),
    # For those with an event loop the kinder form; the others have only one way of waiting.
    _case("awaiting", "a handler awaits 1 ms, where it can", 20_000, (OURS, *PEERS)),
    _case("stuck", "a handler never returns", 20_000, (OURS, *PEERS)),
)

if __name__ == "__main__":
    from benchmarks.command import main

    raise SystemExit(main(only="D"))
