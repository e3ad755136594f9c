"""What a connection publishes about itself. One thread writes, any thread reads."""

from __future__ import annotations

import time

from mcp_actors.client.departures import Departures
from mcp_actors.protocol.agreement import Agreement
from mcp_actors.protocol.backlog import Backlog
from mcp_actors.protocol.connection import ConnectionMachine
from mcp_actors.protocol.endings import Ending
from mcp_actors.protocol.outcomes import Cause
from mcp_actors.protocol.states import State
from mcp_actors.runtime.lane import Lane
from mcp_actors.telemetry.crash_report import FrameLog, Restart
from mcp_actors.transports.actor import Link

_RESTARTS_KEPT = 16


class Board:
    """Written by the Connection actor's thread alone; it outlives the actor: a restart loses no history."""

    def __init__(self) -> None:
        self.state = State.STARTING
        self.agreement: Agreement | None = None
        self.cause: Cause | None = None
        self.ever_ready = False
        self.parked = False
        self.attempts = 0
        self.retry_at: float | None = None
        self.opened_at: float | None = None
        self.ended_after: float | None = None
        self.last_ending: Ending | None = None
        self.losses: tuple[Restart, ...] = ()
        self.wires = 0
        self.times_ready = 0
        self.unknown_responses = 0
        self.late_responses = 0
        self.violations = 0
        self.unheard = 0
        self.frames = FrameLog()
        # Of the Connection actor of the moment; other threads read their counters and nothing else.
        self.link: Link | None = None
        # How callers send their requests themselves; None where they do not, or not now.
        self.departures: Departures | None = None
        self.machine: ConnectionMachine | None = None
        self.lane: Lane | None = None
        self.backlog: Backlog | None = None

    @property
    def retry_after(self) -> float | None:
        """Seconds until the next try, or None if none is planned."""
        # Read once: the Connection actor may change it at any moment.
        moment = self.retry_at
        return None if moment is None else max(0.0, moment - time.monotonic())

    @property
    def uptime(self) -> float | None:
        """Seconds the present wire has been open, or the last one was."""
        since = self.opened_at
        return self.ended_after if since is None else time.monotonic() - since

    def opened(self, link: Link | None) -> None:
        """A wire is open; None if it has ended again already."""
        self.link = link
        self.wires += 1
        self.opened_at = time.monotonic()
        self.frames = FrameLog()

    def ended(self, ending: Ending) -> None:
        """A wire ended, of whatever generation."""
        self.ended_after = self.uptime
        self.opened_at = None
        self.last_ending = ending

    def lost(self, reason: str) -> None:
        """A connection that was ready is not any more, or a start failed."""
        self.losses = (*self.losses[-_RESTARTS_KEPT + 1 :], Restart(time.time(), reason))
