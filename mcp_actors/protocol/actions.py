"""What the client machine wants done: the shell carries these out and decides nothing."""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import Raw, Struct

from mcp_actors.protocol.agreement import Agreement
from mcp_actors.protocol.events import Timer
from mcp_actors.protocol.jsonrpc import Notification, Request
from mcp_actors.protocol.outcomes import CallOutcome, Cause, WaitOutcome
from mcp_actors.protocol.pending import Caller
from mcp_actors.protocol.states import State


class Open(Struct, frozen=True, gc=False):
    """Open a wire under this number."""

    wire: int


class CloseWire(Struct, frozen=True, gc=False):
    """End this wire, and whatever is at its other end if that is ours."""

    wire: int


class Permit(Struct, frozen=True, gc=False):
    """Let the wire deliver ``n`` more times."""

    n: int


class Send(Struct, frozen=True, gc=False):
    """Write a frame. With a token, a refusal comes back as ``SendRefused`` or ``SendFailed``; without one
    the frame is a courtesy that a busy wire may drop. The token of a request is its id."""

    frame: bytes
    token: int | None


class Underway(Struct, frozen=True, gc=False):
    """A caller's own thread sends this frame, since the moment ``began``: nothing is to be done."""

    frame: bytes
    token: int
    began: float


class SendTogether(Struct, frozen=True, gc=False):
    """Write several frames as one array. Each has its token, as in ``Send``."""

    frames: tuple[tuple[int, bytes], ...]


class Serve(Struct, frozen=True, gc=False):
    """Have a request of the server's answered; the answer is ``Served``."""

    request: Request


class Reply(Struct, frozen=True, gc=False):
    """Tell a caller how its wait ended."""

    caller: Caller
    outcome: CallOutcome | WaitOutcome


class Progress(Struct, frozen=True, gc=False):
    """Hand a caller the progress of its request."""

    caller: Caller
    params: dict[str, Any]


class Dispatch(Struct, frozen=True, gc=False):
    """Hand notifications to the handlers' lane, in this order."""

    notifications: tuple[Notification, ...]


class Scan(Struct, frozen=True, gc=False):
    """Scan a large frame off this thread; the answer is ``Scanned``."""

    wire: int
    place: int
    frame: bytes


class SetTimer(Struct, frozen=True, gc=False):
    """Bring this event back after ``seconds``; an earlier timer of the same event is replaced."""

    event: Timer
    seconds: float


class CancelTimer(Struct, frozen=True, gc=False):
    """Forget this timer, if it is set."""

    event: Timer


class BreakOff(Struct, frozen=True, gc=False):
    """Whatever holds requests back is not waited for any more: a person ended the wait, for everybody."""


class Agreed(Struct, frozen=True, gc=False):
    """The handshake succeeded; this is what both sides agreed on."""

    agreement: Agreement


class Relisted(Struct, frozen=True, gc=False):
    """After a recovery: a fresh page of a listing that callers had asked for before."""

    method: str
    result: Raw
    first: bool = True


class Missed(Struct, frozen=True, gc=False):
    """News may have been missed. ``lost`` are resources whose subscription could not be renewed."""

    reason: str
    lost: tuple[str, ...] = ()


class Transition(Struct, frozen=True, gc=False):
    """The state changed. ``delay`` is set in backoff: seconds until the next try, or None when parked."""

    before: State
    after: State
    cause: Cause | None
    delay: float | None = None


class Violation(Struct, frozen=True, gc=False):
    """The peer broke a rule; nothing else happens because of it."""

    kind: str
    detail: str


class Unmatched(Struct, frozen=True, gc=False):
    """An answer that nobody waits for. ``late``: somebody once did."""

    id: int | str | None
    late: bool


class Halt(Struct, frozen=True, gc=False):
    """Everything is settled: the actor may end."""


Action: TypeAlias = (
    Open
    | CloseWire
    | Permit
    | Send
    | SendTogether
    | Underway
    | Serve
    | Reply
    | Progress
    | Dispatch
    | Scan
    | SetTimer
    | CancelTimer
    | BreakOff
    | Agreed
    | Relisted
    | Missed
    | Transition
    | Violation
    | Unmatched
    | Halt
)
