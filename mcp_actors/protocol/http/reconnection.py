"""When to ask for the rest of a broken event stream, and from where; never sooner than its server wants."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from mcp_actors.protocol.http.event_stream import ServerEvent

# 2**64 times any floor is past any cap; a larger exponent would only overflow.
_LARGEST_EXPONENT = 64


class Pace(Struct, frozen=True):
    """How long to wait between two connections of one stream, in seconds."""

    usual: float = 1.0  # where the server has not said anything
    floor: float = 0.1  # where it has said zero
    cap: float = 30.0  # how far the delay grows by itself; a server may ask for more
    jitter: float = 0.2  # the fraction by which a delay may grow by chance; it never shrinks
    attempts: int | None = 5  # failed ones in a row, None: any number
    sustained: float = 5.0  # a connection that lasted so long was none that failed


class Reconnection:
    """The story of one stream over all its connections. Belongs to the thread that reads it."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._retry: float | None = None
        self._failures = 0  # connections in a row that did not work
        self._quiet = 0  # connections in a row that worked, but brought no message
        self._heard = False
        self.last_event_id = ""

    @property
    def resumable(self) -> bool:
        """Whether the stream can be continued where it broke off."""
        return bool(self.last_event_id)

    def heard(self, event: ServerEvent) -> None:
        """Take note of an event of the current connection."""
        self._heard = True
        if event.id is not None:
            self.last_event_id = event.id
        if event.retry is not None:
            self._retry = event.retry / 1000
        if event.data:
            self._quiet = 0

    def delay(self, lasted: float | None, random: Callable[[], float]) -> float | None:
        """The connection ended after ``lasted`` seconds (None: it did not open): the wait before the next.

        None when it is time to give up. ``random`` gives numbers in [0, 1).
        """
        pace = self._pace
        worked = self._heard or (lasted is not None and lasted >= pace.sustained)
        self._failures = 0 if worked else self._failures + 1
        self._heard = False
        if pace.attempts is not None and self._failures >= pace.attempts:
            return None
        # MCP 2025-11-25: the client must wait as long as the server says, so that only more is allowed.
        wanted = pace.usual if self._retry is None else self._retry
        base = max(wanted, min(pace.usual, _doubled(pace.floor, self._quiet)))
        self._quiet += worked
        most = max(pace.cap, base)
        grown = min(most, _doubled(base, self._failures))
        return min(most, grown * (1.0 + pace.jitter * random()))


def _doubled(seconds: float, times: int) -> float:
    return seconds * 2.0 ** min(times, _LARGEST_EXPONENT)
