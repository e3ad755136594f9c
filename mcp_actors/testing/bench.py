"""Bench: a transport under test, its actor, the peer at its other end, and the news it told."""

from __future__ import annotations

import contextlib
from queue import Empty, SimpleQueue
from typing import Final, Protocol

from mcp_actors.protocol.events import Closed, FramesArrived, Opened
from mcp_actors.runtime.actor import start_actor
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.transports.actor import Close, Flush, Link, Links, Open, TransportActor
from mcp_actors.transports.contract import SendVerdict, Transport

BOUND: Final = 10.0  # for what must happen
_SILENCE: Final = 0.1  # for what must not happen


class Peer(Protocol):
    """The other end, played by the test. It follows the newest wire and reads only when told to."""

    def receive(self, timeout: float) -> bytes:
        """The next frame that the transport sent. Raises TimeoutError."""

    def send(self, frame: bytes) -> None:
        """Send a frame to the transport. May block while the transport does not read."""

    def close(self) -> None:
        """End the wire as the peer, after what was sent."""


class Bench:
    """A transport under test with its actor, its peer, and the news it told. Wires are numbered from 1."""

    def __init__(self, transport: Transport, peer: Peer, limit: int) -> None:
        self.peer = peer
        self.limit = limit
        self.wire = 0
        self._news: SimpleQueue[object] = SimpleQueue()
        self._links = Links()
        self._actor = start_actor(TransportActor, transport, self._links, deadline=Deadline.after(BOUND))

    def tell(self, message: object) -> bool:
        """Take news from the transport: the bench owns its wires."""
        self._news.put(message)
        return True

    def open(self, *, frames_per_permit: int | None = None) -> Link:
        """Open a wire and return its link."""
        self.wire += 1
        self._actor.tell(Open(self.wire, self, frames_per_permit=frames_per_permit))
        news = self.next()
        assert news == Opened(self.wire), f"expected Opened({self.wire}), got {news!r}"
        link = self._links.of(self.wire)
        assert link is not None, "Opened was told before the link was there"
        return link

    def next(self) -> object:
        """The next news, waited for."""
        try:
            return self._news.get(timeout=BOUND)
        except Empty:
            raise AssertionError(f"nothing was told within {BOUND} s") from None

    def frames(self) -> tuple[bytes, ...]:
        """The next news, which must be a delivery."""
        news = self.next()
        assert isinstance(news, FramesArrived), f"expected frames, got {news!r}"
        return news.frames

    def ending(self) -> Closed:
        """The next news, which must be the end of the current wire."""
        news = self.next()
        assert isinstance(news, Closed), f"expected Closed, got {news!r}"
        assert news.wire == self.wire, f"expected the end of wire {self.wire}, got {news!r}"
        return news

    def stay_silent(self) -> None:
        """Nothing may be told now."""
        with contextlib.suppress(Empty):
            raise AssertionError(f"told without being allowed to: {self._news.get(timeout=_SILENCE)!r}")

    def ask_to_close(self) -> None:
        """Have the current wire closed."""
        self._actor.tell(Close(self.wire))

    def ask_to_flush(self) -> None:
        """Have the backlog of the current wire written."""
        self._actor.tell(Flush(self.wire))

    def close(self) -> None:
        """Close the current wire and wait until its end is told."""
        self.ask_to_close()
        self.ending()

    def send(self, link: Link, frame: bytes) -> SendVerdict:
        """Send, and have the rest written."""
        verdict = link.send(frame, None)
        if verdict is SendVerdict.QUEUED:
            self.ask_to_flush()
        return verdict

    def stop(self) -> None:
        """Stop the transport's actor, which closes the wire."""
        self._actor.stop()
        assert self._actor.join(Deadline.after(BOUND)), "the transport actor did not stop"
