"""Native: the way of working of contestants that live in an event loop, with every call made inside of it.

The loop has a thread of its own, only so that the benchmark can be written once: a whole series of calls is
handed to it at a time, and while it runs nobody else does.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

import anyio
from anyio.from_thread import BlockingPortal

from benchmarks.contestants.contract import Call, Crowd
from benchmarks.handlers import SLOW_SECONDS, Handler

NativeCall: TypeAlias = Callable[[str, Mapping[str, Any]], Awaitable[str]]


class Native:
    """Loops around one coroutine function, run inside the loop."""

    def __init__(self, portal: BlockingPortal, function: NativeCall) -> None:
        self._portal = portal
        self._function = function

    def sequence(self, call: Call, times: int) -> list[float]:
        """See `Contestant`."""
        return self._portal.call(self._sequence, call, times)

    def crowd(self, call: Call, callers: int, each: int) -> Crowd:
        """See `Contestant`."""
        return self._portal.call(self._crowd, call, callers, each)

    def paced(self, call: Call, pause: float, enough: Callable[[str], bool]) -> list[float]:
        """See `Contestant`."""
        return self._portal.call(self._paced, call, pause, enough)

    def lost(self) -> int:
        """See `Contestant`."""
        return 0

    # In the loop.

    async def _sequence(self, call: Call, times: int) -> list[float]:
        function, clock, seconds = self._function, time.perf_counter, []
        for _ in range(times):
            began = clock()
            text = await function(call.tool, call.arguments)
            seconds.append(clock() - began)
            call.check(text)
        return seconds

    async def _crowd(self, call: Call, callers: int, each: int) -> Crowd:
        seconds: list[float] = []

        async def work() -> None:
            seconds.extend(await self._sequence(call, each))

        began = time.perf_counter()
        async with anyio.create_task_group() as group:
            for _ in range(callers):
                group.start_soon(work)
        return Crowd(time.perf_counter() - began, seconds)

    async def _paced(self, call: Call, pause: float, enough: Callable[[str], bool]) -> list[float]:
        clock, seconds, text = time.perf_counter, [], ""
        while not text or not enough(text):
            began = clock()
            text = await self._function(call.tool, call.arguments)
            seconds.append(clock() - began)
            await anyio.sleep(max(0.0, began + pause - clock()))
        return seconds


async def hear_in_loop(handler: Handler) -> None:
    """What the handler does, as a coroutine. Only ``slow`` blocks the loop, as a plain function would."""
    if handler.kind == "stuck":
        await anyio.sleep_forever()
    elif handler.kind == "awaiting":
        await anyio.sleep(SLOW_SECONDS)
        handler.count()
    else:
        handler.hear()
