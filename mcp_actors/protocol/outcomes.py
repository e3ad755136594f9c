"""How a caller's wait can end, as values: they compare and print; the face raises fresh errors from them."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Raw, Struct

from mcp_actors.protocol.endings import Ending


class Completed(Struct, frozen=True):
    """The server answered with a result, not decoded yet."""

    result: Raw


class Rejected(Struct, frozen=True):
    """The server answered with a JSON-RPC error, not decoded yet."""

    error: Raw


class BadAnswer(Struct, frozen=True):
    """The server answered with something that is no JSON-RPC response, or breaks its method's rules."""

    reason: str


class NotGranted(Struct, frozen=True):
    """The server took the subscriptions up, but not this one."""

    uri: str


class NoCommonVersion(Struct, frozen=True):
    """Client and server share no protocol revision."""

    ours: tuple[str, ...]
    theirs: tuple[str, ...]


class TimedOut(Struct, frozen=True):
    """The deadline passed first. ``hindrance`` is what held the request back, if it was not sent yet."""

    seconds: float
    hindrance: Ending | None = None


class Lost(Struct, frozen=True):
    """The wire ended under the call. ``not_sent``: the server cannot have seen it."""

    ending: Ending
    outcome: Literal["unknown", "not_sent"]


class NotReady(Struct, frozen=True):
    """The connection was in ``state`` and does not queue calls in secret."""

    state: str
    cause: Cause | None = None


class Parked(Struct, frozen=True):
    """The server failed before it was ever ready, too often or hopelessly; nobody is trying any more."""

    attempts: int
    cause: Cause | None = None


class Crowded(Struct, frozen=True):
    """The wire stayed busy through every attempt; nothing was sent."""

    attempts: int


class Withdrawn(Struct, frozen=True):
    """The call was cancelled."""

    by: Literal["caller", "server"]
    reason: str = ""


class Stopped(Struct, frozen=True):
    """The client was closed."""


class Ready(Struct, frozen=True):
    """The connection is ready: what a waiter hopes for."""


#: Why the connection is not ready.
Cause: TypeAlias = Ending | Rejected | BadAnswer | NoCommonVersion | TimedOut

CallOutcome: TypeAlias = (
    Completed
    | Rejected
    | BadAnswer
    | NotGranted
    | TimedOut
    | Lost
    | NotReady
    | Parked
    | Crowded
    | Withdrawn
    | Stopped
)
WaitOutcome: TypeAlias = Ready | TimedOut | Parked | Withdrawn | Stopped


def was_not_sent(outcome: CallOutcome | WaitOutcome) -> bool:
    """The server cannot have seen the call: whoever would rather wait may make it again."""
    return isinstance(outcome, NotReady) or (isinstance(outcome, Lost) and outcome.outcome == "not_sent")
