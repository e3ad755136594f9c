"""What can happen to a session."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from mcp_actors.protocol import jsonrpc
from mcp_actors.protocol.codec import JsonObject
from mcp_actors.protocol.jsonrpc import Id
from mcp_actors.protocol.serving.keepsake import Keepsake
from mcp_actors.protocol.serving.news import News
from mcp_actors.protocol.serving.questions import Question


class Received(Struct, frozen=True):
    """The client sent a message. ``modern``: the wire itself says that it is of 2026-07-28 or later."""

    message: jsonrpc.Message
    modern: bool = False


class Resumed(Struct, frozen=True):
    """The client shook hands with another process; here its session goes on."""

    keepsake: Keepsake


class Concluded(Struct, frozen=True):
    """A job has its answer: an encoded result, or the error ``code`` with an encoded error object."""

    id: Id
    body: bytes
    code: int | None = None


class Said(Struct, frozen=True):
    """A job has news for its client: progress, or a log message."""

    id: Id
    method: str
    params: JsonObject


class Asked(Struct, frozen=True):
    """A job wants to know something from its client (up to 2025-11-25)."""

    question: Question


class QuestionExpired(Struct, frozen=True):
    """The client took too long over a question."""

    number: int


class Forgone(Struct, frozen=True):
    """Whoever asked a question does not wait for its answer any more."""

    caller: object


class Published(Struct, frozen=True):
    """Something about the server changed."""

    news: News


class Dismissed(Struct, frozen=True):
    """The wire says that nobody wants the answer to this request any more."""

    id: Id
    reason: str


class PhaseExpired(Struct, frozen=True):
    """The client let its time for the handshake pass."""


class Gone(Struct, frozen=True):
    """The client, or the wire to it, is gone."""

    reason: str


class StopAsked(Struct, frozen=True):
    """The server is being stopped: end what is under way in good order."""

    grace: float


class GraceOver(Struct, frozen=True):
    """What was under way took too long to end."""


Event: TypeAlias = (
    Received
    | Resumed
    | Concluded
    | Said
    | Asked
    | QuestionExpired
    | Forgone
    | Published
    | Dismissed
    | PhaseExpired
    | Gone
    | StopAsked
    | GraceOver
)
TimerEvent: TypeAlias = QuestionExpired | PhaseExpired | GraceOver
