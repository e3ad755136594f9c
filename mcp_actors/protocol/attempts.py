"""How often a server was tried, and whether to try again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.protocol.outcomes import Cause, TimedOut
from mcp_actors.protocol.policy import Policy

#: Trying again by ourselves would not help; a person has to do something.
_HOPELESS: Final = frozenset({EndKind.IMPOSSIBLE, EndKind.UNAUTHORIZED})


class Attempts:
    """A server that was ready once is tried for ever; one that never was, a few times, and then parked.

    ``resting``: parked because a person broke the authorization off or, where the server was ready once, said
    no to it: the page that was just closed must not come back again and again. Only a caller begins it again.
    """

    def __init__(self, policy: Policy, random: Callable[[], float], *, ever_ready: bool) -> None:
        self._policy = policy
        self._random = random
        self._row = 0
        self.ever_ready = ever_ready
        self.failed_starts = 0
        self.parked = self.resting = False

    def failed(self, cause: Cause) -> None:
        """One more try that came to nothing, or a loss."""
        broken_off = isinstance(cause, Ending) and cause.kind is EndKind.INTERRUPTED
        self.resting = self.parked = broken_off or (self.ever_ready and _was_denied(cause))
        if self.ever_ready or self.resting or waits_for_person(cause) is not None:
            return
        self.failed_starts += 1
        hopeless = isinstance(cause, Ending) and cause.kind in _HOPELESS and not cause.passing
        self.parked = hopeless or self.failed_starts >= self._policy.max_failed_starts

    def next_delay(self) -> float:
        """Seconds until the next try: longer each time, until the connection has stayed up for a while."""
        delay = self._policy.backoff.delay(self._row, self._random)
        self._row += 1
        return delay

    def succeeded(self) -> None:
        """The connection is ready. That alone does not prove it healthy: the delays stay long."""
        self.ever_ready = True
        self.failed_starts = 0

    def prospered(self) -> None:
        """The connection stayed ready long enough."""
        self._row = 0

    def unpark(self) -> None:
        """Somebody asked to try again."""
        self.resting = False
        self.parked = False
        self.failed_starts = self._row = 0


def _was_denied(cause: Cause) -> bool:
    """Whether whoever was asked for an authorization said no."""
    # RFC 6749, section 4.1.2.1.
    return isinstance(cause, Ending) and cause.details.get("error") == "access_denied"


def waits_for_person(cause: Cause | None) -> Ending | None:
    """What a person has to do before it goes on, if that is the cause: then nobody has failed."""
    hindrance = cause.hindrance if isinstance(cause, TimedOut) else cause
    return hindrance if isinstance(hindrance, Ending) and hindrance.person else None
