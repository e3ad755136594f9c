"""Bounded waits for things that happen on other threads, in other processes, or not at all."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

#: The bound of every wait that is expected to succeed; slow machines may raise it.
BOUND = 5.0 * float(os.environ.get("MCP_ACTORS_TEST_FACTOR", "1"))
_LOOK_AGAIN = 0.005


def until(
    true: Callable[[], object],
    deadline: float | None = None,
    otherwise: Callable[[], str] = lambda: "it did not happen in time",
) -> None:
    """Look again and again until it is true: for what nobody tells us, such as the end of a process."""
    limit = time.monotonic() + BOUND if deadline is None else deadline
    while not true():
        assert time.monotonic() < limit, otherwise()
        time.sleep(_LOOK_AGAIN)


def in_thread(work: Callable[[], Any]) -> Future[Any]:
    """Run ``work`` on a thread of its own; the future has what came of it."""
    future: Future[Any] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - it is raised by result()
            future.set_exception(error)

    threading.Thread(target=run, daemon=True, name="test-caller").start()
    return future


@contextmanager
def opened_at_the_end(*gates: threading.Event) -> Iterator[None]:
    """Let whoever waits at these gates go, also when the test fails."""
    try:
        yield
    finally:
        for gate in gates:
            gate.set()
