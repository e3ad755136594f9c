"""What can happen to a client connection: the columns of the machine's table.

Timers are events too: the machine asks for ``SetTimer(event, seconds)``, and the event itself comes back.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from msgspec import Struct

from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.protocol.jsonrpc import Message
from mcp_actors.protocol.outcomes import BadAnswer, Lost
from mcp_actors.protocol.pending import Caller

# News from the wire. `wire` is its number: what an earlier wire still says does nothing.


class Opened(Struct, frozen=True, gc=False):
    """The wire can be written."""

    wire: int


class FramesArrived(Struct, frozen=True, gc=False):
    """One delivery: the complete frames of one bounded read, or one larger frame. It used up one permit."""

    wire: int
    frames: tuple[bytes, ...]


class Scanned(Struct, frozen=True, gc=False):
    """A large frame was scanned off the connection's thread."""

    wire: int
    place: int
    message: Message


class Closed(Struct, frozen=True, gc=False):
    """The wire ended, or could not be opened."""

    wire: int
    ending: Ending


class SendRefused(Struct, frozen=True, gc=False):
    """The wire was too busy to take this frame; nothing of it was written."""

    token: int
    frame: bytes


class SendFailed(Struct, frozen=True, gc=False):
    """The wire was already gone; nothing of this frame was written."""

    token: int
    ending: Ending


class ExchangeLost(Struct, frozen=True, gc=False):
    """One request came to nothing, on a wire that goes on: each has its own exchange there (HTTP)."""

    wire: int
    id: int | str
    ending: Ending
    outcome: Literal["unknown", "not_sent"]

    @property
    def verdict(self) -> Lost | BadAnswer:
        """What that is to the caller: nothing was lost where the server answered with something else."""
        if self.ending.kind is EndKind.BREACH:
            return BadAnswer(self.ending.reason)
        return Lost(self.ending, self.outcome)


class ExchangeHeld(Struct, frozen=True, gc=False):
    """One request is held back on its way, by a login for instance; without a ``hindrance`` it goes on."""

    wire: int
    id: int | str
    hindrance: Ending | None


class AnswerFetched(Struct, frozen=True, gc=False):
    """A caller's own thread ran the exchange and brings the answer. No permit was used for it: there is one
    for each caller who waits, and no more."""

    wire: int
    frame: bytes
    message: Message


class NewsMissed(Struct, frozen=True, gc=False):
    """What the server said unasked may have been missed, on a wire that goes on."""

    wire: int
    reason: str


# News from the callers and from the lane of notification handlers.


class Begun(Struct, frozen=True, gc=False):
    """Somebody wants the connection: open it, or try again if it was parked."""


class Called(Struct, frozen=True, gc=False):
    """A caller waits for the answer to a request. ``params`` and ``meta`` are encoded objects; ``session``:
    it is to name the session that it belongs to."""

    caller: Caller
    method: str
    params: bytes
    meta: bytes
    seconds: float
    progress: bool = False
    session: bool = False


class Departed(Struct, frozen=True, gc=False):
    """A caller's own thread sends a request over this wire, which has an exchange for each (HTTP): it may be
    on its way already. ``began`` is the moment, for whoever measures."""

    caller: Caller
    id: int
    wire: int
    method: str
    frame: bytes
    seconds: float
    began: float = 0.0


class CalledTogether(Struct, frozen=True, gc=False):
    """Several callers' requests that are to go out together."""

    calls: tuple[Called, ...]


class Awaited(Struct, frozen=True, gc=False):
    """A caller waits until the connection is ready."""

    caller: Caller
    seconds: float


#: The reason of somebody who was interrupted in the wait, by Ctrl-C for instance.
INTERRUPTED: Final = "interrupted"


class CancelAsked(Struct, frozen=True, gc=False):
    """A caller does not want its answer any more."""

    caller: Caller
    reason: str


class Notified(Struct, frozen=True, gc=False):
    """The client tells the server something."""

    method: str
    params: bytes | None


class NewsWanted(Struct, frozen=True, gc=False):
    """Somebody began or ceased to listen for news."""


class Served(Struct, frozen=True, gc=False):
    """A request of the server's was answered: the frame that says so."""

    wire: int
    id: int | str
    frame: bytes


class StopAsked(Struct, frozen=True, gc=False):
    """The client is being closed."""


class LaneFilled(Struct, frozen=True, gc=False):
    """The handlers' lane is full: stop reading for a while."""


class LaneEased(Struct, frozen=True, gc=False):
    """The handlers' lane is at most half full again."""


# Timers.


class StateExpired(Struct, frozen=True, gc=False):
    """The present state lasted as long as it may: the end of a handshake, a backoff or a drain."""


class ProbeExpired(Struct, frozen=True, gc=False):
    """The server did not answer the probe: it is of the handshake era."""


class RequestExpired(Struct, frozen=True, gc=False):
    """A caller's deadline passed."""

    id: int


class RetryDue(Struct, frozen=True, gc=False):
    """Time to offer a refused frame again."""

    id: int


class WaitExpired(Struct, frozen=True, gc=False):
    """A waiter's deadline passed."""

    caller: Caller
    seconds: float


class UptimeReached(Struct, frozen=True, gc=False):
    """The connection has been ready long enough to count as healthy."""


class SweepDue(Struct, frozen=True, gc=False):
    """Time to forget old tombstones."""


class PulseDue(Struct, frozen=True, gc=False):
    """Time to see whether an idle server still lives."""


class ListenDue(Struct, frozen=True, gc=False):
    """Time to open the stream of news again."""


class PauseOver(Struct, frozen=True, gc=False):
    """The reader has waited long enough for the handlers."""


Event: TypeAlias = (
    Opened
    | FramesArrived
    | Scanned
    | Closed
    | SendRefused
    | SendFailed
    | ExchangeLost
    | ExchangeHeld
    | AnswerFetched
    | NewsMissed
    | Begun
    | Called
    | Departed
    | CalledTogether
    | Awaited
    | CancelAsked
    | Notified
    | NewsWanted
    | Served
    | StopAsked
    | LaneFilled
    | LaneEased
    | StateExpired
    | ProbeExpired
    | RequestExpired
    | RetryDue
    | WaitExpired
    | UptimeReached
    | SweepDue
    | PauseOver
    | PulseDue
    | ListenDue
)

Timer: TypeAlias = (
    StateExpired
    | ProbeExpired
    | RequestExpired
    | RetryDue
    | WaitExpired
    | UptimeReached
    | SweepDue
    | PauseOver
    | PulseDue
    | ListenDue
)
