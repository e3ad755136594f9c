"""What the tests of the runtime share: a bound for waits, a clock to turn, an actor that remembers."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from types import FrameType
from typing import Any

from mcp_actors.runtime.actor import Actor, start_actor
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.ref import Crashed, Reason, Ref

BOUND = 5.0


def soon() -> Deadline:
    """The bound of every wait that is expected to succeed."""
    return Deadline.after(BOUND)


def at_once() -> Deadline:
    """For waits that are expected to fail."""
    return Deadline.after(0.01)


class FakeClock:
    """A clock that stands still until it is advanced."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


class Bang(Exception):
    """An error on purpose."""


class Probe(Actor):
    """Remembers what happens to it. Callables are called; exceptions are raised; the rest is the answer."""

    def __init__(self, *, on_init: Callable[[Probe], object] | None = None, **actor: Any) -> None:
        super().__init__(**actor)
        self.seen: SimpleQueue[Any] = SimpleQueue()
        self.returned: SimpleQueue[Any] = SimpleQueue()
        self.reasons: list[Reason] = []
        self.threads: set[threading.Thread] = set()
        self._on_init = on_init

    def init(self) -> None:
        self.threads.add(threading.current_thread())
        if self._on_init is not None:
            self._on_init(self)

    def handle(self, message: Any) -> object:
        self.threads.add(threading.current_thread())
        if isinstance(message, BaseException):
            raise message
        if callable(message):
            return message(self)
        self.seen.put(message)
        return message

    def terminate(self, reason: Reason) -> None:
        self.threads.add(threading.current_thread())
        self.reasons.append(reason)

    def undelivered(self, message: Any) -> None:
        self.returned.put(message)


def start_probe(**keywords: Any) -> tuple[Probe, Ref]:
    """A started probe, from inside and from outside."""
    found: list[Probe] = []
    before = keywords.pop("on_init", None)

    def on_init(probe: Probe) -> None:
        found.append(probe)
        if before is not None:
            before(probe)

    ref = start_actor(Probe, on_init=on_init, deadline=soon(), **keywords)
    return found[0], ref


def stop(*refs: Ref) -> None:
    """Stop the actors, in this order, and see them end."""
    for ref in refs:
        ref.stop()
        assert ref.join(soon())


def error_of(ref: Ref) -> BaseException:
    """What the dead actor crashed of."""
    assert ref.join(soon())
    assert isinstance(ref.reason, Crashed)
    return ref.reason.error


def everything_in(queue: SimpleQueue[Any]) -> list[Any]:
    """Empty the queue."""
    return [queue.get_nowait() for _ in range(queue.qsize())]


def block_until(event: threading.Event) -> Callable[..., None]:
    """A job or message that occupies its thread until the event."""

    def block(*_args: object) -> None:
        assert event.wait(BOUND)

    return block


def stumbler(target: Callable[..., object], *args: object) -> threading.Thread:
    """A thread that stumbles over every line of the runtime, so that the others get in between: a short
    switch interval alone seldom hits a gap of one line."""

    def run() -> None:
        usual = sys.gettrace()
        sys.settrace(_watch)
        try:
            target(*args)
        finally:
            sys.settrace(usual)

    return threading.Thread(target=run, daemon=True)


def _watch(frame: FrameType, _event: str, _argument: object) -> Any:
    return _stumble if "/mcp_actors/runtime/" in frame.f_code.co_filename else None


def _stumble(_frame: FrameType, _event: str, _argument: object) -> Any:
    time.sleep(random.choice((0.0, 0.0, 1e-6, 2e-5)))
    return _stumble


def run_script(source: str) -> str:
    """What a program of its own prints; it must end by itself and well."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", source],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
