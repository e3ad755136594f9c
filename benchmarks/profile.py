"""Where the time goes, thread by thread, while this library does one of the workloads.

Usage: python -m benchmarks.profile A [--quick | --smoke] [--times 5] [--top 10] [--how calls | sample]

``calls`` charges processor time, so waiting costs nothing, to each function of each thread; the bookkeeping
makes small functions look dearer than they are. ``sample`` leaves the program nearly undisturbed, but sees a
thread mostly where it lets go of the interpreter: trust its sums per thread more than its lines.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Final

from benchmarks.case import Case
from benchmarks.command import chosen
from benchmarks.contestants.roster import OURS, ROSTER
from benchmarks.harness import ROOT
from benchmarks.worker import work

_EVERY: Final = 0.0005
_SWITCH: Final = 0.0001
#: Of all processor time; threads below it are left out.
_WORTH_SHOWING: Final = 0.01
#: Later Pythons allow one profiler in the whole process, and so none per thread.
_CAN_COUNT: Final = sys.version_info < (3, 12)


def main(arguments: Sequence[str] | None = None) -> int:
    """Profile one case and print a table for each thread."""
    given = _parse(arguments)
    job = given.case.job(given.contestant, given.scale or "full", "free")
    # Imports and first times are not what is asked for.
    work(given.case.job(given.contestant, "smoke", "free"))

    def repeat() -> None:
        for _ in range(given.times):
            work(job)

    report = count_calls if given.how == "calls" else take_samples
    sys.stdout.write(report(repeat, given.top))
    return 0


def _parse(arguments: Sequence[str] | None) -> Any:
    ways = ("calls", "sample") if _CAN_COUNT else ("sample",)
    parser = argparse.ArgumentParser(prog="python -m benchmarks.profile", description=__doc__)
    parser.add_argument("case", type=_case, help='a workload, or one of its cases: "D slow"')
    parser.add_argument("--contestant", choices=tuple(ROSTER), default=OURS)
    parser.add_argument("--times", type=int, default=1, help="do the work so many times")
    parser.add_argument("--top", type=int, default=10, help="lines for each thread")
    parser.add_argument("--how", choices=ways, default=ways[0])
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", dest="scale", action="store_const", const="quick")
    size.add_argument("--smoke", dest="scale", action="store_const", const="smoke")
    return parser.parse_args(arguments)


def _case(name: str) -> Case:
    try:
        case = chosen(name)[0]
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if case.workload == "F":
        raise argparse.ArgumentTypeError("F runs in other processes: use python -X importtime")
    return case


# Counting.


def count_calls(job: Callable[[], None], top: int) -> str:
    """Run the job with a profiler in every thread that it starts, and in this one."""
    profiles: defaultdict[str, list[cProfile.Profile]] = defaultdict(list)

    def begin(*_: object) -> None:
        # The first event of a new thread; from here on its own profiler hears the others.
        profile = cProfile.Profile(time.thread_time)
        profiles[threading.current_thread().name].append(profile)
        profile.enable()

    threading.setprofile(begin)
    begin()
    try:
        job()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return _call_tables({name: pstats.Stats(*found) for name, found in profiles.items()}, top)


def _call_tables(threads: dict[str, Any], top: int) -> str:
    lines = []
    whole = sum(stats.total_tt for stats in threads.values())
    for name, stats in sorted(threads.items(), key=lambda item: -item[1].total_tt):
        if stats.total_tt < whole * _WORTH_SHOWING:
            continue
        lines.append(
            f"{name}: {stats.total_tt * 1e3:.1f} ms on the processor, {stats.total_tt / whole:.0%} of all"
        )
        lines.append("   share    calls  us/call  function")
        dearest = sorted(stats.stats.items(), key=lambda item: -item[1][2])[:top]
        for (file, line, function), (_, calls, own, *_rest) in dearest:
            place = f"{_short(file)}:{line} {function}" if line else function
            lines.append(f"  {own / stats.total_tt:6.1%}  {calls:7d}  {own / calls * 1e6:7.2f}  {place}")
    return "\n".join(lines) + "\n"


# Sampling.


class Sampler(threading.Thread):
    """Looks at all threads again and again. What it found belongs to whoever stopped it."""

    def __init__(self) -> None:
        super().__init__(name="sampler", daemon=True)
        self.spent: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._seen: dict[int, int] = {}
        self._over = threading.Event()

    def run(self) -> None:
        """Sample until stopped."""
        while not self._over.wait(_EVERY):
            threads = {thread.ident: thread for thread in threading.enumerate() if thread is not self}
            for ident, frame in sys._current_frames().items():
                if ident in threads:
                    self._charge(threads[ident], frame)

    def stop(self) -> None:
        """Sample no more."""
        self._over.set()
        self.join()

    def _charge(self, thread: threading.Thread, frame: FrameType) -> None:
        native = thread.native_id or 0
        now = _cpu_nanoseconds(native)
        before = self._seen.get(native)
        self._seen[native] = now
        if before is not None and now > before:
            self.spent[thread.name][_place(frame)] += now - before


def take_samples(job: Callable[[], None], top: int) -> str:
    """Run the job while a sampler looks on."""
    sampler = Sampler()
    with _switching_often():
        sampler.start()
        try:
            job()
        finally:
            sampler.stop()
    return _sample_table(sampler.spent, top)


@contextmanager
def _switching_often() -> Iterator[None]:
    """Have the interpreter interrupt a busy thread soon when the sampler wants to look."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def _cpu_nanoseconds(native: int) -> int:
    """Processor time of a thread so far; 0 if it has ended, or the system does not tell."""
    try:
        return int(Path(f"/proc/self/task/{native}/schedstat").read_text().split()[0])
    except (OSError, IndexError):
        return 0


def _place(frame: FrameType) -> str:
    return f"{_short(frame.f_code.co_filename)}:{frame.f_lineno} {frame.f_code.co_qualname}"


def _short(file: str) -> str:
    ours = file.removeprefix(f"{ROOT}/")
    return "/".join(Path(file).parts[-2:]) if ours.startswith("/") else ours


def _sample_table(spent: dict[str, Counter[str]], top: int) -> str:
    lines = []
    whole = sum(places.total() for places in spent.values())
    for name, places in sorted(spent.items(), key=lambda item: -item[1].total()):
        total = places.total()
        lines.append(f"{name}: {total / 1e6:.1f} ms on the processor, {total / whole:.0%} of all")
        lines += [f"  {count / total:6.1%}  {place}" for place, count in places.most_common(top)]
    return "\n".join(lines or ["no thread was seen on the processor"]) + "\n"


if __name__ == "__main__":
    raise SystemExit(main())
