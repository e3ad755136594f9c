"""All questions, in the order in which they are asked."""

from __future__ import annotations

from typing import Final

from benchmarks import (
    bench_callers,
    bench_flood,
    bench_http,
    bench_http_server,
    bench_large_results,
    bench_mailbox,
    bench_round_trip,
    bench_start,
    bench_stdio_server,
    bench_streams,
)
from benchmarks.case import Case

CASES: Final[dict[str, Case]] = {
    case.id: case
    for bench in (
        bench_round_trip,
        bench_callers,
        bench_large_results,
        bench_flood,
        bench_http,
        bench_start,
        bench_stdio_server,
        bench_http_server,
        bench_streams,
        bench_mailbox,
    )
    for case in bench.CASES
}
WORKLOADS: Final = tuple(dict.fromkeys(case.workload for case in CASES.values()))
