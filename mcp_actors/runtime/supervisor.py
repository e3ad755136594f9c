"""Supervisor: starts children in order, restarts them by plan, stops them in reverse, or gives up."""

from __future__ import annotations

import logging
import time
from collections import Counter, deque
from collections.abc import Sequence

from msgspec import Struct

from mcp_actors.runtime.actor import Actor, StartFailure
from mcp_actors.runtime.deadline import Clock, Deadline
from mcp_actors.runtime.directory import Directory, Restart
from mcp_actors.runtime.ref import Crashed, Exited, Reason, Ref
from mcp_actors.runtime.supervision import ChildSpec, Intensity, Strategy, rest_for_one

__all__ = ["ChildInfo", "Directory", "Restart", "RestartLimit", "Supervisor", "WhichChildren"]

logger = logging.getLogger("mcp_actors.runtime")

_THREE_IN_FIVE_SECONDS = Intensity()


class RestartLimit(Exception):
    """Children failed more often than the intensity allows; `error` is the last one's."""

    def __init__(self, child: str, intensity: Intensity, error: BaseException) -> None:
        super().__init__(
            f"more than {intensity.limit} failures in {intensity.period:g} s, "
            f"the last one of {child}: {_text(error)}"
        )
        self.child = child
        self.error = error


class EndedUnasked(Exception):
    """A child stopped although nobody but its supervisor may stop it."""


class WhichChildren(Struct, frozen=True):
    """Ask for a tuple of `ChildInfo`, in the order of the specs."""


class ChildInfo(Struct, frozen=True):
    """One child as its supervisor knows it; `ref` is None while it is not running."""

    name: str
    ref: Ref | None
    restarts: int
    alive: bool


class _TryAgain(Struct, frozen=True):
    """Note to self: a child could not be started."""

    name: str
    error: BaseException


class Supervisor(Actor):
    """Keeps its children running. All are permanent: one that ends by itself, even normally, is restarted.

    Everything but the reading of `directory` happens on the supervisor's own thread. It waits for nobody but
    its children, and for each of them a bounded time.
    """

    def __init__(
        self,
        name: str,
        specs: Sequence[ChildSpec],
        *,
        strategy: Strategy = rest_for_one,
        intensity: Intensity = _THREE_IN_FIVE_SECONDS,
        clock: Clock = time.monotonic,
        directory: Directory | None = None,
        parent: Ref | None = None,
    ) -> None:
        super().__init__(parent=parent, name=name)
        self.directory = Directory() if directory is None else directory
        self._specs = {spec.name: spec for spec in specs}
        if len(self._specs) != len(specs):
            raise ValueError("two children have the same name")
        self._strategy = strategy
        self._intensity = intensity
        self._clock = clock
        self._names = tuple(self._specs)
        self._starts: Counter[str] = Counter()
        # Older moments than these cannot matter.
        self._moments: deque[float] = deque(maxlen=intensity.limit)

    def init(self) -> None:
        """Start all children in order; if one fails, stop the others and fail."""
        try:
            for name in self._names:
                self._start_child(name)
        except BaseException:
            self._stop_children(tuple(reversed(self._names)))
            raise

    def handle(self, message: object) -> object:
        match message:
            case Exited():
                self._replace(message)
            case _TryAgain():
                self._retry(message)
            case WhichChildren():
                return tuple(self._describe(name) for name in self._names)
            case _:
                logger.warning("%s ignores %r", self.ref.name, message)
        return None

    def terminate(self, _reason: Reason) -> None:
        """Stop all children in reverse, whether asked to or because the limit was exceeded."""
        self._stop_children(tuple(reversed(self._names)))

    def _replace(self, news: Exited) -> None:
        for name in self._names:
            if self.directory.get(name) is news.ref:
                self.directory.withdraw(name)
                self._recover(name, _error_of(news.reason))
                return
        # Late news of a child that was stopped, abandoned, or never counted as started.

    def _retry(self, note: _TryAgain) -> None:
        # Another plan may have started it in the meantime.
        if self.directory.get(note.name) is None:
            self._recover(note.name, note.error)

    def _recover(self, failed: str, error: BaseException) -> None:
        now = self._clock()
        self.directory.record(Restart(now, failed, _text(error)))
        if not self._intensity.allows(now, self._moments):
            raise RestartLimit(failed, self._intensity, error) from error
        self._moments.append(now)
        logger.warning("%s restarts %s after %s", self.ref.name, failed, _text(error))
        plan = self._strategy(self._names, failed)
        self._stop_children(plan.stop)
        self._start_again(plan.start)

    def _start_again(self, names: Sequence[str]) -> None:
        for name in names:
            try:
                self._start_child(name)
            except Exception as error:
                logger.warning("%s could not start %s", self.ref.name, name, exc_info=True)
                # OTP: not in a loop here but by a message, so that a stop can overtake.
                self.ref.tell(_TryAgain(name, error.error if isinstance(error, StartFailure) else error))
                return

    def _start_child(self, name: str) -> None:
        ref = self._specs[name].start(self.ref, self.directory)
        self._starts[name] += 1
        self.directory.publish(name, ref)

    def _stop_children(self, names: Sequence[str]) -> None:
        for name in names:
            ref = self.directory.get(name)
            if ref is not None:
                # Nobody shall find it any more while it goes down.
                self.directory.withdraw(name)
                self._stop_child(self._specs[name], ref)

    def _stop_child(self, spec: ChildSpec, ref: Ref) -> None:
        ref.stop()
        if not ref.join(Deadline.after(spec.stop_timeout)):
            # A thread cannot be killed. It is a daemon; whatever it says later is stale.
            self.directory.abandoned += 1
            logger.warning("%s did not stop in %g s and is abandoned", ref.name, spec.stop_timeout)

    def _describe(self, name: str) -> ChildInfo:
        ref = self.directory.get(name)
        return ChildInfo(name, ref, max(0, self._starts[name] - 1), ref is not None and ref.is_alive)


def _error_of(reason: Reason) -> BaseException:
    return reason.error if isinstance(reason, Crashed) else EndedUnasked("ended, though not asked to")


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
