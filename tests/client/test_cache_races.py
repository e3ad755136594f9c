"""Kept answers between threads: the cache has no lock, so every order of its steps must do.

The worst that can happen to a thread is to stop between two lines while others do all they want to do. So
that is tried before each line.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest
from msgspec import Raw

from mcp_actors.client import cache as cache_module
from mcp_actors.client.cache import ResponseCache
from tests.client.keeping import PROMPTS, READ, RESOURCES, TOOLS, UPDATED, FakeClock, found, keep, params_of
from tests.client.waiting import BOUND, in_thread

pytestmark = pytest.mark.requirement("feature:caching")

A = params_of("x:a")


@contextmanager
def before_each_line(work: Callable[[int], object]) -> Iterator[list[int]]:
    """Call ``work`` with 1, 2, 3 before each line that the cache runs; yields the number of lines so far."""
    lines = [0]

    def trace(frame: FrameType, event: str, _argument: Any) -> Any:
        if frame.f_code.co_filename != cache_module.__file__:
            return None
        if event == "line":
            lines[0] += 1
            # Python traces nothing while a trace function runs.
            work(lines[0])
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield lines
    finally:
        sys.settrace(before)


def every_line(step: Callable[[int], int]) -> None:
    """Take a step that is interrupted before line 1, again for line 2, and so on to its last line."""
    at = 1
    while step(at) >= at:
        at += 1
    assert at > 3, "nothing was interrupted"


INVALIDATIONS: dict[str, Callable[[ResponseCache], None]] = {
    "update": lambda cache: cache.heard(UPDATED, "x:a"),
    "clear": lambda cache: cache.clear(),
    "forget": lambda cache: cache.forget(READ, A),
}


@pytest.mark.parametrize("invalidate", INVALIDATIONS.values(), ids=list(INVALIDATIONS))
def test_an_answer_overtaken_while_it_is_stored_is_never_seen(
    invalidate: Callable[[ResponseCache], None],
) -> None:
    def step(at: int) -> int:
        cache = ResponseCache(FakeClock())
        ticket = cache.ticket(READ, A)
        seen: list[bytes | None] = []

        def interrupt(line: int) -> None:
            if line == at:
                invalidate(cache)
            if line >= at:
                seen.append(found(cache, READ, A))

        with before_each_line(interrupt) as lines:
            cache.store(ticket, Raw(b"old"), 1000, "private")
        if lines[0] >= at:
            assert {*seen, found(cache, READ, A)} == {None}
            assert cache.stats.entries == 0
        return lines[0]

    every_line(step)


@pytest.mark.parametrize("invalidate", INVALIDATIONS.values(), ids=list(INVALIDATIONS))
def test_an_answer_stored_while_it_is_overtaken_is_not_seen_afterwards(
    invalidate: Callable[[ResponseCache], None],
) -> None:
    def step(at: int) -> int:
        cache = ResponseCache(FakeClock())
        # Something for the invalidation to go through.
        keep(cache, READ, A)
        ticket = cache.ticket(READ, A)

        def interrupt(line: int) -> None:
            if line == at:
                cache.store(ticket, Raw(b"old"), 1000, "private")

        with before_each_line(interrupt) as lines:
            invalidate(cache)
        assert found(cache, READ, A) is None
        return lines[0]

    every_line(step)


def test_the_bounds_hold_whenever_two_threads_store_at_once() -> None:
    def step(at: int) -> int:
        cache = ResponseCache(FakeClock(), most=2)
        keep(cache, TOOLS)
        keep(cache, PROMPTS)

        def interrupt(line: int) -> None:
            if line == at:
                keep(cache, RESOURCES)

        with before_each_line(interrupt) as lines:
            keep(cache, READ)
        assert cache.stats.entries <= 2
        return lines[0]

    every_line(step)


@pytest.mark.stress
def test_whoever_looks_after_a_notification_never_finds_what_was_true_before_it() -> None:
    traffic = Traffic()
    with hasty_threads():
        others = [in_thread(work) for work in (traffic.store, traffic.store, traffic.look)]
        traffic.change(3000)
    assert [other.result(BOUND) for other in others] == [None] * 3
    assert traffic.cache.stats.hits > 0
    assert traffic.cache.stats.entries <= 4


class Traffic:
    """A truth that changes, threads that keep it, and one that looks."""

    def __init__(self) -> None:
        self.cache = ResponseCache(most=4)
        self.truth = self.told = 0
        self.end = threading.Event()

    def store(self) -> None:
        while not self.end.is_set():
            for uri in ("x:a", "x:a/b", "y:"):
                ticket = self.cache.ticket(READ, params_of(uri))
                self.cache.store(ticket, Raw(b"%d" % self.truth), 60_000, "public")

    def look(self) -> None:
        while not self.end.is_set():
            for uri in ("x:a", "x:a/b"):
                least = self.told
                result = found(self.cache, READ, params_of(uri))
                assert result is None or int(result) >= least

    def change(self, times: int) -> None:
        try:
            for n in range(1, times):
                self.truth = n
                self.cache.heard(UPDATED, "x:a")
                self.told = n
        finally:
            self.end.set()


@contextmanager
def hasty_threads() -> Iterator[None]:
    """Threads that are switched as often as Python can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)
