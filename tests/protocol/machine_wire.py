"""One wire of the toy world, and the server at its other end: what each asked, and what became of that."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any

from mcp_actors.protocol import actions as A
from mcp_actors.protocol import codec, jsonrpc
from mcp_actors.protocol.listening import ACKNOWLEDGED
from mcp_actors.protocol.types.subscriptions import SUBSCRIPTION_ID

CANCELLED = "notifications/cancelled"


@dataclass
class Speech:
    """One frame of the toy server, and what the machine owes the world for it.

    ``retracts``: it takes back a request of the server's own, though the id may be one of ours, too.
    """

    frame: bytes
    news: tuple[int, ...] = ()
    introduces: bool = False
    retracts: bool = False


@dataclass
class Stream:
    """A ``subscriptions/listen`` that was asked for. ``own``: no caller waits for it."""

    id: int
    uris: frozenset[str]
    own: bool
    begun: bool = False
    over: bool = False


@dataclass
class Duty:
    """A request of the server's that was handed on; ``serial`` tells its answer from all others."""

    wire: int
    id: int | str
    serial: int
    state: str = "open"
    written: int = 0


@dataclass
class ToyWire:
    """One wire as a transport sees it, and as its server does."""

    number: int
    opened: bool = False
    broken: bool = False
    told_to_close: bool = False
    ended: bool = False
    unsent: frozenset[int] = frozenset()
    permits: int = 0
    question: tuple[int, str] | None = None
    scans: list[A.Scan] = field(default_factory=list)
    line: deque[Speech] = field(default_factory=deque)
    # What we asked of the server, and what it asked of us.
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    streams: dict[int, Stream] = field(default_factory=dict)
    pings: set[int] = field(default_factory=set)
    duties: list[Duty] = field(default_factory=list)
    # The server's requests that we must know of, by id; whether it has taken them back.
    demands: dict[int, bool] = field(default_factory=dict)
    # How often each of our ids was taken back by us, was answered, and was answered to nobody.
    taken_back: Counter[int] = field(default_factory=Counter)
    answered: Counter[object] = field(default_factory=Counter)
    unmatched: Counter[object] = field(default_factory=Counter)
    # How often the server asked under an id, and how often we answered it.
    requests: Counter[object] = field(default_factory=Counter)
    replies: Counter[object] = field(default_factory=Counter)
    # Our calls that the server meant to cancel.
    withdrawn: set[int] = field(default_factory=set)

    @property
    def live(self) -> bool:
        """It can deliver and be written."""
        return self.opened and not (self.broken or self.told_to_close or self.ended)

    @property
    def streaming(self) -> dict[int, Stream]:
        """The streams that the server serves, or may yet."""
        return {
            id_: stream
            for id_, stream in self.streams.items()
            if not stream.over and not self.taken_back[id_]
        }

    def speak(self, frame: bytes) -> None:
        """The server says something."""
        for message in _singles(frame):
            if isinstance(message, jsonrpc.Answer | jsonrpc.Failure):
                self.answered[message.id] += 1
            elif isinstance(message, jsonrpc.Request):
                self.requests[message.id] += 1

    def understood(self, speech: Speech) -> None:
        """The machine has heard it: what has changed for the streams and the server's requests."""
        match jsonrpc.scan(speech.frame):
            case jsonrpc.Answer(id_, _) | jsonrpc.Failure(id_, _):
                self._end(id_)
            case jsonrpc.Malformed(_, id_):
                self._end(id_, callers_only=True)
            case jsonrpc.Notification(method, params, _) if params is not None:
                value: Any = codec.decode(params)
                if method == ACKNOWLEDGED:
                    self._begin(value)
                elif method == CANCELLED and speech.retracts:
                    self._retract(value["requestId"])
                elif method == CANCELLED:
                    self._end(value["requestId"])

    def _end(self, id_: object, *, callers_only: bool = False) -> None:
        stream = self.streaming.get(id_) if type(id_) is int else None
        if stream is not None and not (callers_only and (stream.own or stream.begun)):
            stream.over = True

    def _begin(self, params: dict[str, Any]) -> None:
        stream = self.streaming.get(params["_meta"][SUBSCRIPTION_ID])
        if stream is not None and not stream.begun:
            stream.begun = True
            if "notifications" in params:
                stream.uris &= frozenset(params["notifications"].get("resourceSubscriptions", ()))

    def _retract(self, id_: object) -> None:
        for duty in self.duties:
            if duty.id == id_ and duty.state == "open":
                duty.state = "taken back"


def _singles(frame: bytes) -> tuple[jsonrpc.Single, ...]:
    message = jsonrpc.scan(frame)
    return message.messages if isinstance(message, jsonrpc.Batch) else (message,)
