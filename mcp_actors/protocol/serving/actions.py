"""What a session wants done. The shell carries it out and decides nothing."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from mcp_actors.protocol.codec import JsonObject
from mcp_actors.protocol.jsonrpc import Id
from mcp_actors.protocol.serving.events import TimerEvent
from mcp_actors.protocol.serving.questions import Verdict
from mcp_actors.protocol.serving.states import Phase
from mcp_actors.protocol.serving.terms import Job


class Send(Struct, frozen=True):
    """Send a frame. ``about`` is the client's request that it belongs to, None if it stands alone.

    ``final``: it is the last one about that request. A final frame that is empty ends the request without an
    answer: it was cancelled. ``code`` is that of an error answer. ``news`` may be left out if need be.
    """

    frame: bytes
    about: Id | None
    final: bool = False
    code: int | None = None
    news: bool = False


class Run(Struct, frozen=True):
    """Have the server's own code answer a request; ``Concluded`` is expected once."""

    job: Job


class CancelJob(Struct, frozen=True):
    """Tell a running job that nobody waits for it."""

    id: Id
    reason: str


class Resolve(Struct, frozen=True):
    """Answer whoever asked a question."""

    caller: object
    verdict: Verdict


class Heard(Struct, frozen=True):
    """The client told something that the server's own code may want to know."""

    method: str
    params: JsonObject


class SetTimer(Struct, frozen=True):
    """Have ``event`` come after ``seconds``, instead of an earlier timer of the same event."""

    event: TimerEvent
    seconds: float


class CancelTimer(Struct, frozen=True):
    """Forget the timer of this event."""

    event: TimerEvent


class Attend(Struct, frozen=True):
    """From now on this session wants to hear of changes (or, ``wanted=False``, does not any more)."""

    wanted: bool


class Violation(Struct, frozen=True):
    """The client broke a rule and nothing else happened."""

    kind: str
    detail: str


class Transition(Struct, frozen=True):
    """The session's state changed."""

    before: Phase
    after: Phase


class End(Struct, frozen=True):
    """Close the wire: this session is over."""

    reason: str


Action: TypeAlias = (
    Send | Run | CancelJob | Resolve | Heard | SetTimer | CancelTimer | Attend | Violation | Transition | End
)
