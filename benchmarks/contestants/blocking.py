"""Blocking: the way of working of contestants whose calls block the thread that makes them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from benchmarks.contestants.contract import Call, Crowd

BlockingCall: TypeAlias = Callable[[str, Mapping[str, Any]], str]


class Blocking:
    """Loops around one function that calls a tool and returns the text of its answer."""

    def __init__(self, function: BlockingCall, lost: Callable[[], int] = lambda: 0) -> None:
        self._function = function
        self._lost = lost

    def sequence(self, call: Call, times: int) -> list[float]:
        """See `Contestant`."""
        function, clock, seconds = self._function, time.perf_counter, []
        for _ in range(times):
            began = clock()
            text = function(call.tool, call.arguments)
            seconds.append(clock() - began)
            call.check(text)
        return seconds

    def crowd(self, call: Call, callers: int, each: int) -> Crowd:
        """See `Contestant`."""
        gate = threading.Barrier(callers + 1)
        seconds: list[float] = []
        errors: list[BaseException] = []

        def work() -> None:
            gate.wait()
            try:
                seconds.extend(self.sequence(call, each))
            except BaseException as error:  # noqa: BLE001 - raised again below, where somebody sees it
                errors.append(error)

        threads = [threading.Thread(target=work, daemon=True) for _ in range(callers)]
        for thread in threads:
            thread.start()
        gate.wait()
        began = time.perf_counter()
        for thread in threads:
            thread.join()
        wall = time.perf_counter() - began
        if errors:
            raise errors[0]
        return Crowd(wall, seconds)

    def paced(self, call: Call, pause: float, enough: Callable[[str], bool]) -> list[float]:
        """See `Contestant`."""
        clock, seconds, text = time.perf_counter, [], ""
        while not text or not enough(text):
            began = clock()
            text = self._function(call.tool, call.arguments)
            seconds.append(clock() - began)
            time.sleep(max(0.0, began + pause - clock()))
        return seconds

    def lost(self) -> int:
        """See `Contestant`."""
        return self._lost()
