"""The catalogue of telemetry events: what the library reports about itself, as frozen values.

Names and fields are a stable schema: fields may be added, none is renamed or removed within a major version.
"""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass, field, fields
from time import time as wall_clock
from typing import ClassVar, Final, Literal, TypeAlias

__all__ = [
    "EVENTS",
    "ChildRestarted",
    "ConnectionTransition",
    "Event",
    "NotificationReceived",
    "NotificationsDropped",
    "ProtocolViolation",
    "RequestEvent",
    "RequestFailed",
    "RequestStarted",
    "RequestStopped",
    "TransportIo",
    "UnknownResponse",
    "new_correlation_id",
]

RequestId: TypeAlias = int | str
Direction: TypeAlias = Literal["in", "out"]


@dataclass(frozen=True, slots=True)
class Event:
    """What every event has: ``client`` is the name of the client, ``time`` the wall clock at creation."""

    name: ClassVar[str] = "event"
    client: str
    time: float = field(default_factory=wall_clock, kw_only=True)

    def to_json(self) -> dict[str, object]:
        """The event as a flat JSON object; ``event`` holds its name."""
        values: dict[str, object] = {"event": self.name}
        values.update((item.name, getattr(self, item.name)) for item in fields(self))
        return values


@dataclass(frozen=True, slots=True)
class RequestEvent(Event):
    """What the three events of one request share; ``correlation_id`` ties them together."""

    name: ClassVar[str] = "request"
    method: str
    request_id: RequestId
    correlation_id: str


@dataclass(frozen=True, slots=True)
class RequestStarted(RequestEvent):
    """A request is about to be written."""

    name: ClassVar[str] = "request.started"


@dataclass(frozen=True, slots=True)
class RequestStopped(RequestEvent):
    """A request was answered with a result; ``duration`` is in seconds, monotonic, since the start."""

    name: ClassVar[str] = "request.stopped"
    duration: float


@dataclass(frozen=True, slots=True)
class RequestFailed(RequestEvent):
    """A request ended with an error; ``error_type`` is the ``.type`` of the error its caller got."""

    name: ClassVar[str] = "request.failed"
    duration: float
    error_type: str


@dataclass(frozen=True, slots=True)
class ConnectionTransition(Event):
    """The connection went from state ``before`` to ``after``; ``reason`` is one plain line or empty."""

    name: ClassVar[str] = "connection.transition"
    before: str
    after: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class NotificationReceived(Event):
    """The server sent a notification."""

    name: ClassVar[str] = "notification.received"
    method: str


@dataclass(frozen=True, slots=True)
class ProtocolViolation(Event):
    """The peer broke the rules; ``kind`` is a short constant, ``frame_bytes`` the size of its frame."""

    name: ClassVar[str] = "protocol.violation"
    kind: str
    detail: str = ""
    frame_bytes: int = 0


@dataclass(frozen=True, slots=True)
class UnknownResponse(Event):
    """An answer nobody waits for was dropped; ``late`` when its request had timed out or was cancelled."""

    name: ClassVar[str] = "response.unknown"
    request_id: RequestId | None
    late: bool = False


@dataclass(frozen=True, slots=True)
class TransportIo(Event):
    """Frames crossed the wire in one read or write; ``direction`` is ``in`` or ``out``."""

    name: ClassVar[str] = "transport.io"
    direction: Direction
    frames: int
    bytes: int


@dataclass(frozen=True, slots=True)
class ChildRestarted(Event):
    """A supervisor restarted an actor after a bug; ``error`` is the exception in one line."""

    name: ClassVar[str] = "child.restarted"
    child: str
    error: str


@dataclass(frozen=True, slots=True)
class NotificationsDropped(Event):
    """Handlers did not keep up: since the last such event ``dropped`` were lost and ``merged`` joined."""

    name: ClassVar[str] = "notification.dropped"
    dropped: int
    merged: int = 0


EVENTS: Final[tuple[type[Event], ...]] = (
    RequestStarted,
    RequestStopped,
    RequestFailed,
    ConnectionTransition,
    NotificationReceived,
    NotificationsDropped,
    ProtocolViolation,
    UnknownResponse,
    TransportIo,
    ChildRestarted,
)
"""Every event that is emitted, in the order of the documentation."""


_prefix = ""
_numbers = itertools.count(1)


def new_correlation_id() -> str:
    """An id unique over processes."""
    # A counter behind a random prefix: a uuid per call would cost microseconds on the hot path.
    return f"{_prefix}-{next(_numbers):x}"


def _renew_prefix() -> None:
    global _prefix
    _prefix = os.urandom(6).hex()


_renew_prefix()
# A forked child continues the parent's counter: only a new prefix keeps their ids apart.
os.register_at_fork(after_in_child=_renew_prefix)
