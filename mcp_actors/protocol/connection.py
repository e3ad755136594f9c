"""The client machine: five states, every event, one table. Events in, actions out; no thread, no clock.

``handle`` looks the event up in ``TABLE`` and runs the cell it finds. The table is total: "nothing happens"
is written down as ``ignore``. An arrow that is not in ``EDGES`` is a bug.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from mcp_actors.protocol import events as E
from mcp_actors.protocol.actions import Action, CancelTimer, Transition
from mcp_actors.protocol.cells import Cells
from mcp_actors.protocol.pending import Caller
from mcp_actors.protocol.states import EDGES, State


class ConnectionMachine(Cells):
    """The life of one client connection. Not thread-safe: it belongs to the Connection actor's thread."""

    def handle(self, event: E.Event) -> list[Action]:
        """One event in, what to do about it out."""
        before = self.state
        after = self.state = TABLE[before][type(event)](self, event)
        out = self._out[:]
        self._out.clear()
        if after is not before:
            assert after in EDGES[before], (before, after)
            # A state's timer dies with the state, so this precedes whatever timer the new state set.
            out[:0] = (
                Transition(before, after, self.cause, self._delay if after is State.BACKOFF else None),
                CancelTimer(E.StateExpired()),
            )
        return out

    def callers(self) -> list[Caller]:
        """Everybody who still waits for an answer."""
        return [*self.waiters, *(flight.caller for flight in self.conversation.pending)]

    @property
    def unsaid(self) -> tuple[Action, ...]:
        """What a cell wanted done before it failed. Empty unless a bug ended `handle`."""
        return tuple(self._out)


Cell: TypeAlias = Callable[[ConnectionMachine, Any], State]
C = ConnectionMachine

# One row per event, one column per state. Absent from the table = impossible.
# fmt: off
_GRID: Final[tuple[tuple[type, Cell, Cell, Cell, Cell, Cell], ...]] = (
    # event           starting        initializing    ready           backoff         closing
    (E.Begun,         C.begin,        C.ignore,       C.ignore,       C.unpark,       C.ignore),
    (E.Opened,        C.greet,        C.greet,        C.ignore,       C.ignore,       C.ignore),
    (E.FramesArrived, C.ignore,       C.deliver,      C.deliver,      C.ignore,       C.ignore),
    (E.Scanned,       C.ignore,       C.scanned,      C.scanned,      C.ignore,       C.ignore),
    (E.Closed,        C.lose,         C.lose,         C.lose,         C.ignore,       C.finish),
    (E.SendRefused,   C.ignore,       C.refused,      C.refused,      C.ignore,       C.ignore),
    (E.SendFailed,    C.ignore,       C.ignore,       C.failed,       C.ignore,       C.ignore),
    (E.ExchangeLost,  C.ignore,       C.lose_one,     C.lose_one,     C.ignore,       C.ignore),
    (E.ExchangeHeld,  C.ignore,       C.hold,         C.hold,         C.ignore,       C.ignore),
    (E.AnswerFetched, C.ignore,       C.ignore,       C.settle,       C.ignore,       C.ignore),
    (E.NewsMissed,    C.ignore,       C.ignore,       C.miss,         C.ignore,       C.ignore),
    (E.Called,        C.refuse,       C.refuse,       C.call,         C.refuse,       C.dismiss),
    (E.Departed,      C.strand,       C.strand,       C.depart,       C.strand,       C.dismiss),
    (E.CalledTogether, C.refuse_all,  C.refuse_all,   C.call_together, C.refuse_all,  C.dismiss_all),
    (E.Awaited,       C.wait,         C.wait,         C.welcome,      C.wait,         C.dismiss),
    (E.CancelAsked,   C.cancel,       C.cancel,       C.cancel,       C.cancel,       C.ignore),
    (E.Notified,      C.ignore,       C.ignore,       C.notify,       C.ignore,       C.ignore),
    (E.NewsWanted,    C.ignore,       C.ignore,       C.listen,       C.ignore,       C.ignore),
    (E.Served,        C.ignore,       C.serve,        C.serve,        C.ignore,       C.ignore),
    (E.StopAsked,     C.close,        C.close,        C.close,        C.close,        C.ignore),
    (E.LaneFilled,    C.ignore,       C.pause,        C.pause,        C.ignore,       C.ignore),
    (E.LaneEased,     C.ease,         C.ease,         C.ease,         C.ease,         C.ignore),
    (E.PauseOver,     C.ignore,       C.ease,         C.ease,         C.ignore,       C.ignore),
    (E.StateExpired,  C.time_out,     C.time_out,     C.ignore,       C.open,         C.halt),
    (E.ProbeExpired,  C.ignore,       C.fall_back,    C.ignore,       C.ignore,       C.ignore),
    (E.RequestExpired, C.ignore,      C.ignore,       C.expire,       C.ignore,       C.ignore),
    (E.RetryDue,      C.ignore,       C.retry,        C.retry,        C.ignore,       C.ignore),
    (E.WaitExpired,   C.stop_waiting, C.stop_waiting, C.stop_waiting, C.stop_waiting, C.ignore),
    (E.UptimeReached, C.ignore,       C.ignore,       C.prosper,      C.ignore,       C.ignore),
    (E.PulseDue,      C.ignore,       C.ignore,       C.feel_pulse,   C.ignore,       C.ignore),
    (E.ListenDue,     C.ignore,       C.ignore,       C.listen,       C.ignore,       C.ignore),
    (E.SweepDue,      C.sweep,        C.sweep,        C.sweep,        C.sweep,        C.ignore),
)
# fmt: on

TABLE: Final[Mapping[State, Mapping[type, Cell]]] = {
    state: {row[0]: row[column] for row in _GRID} for column, state in enumerate(State, start=1)
}
