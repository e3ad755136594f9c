"""The server machine: five states, every event, one table. Events in, actions out; no thread, no clock.

``handle`` looks the event up in ``TABLE`` and runs the cell it finds. The table is total: "nothing happens"
is written down as ``ignore``. An arrow that is not in ``EDGES`` is a bug.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from mcp_actors.protocol.serving import events as E
from mcp_actors.protocol.serving.actions import Action, CancelTimer, Transition
from mcp_actors.protocol.serving.cells import SessionCells
from mcp_actors.protocol.serving.states import EDGES, Phase


class SessionMachine(SessionCells):
    """The conversation with one client. Not thread-safe: whoever holds the session's turn may use it."""

    def handle(self, event: E.Event) -> list[Action]:
        """One event in, what to do about it out."""
        before = self.phase
        after = self.phase = TABLE[before][type(event)](self, event)
        out = self._out[:]
        self._out.clear()
        if after is not before:
            assert after in EDGES[before], (before, after)
            out.append(Transition(before, after))
            if before is Phase.GREETED:
                # The timer of a state dies with it.
                out.append(CancelTimer(E.PhaseExpired()))
        return out


Cell: TypeAlias = Callable[[SessionMachine, Any], Phase]
S = SessionMachine

# One row per event, one column per state.
# fmt: off
_GRID: Final[tuple[tuple[type, Cell, Cell, Cell, Cell, Cell], ...]] = (
    # event             fresh       greeted     ready       closing     closed
    (E.Received,        S.hear,     S.hear,     S.hear,     S.hear,     S.ignore),
    (E.Resumed,         S.resume,   S.ignore,   S.ignore,   S.ignore,   S.ignore),
    (E.Concluded,       S.conclude, S.conclude, S.conclude, S.conclude, S.ignore),
    (E.Said,            S.say,      S.say,      S.say,      S.say,      S.ignore),
    (E.Asked,           S.ask,      S.ask,      S.ask,      S.ask,      S.leave_unasked),
    (E.QuestionExpired, S.expire,   S.expire,   S.expire,   S.expire,   S.ignore),
    (E.Forgone,         S.forgo,    S.forgo,    S.forgo,    S.forgo,    S.ignore),
    (E.Published,       S.publish,  S.publish,  S.publish,  S.ignore,   S.ignore),
    (E.Dismissed,       S.dismiss,  S.dismiss,  S.dismiss,  S.dismiss,  S.ignore),
    (E.PhaseExpired,    S.ignore,   S.lapse,    S.ignore,   S.ignore,   S.ignore),
    (E.Gone,            S.lose,     S.lose,     S.lose,     S.lose,     S.ignore),
    (E.StopAsked,       S.stop,     S.stop,     S.stop,     S.ignore,   S.ignore),
    (E.GraceOver,       S.ignore,   S.ignore,   S.ignore,   S.halt,     S.ignore),
)
# fmt: on

TABLE: Final[Mapping[Phase, Mapping[type, Cell]]] = {
    phase: {row[0]: row[column] for row in _GRID} for column, phase in enumerate(Phase, start=1)
}
