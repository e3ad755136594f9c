"""Line: a wire that lasts as long as its client does (stdin and stdout, memory), and the peer at its end."""

from __future__ import annotations

import logging
import math
from collections import deque
from typing import TYPE_CHECKING, Final

from mcp_actors.protocol import jsonrpc
from mcp_actors.protocol.events import Closed, FramesArrived, Opened
from mcp_actors.runtime.actor import start_actor
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.slot import Slot, SlotTimeout
from mcp_actors.server.outlet import Outgoing
from mcp_actors.server.peer import Peer
from mcp_actors.transports.actor import Close, Link, Links, Open, TransportActor
from mcp_actors.transports.contract import SendVerdict, Transport

if TYPE_CHECKING:
    from mcp_actors.server.host import Host

#: How soon to try again when the client does not read what was written for it.
_TRY_AGAIN: Final = 0.02
#: How many requests of one client may be under way before its wire is read no further.
_MOST_UNDER_WAY: Final = 512
_WIRE: Final = 1
_START_SECONDS: Final = 5.0
_STOP_SECONDS: Final = 3.0

logger: Final = logging.getLogger("mcp_actors.server")


class Line:
    """Owner of one wire, outlet of one peer. The wire's reader brings what arrives, but no more than it is
    permitted to: nothing while too much is under way, or while the client does not read its answers."""

    def __init__(self, host: Host, transport: Transport, *, name: str) -> None:
        self._host = host
        self._links = Links()
        self._link: Link | None = None
        # Answers that the wire did not take. Bounded by what is under way: meanwhile nothing more is read.
        self._unsent: deque[bytes] = deque()
        self._held = False
        self._ended: Slot[str] = Slot()
        self.dropped = 0
        self.name = name
        self.peer = Peer(host, self, name=name)
        self._transport = start_actor(
            TransportActor,
            transport,
            self._links,
            deadline=Deadline.after(_START_SECONDS),
            name=f"{name} wire",
        )
        host.keep(self)

    def open(self) -> None:
        """Begin to read."""
        self._transport.tell(Open(_WIRE, self))
        if self._host.closing:
            # It came while the others were told to end.
            self.peer.stop(0.0)

    # From the wire: its own thread.

    def tell(self, message: object) -> bool:
        """News of the wire."""
        match message:
            case Opened():
                self._link = self._links.of(_WIRE)
                self.peer.receive_all((), self._taken)
            case FramesArrived(_, frames):
                self.peer.receive_all(tuple(map(jsonrpc.scan, frames)), self._taken)
            case Closed(_, ending):
                self.peer.gone(ending.reason)
                self._finish(ending.reason)
        return True

    # From the peer: whoever has its turn, and nobody else, touches what is below.

    def send(self, outgoing: Outgoing) -> None:
        """Write a message, or keep an answer until it can be written."""
        frame = outgoing.frame
        if frame and (self._unsent or not self._write(frame)):
            # News can be left out; answers and questions cannot.
            if outgoing.news:
                self.dropped += 1
            else:
                self._unsent.append(frame)
                self._try_again()
        if self._held:
            self._permit()

    def end(self, reason: str) -> None:
        """Close the wire."""
        logger.debug("%s ends: %s", self.name, reason)
        self._transport.tell(Close(_WIRE))

    # Any thread.

    def stop(self, deadline: Deadline) -> None:
        """End in good order: answers that are under way are given until the deadline."""
        self.peer.stop(max(0.0, deadline.remaining() - 1.0))

    def join(self, deadline: Deadline) -> bool:
        """Wait for the end of the wire; then nothing of it is left. False at the deadline."""
        try:
            self._ended.wait(deadline)
        except SlotTimeout:
            self._transport.stop()
            return False
        self._transport.stop()
        return self._transport.join(deadline)

    def lose(self) -> None:
        """End now; what runs is answered with an error."""
        self.peer.stop(0.0)

    def end_when_idle(self, reason: str) -> None:
        """Close the wire as soon as what runs is answered."""
        self.peer.when_idle(lambda: self.end(reason))

    def wait(self) -> str:
        """Wait until the wire is over; why it is."""
        return self._ended.wait(Deadline.after(math.inf))

    # Inside.

    def _write(self, frame: bytes) -> bool:
        link = self._link
        verdict = SendVerdict.CLOSED if link is None else link.send(frame, None)
        if verdict is SendVerdict.QUEUED:
            assert link is not None
            link.flush()
        return verdict is not SendVerdict.BUSY

    def _try_again(self) -> None:
        self._host.wake(
            (id(self), "unsent"), _TRY_AGAIN, lambda: self.peer.receive_all((), self._write_the_rest)
        )

    def _write_the_rest(self) -> None:
        while self._unsent and self._write(self._unsent[0]):
            self._unsent.popleft()
        if self._unsent:
            self._try_again()
        elif self._held:
            self._permit()

    def _taken(self) -> None:
        """A delivery was taken in."""
        self._held = True
        self._permit()

    def _permit(self) -> None:
        """Let the reader bring the next delivery, unless there is enough to do."""
        link = self._link
        if link is None or self._unsent or self.peer.running >= _MOST_UNDER_WAY:
            return
        self._held = False
        link.permits.grant()

    def _finish(self, reason: str) -> None:
        self._host.release(self)
        self._ended.set(reason)
        self._transport.stop()
