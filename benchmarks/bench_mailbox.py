"""M: does every queue inside this library stay within its bound, whatever floods it?

No contest: the library alone, under a flood of notifications and a storm of callers at once.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from functools import partial
from typing import Final

from benchmarks.bench_flood import PAUSE
from benchmarks.case import Case, Column, Figures, Job, Outcome
from benchmarks.contestants.roster import OURS, server_command
from benchmarks.handlers import Handler, HandlerKind
from benchmarks.placement import place_client
from benchmarks.usage import MB, Meter
from mcp_actors import Client, ClientStats, errors

# The bounds of the design, written down here a second time: taken from the library they would prove nothing.
_MAX_FRAME_BYTES: Final = 16 * 1024 * 1024
_READ_BYTES: Final = 64 * 1024
_HIGH_WATER_BYTES: Final = 1024 * 1024
_LANE_ITEMS: Final = 10_000
_LANE_BYTES: Final = 8 * 1024 * 1024
_GROWTH_MB: Final = 12.0
_MAX_IN_FLIGHT: Final = 1024
_WORKERS: Final = 32
#: Beside deliveries and callers: eight scans of large frames, and news of the wire, the lane and the end.
_CONSTANT: Final = 16

#: Large enough that 200 callers together exceed the high-water mark.
_STORM_TEXT: Final = "x" * 8_000
_FRAME_BYTES: Final = len(_STORM_TEXT) + 1_000
_LOOK_EVERY: Final = 0.002
#: Figures without a bound.
_FURTHER: Final = ("lost", "answered", "refused", "starved", "wall_s")


@dataclass(frozen=True, slots=True)
class Weather:
    """One corner of the grid. ``in_flight`` is None where there is no storm."""

    handler: HandlerKind
    in_flight: int | None
    frames_per_permit: int | None
    window: int

    @property
    def most_inside(self) -> int:
        """How many callers are admitted."""
        return _MAX_IN_FLIGHT if self.in_flight is None else self.in_flight

    @property
    def label(self) -> str:
        """Short and unique."""
        storm = "calm" if self.in_flight is None else f"storm/{self.in_flight}"
        frames = self.frames_per_permit or "all"
        return f"M {self.handler} {storm} frames={frames} window={self.window}"


class Watch(threading.Thread):
    """Looks at what the library itself keeps no maximum of."""

    def __init__(self, client: Client) -> None:
        super().__init__(name="watch", daemon=True)
        self._client = client
        self._over = threading.Event()
        self.read_buffer = 0

    def run(self) -> None:
        """Look often, until told to stop."""
        while not self._over.wait(_LOOK_EVERY):
            self.read_buffer = max(self.read_buffer, self._client.stats().wire.read_buffer_bytes)

    def stop(self) -> None:
        """Look no more."""
        self._over.set()
        self.join()


class Storm:
    """Many threads that call as fast as they are let."""

    def __init__(self, client: Client, callers: int) -> None:
        self._client = client
        self._over = threading.Event()
        self._began = threading.Event()
        self._answered = [0] * callers
        self._refused = [0] * callers
        self._errors: list[BaseException] = []
        self._threads = [
            threading.Thread(target=self._rage, args=(number,), daemon=True) for number in range(callers)
        ]
        for thread in self._threads:
            thread.start()

    def begin(self) -> None:
        """Let go."""
        self._began.set()

    def figures(self) -> Figures:
        """How the callers fared so far; those who never got an answer are starved."""
        return {
            "answered": float(sum(self._answered)),
            "refused": float(sum(self._refused)),
            "starved": float(self._answered.count(0)),
        }

    def end(self) -> None:
        """Wait for the last answers; raises what a caller should not have got."""
        self._over.set()
        self._began.set()
        for thread in self._threads:
            thread.join()
        if self._errors:
            raise self._errors[0]

    def _rage(self, number: int) -> None:
        self._began.wait()
        try:
            while not self._over.is_set():
                self._call(number)
        except BaseException as error:  # noqa: BLE001 - raised again by `end`, where somebody sees it
            self._errors.append(error)

    def _call(self, number: int) -> None:
        try:
            self._client.call_tool("echo", {"text": _STORM_TEXT}, wait=True)
            self._answered[number] += 1
        except errors.Backpressure:
            # The library's right: the wire is full. A caller that does not wait a little would only spin.
            self._refused[number] += 1
            self._over.wait(PAUSE)


def run(weather: Weather, job: Job) -> Outcome:
    """Flood and storm until all of the flood was read."""
    server = server_command(job, "legacy")
    place_client(job.pin)
    handler = Handler(weather.handler)
    client = Client.stdio(
        server,
        window=weather.window,
        frames_per_permit=weather.frames_per_permit,
        max_in_flight=weather.most_inside,
    )
    with client:
        if weather.handler != "none":
            client.on_notification(lambda _heard: handler.hear(), "notifications/message")
        callers = 0 if weather.in_flight is None else job.sizes["callers"]
        figures = _measure(client, callers, job.sizes["notifications"])
        handler.release()
    bounds = bounds_of(weather, callers)
    exceeded = [name for name, bound in bounds.items() if figures[name] > bound]
    figures |= {f"{name}_bound": bound for name, bound in bounds.items()}
    return Outcome(
        figures | {"exceeded": float(len(exceeded))}, tuple(f"{name} EXCEEDED" for name in exceeded)
    )


def bounds_of(weather: Weather, callers: int) -> Figures:
    """What the design promises, for this weather and so many callers."""
    # Each caller that was admitted has one message in a mailbox at most; one more asks for the flood.
    inside = min(callers + 1, weather.most_inside)
    return {
        "connection": weather.window + inside + _CONSTANT,
        "transport": inside + _CONSTANT,
        "pool": _WORKERS + _CONSTANT,
        "supervisor": _CONSTANT,
        "lane_items": _LANE_ITEMS,
        "lane_bytes": _LANE_BYTES,
        "write_backlog": _HIGH_WATER_BYTES + _FRAME_BYTES,
        "read_buffer": _MAX_FRAME_BYTES + _READ_BYTES,
        "in_flight": weather.most_inside,
        # A caller's text is in its request, in the backlog, in the reader's buffer and in the answer.
        "growth_mb": _GROWTH_MB + 4 * (inside - 1) * _FRAME_BYTES / MB,
    }


def _measure(client: Client, callers: int, notifications: int) -> Figures:
    watch, storm = Watch(client), Storm(client, callers)
    client.call_tool("echo", {"text": _STORM_TEXT})
    watch.start()
    # The stacks of the callers are theirs; memory counts from here.
    with Meter() as meter:
        client.call_tool("flood", {"n": notifications})
        storm.begin()
        while _arrived(client.stats()) < notifications:
            time.sleep(PAUSE)
        fared = storm.figures()
    storm.end()
    watch.stop()
    took = {"wall_s": meter.wall, "growth_mb": meter.growth / MB, "read_buffer": float(watch.read_buffer)}
    return depths(client.stats()) | took | fared


def _arrived(stats: ClientStats) -> int:
    """How much of the flood was read. Not asked by a call, which would have to get past the storm."""
    lane = stats.lane
    in_hand = 1 if lane.depth else 0
    return lane.processed + lane.dropped + lane.merged + lane.depth + lane.unheard + in_hand


def depths(stats: ClientStats) -> Figures:
    """The greatest depths that the library remembers."""
    mailboxes = {name: float(mailbox.greatest_depth) for name, mailbox in stats.mailboxes.items()}
    return mailboxes | {
        "lane_items": float(stats.lane.greatest_depth),
        "lane_bytes": float(stats.lane.greatest_bytes),
        "write_backlog": float(stats.wire.greatest_backlog_bytes),
        "in_flight": float(stats.greatest_in_flight),
        "handled": float(stats.lane.processed),
        "lost": float(stats.lane.dropped + stats.lane.merged),
        "unheard": float(stats.lane.unheard),
    }


def _case(weather: Weather) -> Case:
    return Case(
        id=weather.label,
        workload="M",
        bench=__name__,
        what="greatest depth of every queue beside its bound",
        run=partial(run, weather),
        sizes={"notifications": 200_000, "callers": 200},
        quick={"notifications": 40_000, "callers": 100},
        smoke={"notifications": 500, "callers": 10},
        contestants=(OURS,),
        columns=tuple(Column(name, name.replace("_", " ")) for name in (*bounds_of(weather, 0), *_FURTHER)),
        rounds=1,
    )


_HANDLERS: Final[tuple[HandlerKind, ...]] = ("none", "counting", "slow", "stuck")

CASES: Final = tuple(
    _case(Weather(handler, in_flight, frames, window))
    for handler in _HANDLERS
    for in_flight in (None, 64, 1024)
    for frames in (None, 1)
    for window in (1, 4)
)

if __name__ == "__main__":
    from benchmarks.command import main

    raise SystemExit(main(only="M"))
