"""Frames in the order they came, while the large ones are scanned elsewhere."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from mcp_actors.protocol.actions import Action, Scan
from mcp_actors.protocol.events import FramesArrived
from mcp_actors.protocol.jsonrpc import Message, scan


class Arrivals:
    """A queue whose places are filled in any order and emptied in theirs.

    Small frames that follow a large one wait behind it, so a notification never overtakes another.
    """

    def __init__(self, scan_above: int = 128_000) -> None:
        self._scan_above = scan_above
        self._first = 0
        self._places: deque[Message | None] = deque()
        self._sizes: deque[int] = deque()
        self.scanning = 0
        self.held_bytes = 0

    def __len__(self) -> int:
        return len(self._places)

    def take_in(self, event: FramesArrived, out: list[Action]) -> Iterator[Message]:
        """The messages of a delivery that may be heard now; large frames are sent off to be scanned."""
        for frame in event.frames:
            size = len(frame)
            if size > self._scan_above:
                out.append(Scan(event.wire, self.reserve(size), frame))
                continue
            message = scan(frame)
            if self._places:
                self.append(message, size)
            else:
                yield message

    def reserve(self, size: int) -> int:
        """A place for a frame of ``size`` bytes that is being scanned elsewhere."""
        self.scanning += 1
        return self._append(None, size)

    def append(self, message: Message, size: int) -> None:
        """A message that must wait for the places before it."""
        self._append(message, size)

    def fill(self, place: int, message: Message) -> None:
        """The frame at ``place`` was scanned."""
        self.scanning -= 1
        self._places[place - self._first] = message

    def ready(self) -> Iterator[Message]:
        """Take out, in order, the messages that may be heard now."""
        while (message := self.pop()) is not None:
            yield message

    def pop(self) -> Message | None:
        """The next message in order, or None while its frame is still being scanned."""
        if not self._places or self._places[0] is None:
            return None
        self._first += 1
        self.held_bytes -= self._sizes.popleft()
        return self._places.popleft()

    def _append(self, message: Message | None, size: int) -> int:
        self._places.append(message)
        self._sizes.append(size)
        self.held_bytes += size
        return self._first + len(self._places) - 1
