"""Signs of life: when an idle connection is asked for one, and when it counts as dead."""

from __future__ import annotations

from enum import Enum

from mcp_actors.protocol.endings import Ending, EndKind


class Beat(Enum):
    """What to do when it is time to look."""

    REST = "rest"
    ASK = "ask"
    DEAD = "dead"


class Pulse:
    """Judges only an idle connection: whoever is at work for a caller may be silent."""

    def __init__(self, most_misses: int) -> None:
        self._most = most_misses
        self._asked = 0
        self.heard = False

    def restart(self) -> None:
        """A new wire."""
        self._asked = 0
        self.heard = False

    def beat(self, *, busy: bool) -> Beat:
        """Time to look. Anything that came since the last look is a sign of life."""
        if self.heard or busy:
            self.restart()
            return Beat.REST
        if self._asked >= self._most:
            return Beat.DEAD
        self._asked += 1
        return Beat.ASK


def silence(misses: int, seconds: float) -> Ending:
    """The end of a wire whose server missed so many pings, one every so many seconds."""
    return Ending(EndKind.BROKEN, f"the server did not answer {misses} pings in {misses * seconds:g} s")
