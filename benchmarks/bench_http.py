"""E: what do calls over Streamable HTTP cost one caller, or many, and what if answers are event streams?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, TypeAlias

from benchmarks import bench_callers, bench_round_trip
from benchmarks.case import Case, Job, Outcome
from benchmarks.contestants.contract import Contestant
from benchmarks.contestants.over_http import Form, open_http_contestant
from benchmarks.contestants.roster import HTTP_LIMITS, OURS, PEERS

Measure: TypeAlias = Callable[[Contestant, Mapping[str, int]], Outcome]


def run(form: Form, measure: Measure, job: Job) -> Outcome:
    """The calls of A or B, made to a server that answers in this form."""
    with open_http_contestant(job, form) as contestant:
        return measure(contestant, job.sizes)


def _case(id_: str, what: str, form: Form, like: Case, measure: Measure) -> Case:
    """With the sizes of the same question over stdio; placed by the system, as clients of the web are."""
    return Case(
        id=id_,
        workload="E",
        bench=__name__,
        what=f"Streamable HTTP, {what}",
        run=partial(run, form, measure),
        sizes=like.sizes,
        quick=like.quick,
        smoke=like.smoke,
        contestants=(*HTTP_LIMITS, OURS, *PEERS),
        columns=like.columns,
        limit="urllib3",
        peer="official-portal",
    )


_SEQUENTIAL: Final = bench_round_trip.CASES[0], bench_round_trip.measure
_CROWDED: Final = bench_callers.CASES[0], bench_callers.measure

CASES: Final = (
    _case("E1", "one caller, sequential tools/call of about 100 bytes", "json", *_SEQUENTIAL),
    _case("E50", "many callers at once", "json", *_CROWDED),
    _case("ES", "one caller, each answer an event stream of one event", "sse", *_SEQUENTIAL),
)

if __name__ == "__main__":
    from benchmarks.command import main

    raise SystemExit(main(only="E"))
