"""Callers who wait until the connection is ready, each with a deadline."""

from __future__ import annotations

from collections.abc import Iterator

from mcp_actors.protocol.actions import Action, CancelTimer, Reply, SetTimer
from mcp_actors.protocol.endings import Ending
from mcp_actors.protocol.events import Awaited, WaitExpired
from mcp_actors.protocol.outcomes import TimedOut, WaitOutcome, Withdrawn
from mcp_actors.protocol.pending import Caller


class Waiters:
    """Every waiter leaves exactly once: dismissed, expired or withdrawn."""

    def __init__(self, out: list[Action]) -> None:
        self._out = out
        self._seconds: dict[Caller, float] = {}

    def __len__(self) -> int:
        return len(self._seconds)

    def __iter__(self) -> Iterator[Caller]:
        return iter(self._seconds)

    def add(self, event: Awaited) -> None:
        """Somebody new waits."""
        self._seconds[event.caller] = event.seconds
        self._out.append(SetTimer(WaitExpired(event.caller, event.seconds), event.seconds))

    def expire(self, event: WaitExpired, hindrance: Ending | None) -> None:
        """A deadline passed; ``hindrance`` is what held everybody up."""
        if self._seconds.pop(event.caller, None) is not None:
            self._out.append(Reply(event.caller, TimedOut(event.seconds, hindrance)))

    def withdraw(self, caller: Caller, reason: str) -> None:
        """A waiter gave up."""
        if caller in self._seconds:
            self._leave(caller, Withdrawn("caller", reason))

    def dismiss(self, outcome: WaitOutcome) -> None:
        """Tell everybody the same."""
        for caller in list(self._seconds):
            self._leave(caller, outcome)

    def _leave(self, caller: Caller, outcome: WaitOutcome) -> None:
        self._out.append(CancelTimer(WaitExpired(caller, self._seconds.pop(caller))))
        self._out.append(Reply(caller, outcome))
