"""The memory transport: two connected ends in one process, with the bounds and the ends of a real wire."""

from __future__ import annotations

from typing import Final, Protocol

from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.transports.channel import Channel
from mcp_actors.transports.contract import (
    HIGH_WATER_BYTES,
    MAX_FRAME_BYTES,
    SendVerdict,
    WireEnded,
    WireStats,
)

_CLOSED: Final = Ending(EndKind.CLOSED, "the connection was closed")


class MemoryWire:
    """One end of a pair, as a wire."""

    def __init__(self, incoming: Channel, outgoing: Channel) -> None:
        self._incoming = incoming
        self._outgoing = outgoing

    def wait(self) -> None:
        self._incoming.wait(None)

    def read(self, limit: int | None) -> list[bytes]:
        return self._incoming.take(limit)

    def send(self, frame: bytes, token: int | None) -> SendVerdict:
        del token  # a frame is handed over whole or not at all
        return self._outgoing.put(frame)

    def flush(self, deadline: Deadline) -> bool:
        del deadline
        return True

    def close(self, deadline: Deadline) -> Ending:
        del deadline
        self._outgoing.end(Ending(EndKind.EOF, "the peer closed the connection"), drop=False)
        return self._incoming.end(_CLOSED, drop=True)

    def stats(self) -> WireStats:
        return WireStats(
            bytes_in=self._incoming.bytes_taken,
            bytes_out=self._outgoing.bytes_put,
            frames_in=self._incoming.frames_taken,
            frames_out=self._outgoing.frames_put,
            backlog_bytes=self._outgoing.waiting_bytes,
            greatest_backlog_bytes=self._outgoing.greatest_waiting_bytes,
            read_buffer_bytes=self._incoming.waiting_bytes,
        )

    def forget(self) -> None:
        """Nothing to close."""


class MemoryEnd:
    """The peer's end, for a thread that may block. ``wire`` is the same end without blocking calls."""

    def __init__(self, incoming: Channel, outgoing: Channel) -> None:
        self.wire = MemoryWire(incoming, outgoing)
        self._incoming = incoming
        self._outgoing = outgoing

    def read(self, deadline: Deadline) -> bytes | None:
        """The next frame; None when the other end closed, or at the deadline."""
        try:
            return self._incoming.take(1)[0] if self._incoming.wait(deadline) else None
        except WireEnded:
            return None

    def write(self, frame: bytes, deadline: Deadline) -> bool:
        """Hand a frame over, waiting for room as a pipe would; False when it was not taken."""
        while (verdict := self._outgoing.put(frame)) is SendVerdict.BUSY:
            if not self._outgoing.await_room(len(frame), deadline):
                return False
        return verdict is SendVerdict.SENT

    def close(self, reason: str = "the server closed the connection") -> None:
        """End the wire; the other end is told ``reason`` after it has read what was written before."""
        self.fail(Ending(EndKind.EOF, reason))

    def fail(self, ending: Ending) -> None:
        """End the wire as a transport of another kind would have ended."""
        self._outgoing.end(ending, drop=False)
        self.wire.close(Deadline.after(0.0))


class MemoryHost(Protocol):
    """Whoever serves the other ends: a scripted peer, a server in this process."""

    def accept(self, end: MemoryEnd) -> None:
        """A client opened a wire. Must not block. May raise OpenFailed to refuse it."""


class MemoryTransport:
    """Connects to a host in this process."""

    def __init__(
        self,
        host: MemoryHost,
        *,
        max_frame_bytes: int = MAX_FRAME_BYTES,
        high_water: int = HIGH_WATER_BYTES,
        name: str = "memory",
    ) -> None:
        self._host = host
        self._max_frame_bytes = max_frame_bytes
        self._high_water = high_water
        self.label = name

    def open(self, deadline: Deadline) -> MemoryWire:
        """Give the host one end and return the other."""
        del deadline
        wire, end = memory_pair(max_frame_bytes=self._max_frame_bytes, high_water=self._high_water)
        self._host.accept(end)
        return wire


class GivenEnd:
    """A transport for the host's side: one end of a wire that a client opened."""

    def __init__(self, end: MemoryEnd) -> None:
        self._end = end
        self.label = "memory"

    def open(self, deadline: Deadline) -> MemoryWire:
        """The end that was given."""
        del deadline
        return self._end.wire


def memory_pair(
    *, max_frame_bytes: int = MAX_FRAME_BYTES, high_water: int = HIGH_WATER_BYTES
) -> tuple[MemoryWire, MemoryEnd]:
    """Two connected ends: a wire, and the peer's side of it."""
    to_peer = Channel(max_frame_bytes, high_water)
    from_peer = Channel(max_frame_bytes, high_water)
    return MemoryWire(from_peer, to_peer), MemoryEnd(to_peer, from_peer)
