"""Active-once: when the wire may deliver again."""

from __future__ import annotations

from mcp_actors.protocol.arrivals import Arrivals
from mcp_actors.protocol.policy import Policy


class Flow:
    """Counts the permits that are out and says how many more may go.

    Permits are withheld while the handlers' lane makes us pause, and while large frames are being scanned.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.outstanding = 0
        self.paused = False
        self.shedding = False
        self.arrivals = Arrivals(self._policy.scan_above)

    def restart(self) -> None:
        """The wire is gone or new: no permit is out, nothing is held. A full lane stays full."""
        self.outstanding = 0
        self.paused = False
        self.arrivals = Arrivals(self._policy.scan_above)

    def used(self) -> None:
        """A delivery used up one permit."""
        self.outstanding -= 1

    def grant(self) -> int:
        """How many permits to send now; they count as out."""
        arrivals, policy = self.arrivals, self._policy
        if (
            self.paused
            or arrivals.scanning >= policy.max_scanning
            or arrivals.held_bytes > policy.max_held_bytes
        ):
            return 0
        n = policy.window - self.outstanding
        self.outstanding = policy.window
        return n

    def pause(self) -> bool:
        """The lane is full: withhold permits. False if that was tried already and did not help."""
        if self.shedding or self.paused:
            return False
        self.paused = True
        return True

    def resume(self, *, shedding: bool) -> None:
        """Stop withholding; ``shedding`` because the lane stayed full, and drops its oldest from now on."""
        self.paused = False
        self.shedding = shedding
