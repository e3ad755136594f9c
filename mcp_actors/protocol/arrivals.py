"""Frames in the order they came, while the large ones are scanned elsewhere."""

from __future__ import annotations

from collections import deque

from mcp_actors.protocol.jsonrpc import Message


class Arrivals:
    """A queue whose places are filled in any order and emptied in theirs.

    Small frames that follow a large one wait behind it, so a notification never overtakes another.
    """

    def __init__(self) -> None:
        self._first = 0
        self._places: deque[Message | None] = deque()
        self._sizes: deque[int] = deque()
        self.scanning = 0
        self.held_bytes = 0

    def __len__(self) -> int:
        return len(self._places)

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
