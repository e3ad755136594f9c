"""TransportActor: drives any transport. It opens and closes wires, and delivers once per permit."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any, Final, Literal, Protocol, TypeAlias

from msgspec import Struct

from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.protocol.events import Closed, ExchangeHeld, ExchangeLost, FramesArrived, NewsMissed, Opened
from mcp_actors.protocol.jsonrpc import Id
from mcp_actors.runtime.actor import Actor, Reason, Ref
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.permits import Permits
from mcp_actors.runtime.scheduling import wake_patiently
from mcp_actors.transports.contract import (
    Lends,
    Loan,
    OpenFailed,
    SendVerdict,
    TellsGaps,
    TellsHindrances,
    TellsLosses,
    Transport,
    Wire,
    WireEnded,
    WireStats,
)

# How long one Flush may keep the actor: a Close that comes meanwhile waits no longer.
_FLUSH_SLICE: Final = 0.05
_JOIN_SECONDS: Final = 1.0

logger = logging.getLogger("mcp_actors.transports")


class Owner(Protocol):
    """Whoever a wire is opened for: a Ref, as a rule."""

    def tell(self, message: object) -> bool:
        """Take the news without blocking; False if nobody is there any more."""


class Open(Struct, frozen=True):
    """Open wire number ``wire`` for ``owner``; a wire that is still open is closed first.

    The owner hears ``Opened`` and later ``Closed`` once, or only ``Closed``.
    """

    wire: int
    owner: Owner
    window: int = 1
    frames_per_permit: int | None = None


class Flush(Struct, frozen=True):
    """``send`` answered QUEUED: write the rest."""

    wire: int


class Close(Struct, frozen=True):
    """End this wire. A number that is not the current one does nothing."""

    wire: int


class _FlushOn(Struct, frozen=True):
    """From itself: the pipe was full; go on, after what came meanwhile."""

    wire: int


class _Lost(Struct, frozen=True):
    """From the reader: the wire ended, and its owner knows."""

    wire: int


Message: TypeAlias = Open | Flush | Close | _FlushOn | _Lost


class Link(Struct, frozen=True):
    """What the owner of an open wire uses directly, on its own thread: no message, no waiting.

    After ``send`` answered QUEUED, the owner calls ``flush``: the transport actor writes the rest. ``lend``
    is there if the wire lends.
    """

    wire: int
    send: Callable[[bytes, int | None], SendVerdict]
    flush: Callable[[], None]
    permits: Permits
    stats: Callable[[], WireStats]
    lend: Callable[[bytes, int], Loan | None] | None = None


class Links:
    """Where the transport actor leaves the link of the current wire before it tells ``Opened``."""

    def __init__(self) -> None:
        self._current: Link | None = None

    def publish(self, link: Link | None) -> None:
        """The transport actor's thread only."""
        self._current = link

    def of(self, wire: int) -> Link | None:
        """The link of this wire; None if it is not the current one. Any thread."""
        link = self._current
        return link if link is not None and link.wire == wire else None


class _Line:
    """One open wire with its reader thread."""

    def __init__(self, wire: Wire, order: Open, actor: Ref, label: str) -> None:
        self.wire = wire
        self.number = order.wire
        self.permits = Permits(order.window)
        self.flush_asked = False
        self.flushing = False
        self._order = order
        self._actor = actor
        if isinstance(wire, TellsLosses):
            wire.on_lost = self._lose_one
        if isinstance(wire, TellsHindrances):
            wire.on_held = self._hold_one
        if isinstance(wire, TellsGaps):
            wire.on_gap = self._miss
        name = f"mcp-reader-{label}"
        self.reader = threading.Thread(target=self._read, name=name, daemon=True)

    def _lose_one(self, id_: Id, ending: Ending, outcome: Literal["unknown", "not_sent"]) -> None:
        """A request of a wire that goes on. Any thread."""
        self._order.owner.tell(ExchangeLost(self.number, id_, ending, outcome))

    def _hold_one(self, id_: Id, hindrance: Ending | None) -> None:
        """A request that waits for something before it goes out. Any thread."""
        self._order.owner.tell(ExchangeHeld(self.number, id_, hindrance))

    def _miss(self, reason: str) -> None:
        """Something that the server said unasked. Any thread."""
        self._order.owner.tell(NewsMissed(self.number, reason))

    def link(self) -> Link:
        wire = self.wire
        lend = wire.lend if isinstance(wire, Lends) else None
        return Link(self.number, wire.send, self._ask_flush, self.permits, wire.stats, lend)

    def _ask_flush(self) -> None:
        """Have the actor flush; once is enough until it begins. The owner's thread."""
        if not self.flush_asked:
            self.flush_asked = True
            self._actor.tell(Flush(self.number))

    def close(self, deadline: Deadline) -> None:
        self.permits.close()
        self.wire.close(deadline)
        if self.reader.ident is not None:
            self.reader.join(max(deadline.remaining(), _JOIN_SECONDS))

    def _read(self) -> None:
        """Deliver until the wire ends, then tell it once. Reader thread."""
        wake_patiently()
        ending = Ending(EndKind.CLOSED, "the connection was closed")
        try:
            while self._deliver():
                pass
        except WireEnded as ended:
            ending = ended.ending
        except Exception as error:  # a wire's bug ends that wire and nothing else
            logger.exception("the reader of wire %d failed", self.number)
            ending = Ending(EndKind.BROKEN, f"reading failed: {type(error).__name__}: {error}")
        self._order.owner.tell(Closed(self.number, ending))
        self._actor.tell(_Lost(self.number))

    def _deliver(self) -> bool:
        """One delivery for one permit; False when the gate was closed."""
        wire = self.wire
        # Waiting comes before taking: an end with nothing left to read needs no permit, and an answer mostly
        # finds its permit there already.
        wire.wait()
        if not self.permits.take():
            return False
        frames = wire.read(self._order.frames_per_permit)
        while not frames:
            wire.wait()
            frames = wire.read(self._order.frames_per_permit)
        self._order.owner.tell(FramesArrived(self.number, tuple(frames)))
        return True


class TransportActor(Actor):
    """Owns the wires of one connection, one at a time. Closing one may take its thread some seconds."""

    def __init__(
        self,
        transport: Transport,
        links: Links,
        *,
        open_timeout: float = 10.0,
        close_timeout: float = 7.0,
        parent: Ref | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(parent=parent, name=name or f"mcp-transport-{transport.label}")
        self._transport = transport
        self._links = links
        self._open_timeout = open_timeout
        self._close_timeout = close_timeout
        self._line: _Line | None = None

    def handle(self, message: Message) -> None:
        match message:
            case Open():
                self._open(message)
            case Flush(number):
                self._start_flushing(number)
            case _FlushOn(number):
                self._flush(number)
            case Close(number) | _Lost(number):
                if self._current(number):
                    self._close()

    def terminate(self, reason: Reason) -> None:
        del reason
        self._close()

    def undelivered(self, message: Any) -> None:
        """Any thread. Who asked for a wire hears that there is none."""
        if isinstance(message, Open):
            ending = Ending(EndKind.CLOSED, "the transport was stopped")
            message.owner.tell(Closed(message.wire, ending))

    def _open(self, order: Open) -> None:
        self._close()
        try:
            wire = self._transport.open(Deadline.after(self._open_timeout))
        except OpenFailed as failure:
            order.owner.tell(Closed(order.wire, failure.ending))
            return
        line = _Line(wire, order, self.ref, self._transport.label)
        self._line = line
        self._links.publish(line.link())
        order.owner.tell(Opened(order.wire))
        try:
            line.reader.start()
        except RuntimeError as error:
            self._close()
            order.owner.tell(Closed(order.wire, Ending(EndKind.REFUSED, f"cannot start a reader: {error}")))

    def _close(self) -> None:
        line, self._line = self._line, None
        self._links.publish(None)
        if line is not None:
            line.close(Deadline.after(self._close_timeout))

    def _current(self, number: int) -> _Line | None:
        return self._line if self._line is not None and self._line.number == number else None

    def _start_flushing(self, number: int) -> None:
        # A _FlushOn that is on its way will find this frame too: one is enough for any number of frames.
        line = self._current(number)
        if line is None:
            return
        # Before the flush: a frame that is queued from now on asks again.
        line.flush_asked = False
        if not line.flushing:
            self._flush(number)

    def _flush(self, number: int) -> None:
        line = self._current(number)
        if line is not None:
            line.flushing = not line.wire.flush(Deadline.after(_FLUSH_SLICE))
            if line.flushing:
                self.ref.tell(_FlushOn(number))
