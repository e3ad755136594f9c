"""The open ``subscriptions/listen`` request of a connection (2026-07-28): one stream for all that is wanted.

Whoever wants more, or less, opens a new stream; the old one is taken back when the new one is acknowledged,
so that no news falls between them.
"""

from __future__ import annotations

from typing import Final, TypeGuard

from mcp_actors.protocol.codec import JsonObject
from mcp_actors.protocol.standing import SUBSCRIBE, Interests, Standing

LISTEN: Final = "subscriptions/listen"
ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"


class Listening:
    """The streams of one wire, named by the ids of their requests."""

    def __init__(self, standing: Standing) -> None:
        self._standing = standing
        # What callers want changed of what is standing, in the order of asking: method and resource.
        self._changes: dict[int, tuple[str, str]] = {}
        # Asked for and not acknowledged yet, in the order of asking.
        self._proposed: dict[int, Interests] = {}
        self._open: int | None = None
        self._opened = Interests()
        # Granted before, and not any more.
        self.lost: list[str] = []

    def begin(self) -> None:
        """A new wire: nothing is open, and what was granted before is wanted again."""
        self._changes.clear()
        self._proposed.clear()
        self._open, self._opened = None, Interests()

    @property
    def newest(self) -> Interests:
        """What was asked for last."""
        return next(reversed(self._proposed.values())) if self._proposed else self._opened

    @property
    def settled(self) -> bool:
        """Whether every stream that was asked for was taken up or given up."""
        return not self._proposed

    @property
    def streams(self) -> list[int]:
        """Every stream that the server may be serving."""
        return [*self._proposed, *(() if self._open is None else (self._open,))]

    def wanted(self, capabilities: JsonObject) -> Interests:
        """What a new stream would have to be about."""
        uris = dict(self._standing.uris)
        for method, uri in self._changes.values():
            if method == SUBSCRIBE:
                uris[uri] = None
            else:
                uris.pop(uri, None)
        return self._standing.interests(capabilities, uris)

    def change(self, id_: int, method: str, uri: str) -> None:
        """Somebody wants to hear of a resource, or no longer."""
        self._changes[id_] = (method, uri)

    def settle(self, id_: int) -> None:
        """A change is standing now, or came to nothing."""
        self._changes.pop(id_, None)
        self._proposed.pop(id_, None)

    def proposes(self, id_: object) -> TypeGuard[int]:
        """Whether this stream still waits to be acknowledged."""
        return type(id_) is int and id_ in self._proposed

    def propose(self, id_: int, interests: Interests) -> None:
        """A stream was asked for."""
        self._proposed[id_] = interests

    def refuse(self, id_: int) -> None:
        """The server did not take up a proposed stream."""
        self._lose(self._proposed.pop(id_))

    def acknowledge(self, id_: int, granted: frozenset[str] | None = None) -> list[int]:
        """The server took up a proposed stream, about some resources or all; the older ones, now replaced."""
        older = [other for other in self.streams if other < id_]
        asked = self._proposed[id_]
        self._opened = asked if granted is None else asked.about(granted)
        self._proposed = {other: wider for other, wider in self._proposed.items() if other > id_}
        self._open = id_
        self._lose(asked)
        return older

    def end(self, id_: object) -> bool:
        """The server ended a stream; True if it was the open one."""
        if type(id_) is not int or id_ != self._open:
            return False
        self._open, self._opened = None, Interests()
        return True

    def close(self) -> list[int]:
        """Nothing is wanted any more; the streams to take back."""
        streams = self.streams
        self._proposed.clear()
        self._open, self._opened = None, Interests()
        return streams

    def _lose(self, asked: Interests) -> None:
        """Whatever was granted before and is no stream's business now does not stand any more."""
        covered = {uri for stream in (self._opened, *self._proposed.values()) for uri in stream.uris}
        for uri in asked.uris:
            if uri in self._standing.uris and uri not in covered:
                del self._standing.uris[uri]
                self.lost.append(uri)
