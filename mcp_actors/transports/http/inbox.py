"""Inbox: what all exchanges of a wire have received, for its one reader."""

from __future__ import annotations

from typing import Final

from mcp_actors.protocol.endings import Ending
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.transports.channel import Channel
from mcp_actors.transports.contract import HIGH_WATER_BYTES, SendVerdict

_LOOK_AGAIN: Final = 1.0
#: Whoever reads a body keeps its limit; an error that gets the id it lacked is a little longer.
_ADDED_ID: Final = 4096


class InboxClosed(Exception):
    """Nobody will read what is received from now on."""


class Inbox(Channel):
    """Whoever fills it waits while too much is unread, and so do the sockets and the servers behind them."""

    def __init__(self, max_frame_bytes: int) -> None:
        super().__init__(max_frame_bytes + _ADDED_ID, HIGH_WATER_BYTES)

    def deliver(self, frame: bytes) -> None:
        """Hand a frame to the reader, as soon as there is room. Raises InboxClosed."""
        while (verdict := self.put(frame)) is SendVerdict.BUSY:
            self.await_room(len(frame), Deadline.after(_LOOK_AGAIN))
        if verdict is SendVerdict.CLOSED:
            raise InboxClosed

    def finish(self, ending: Ending) -> None:
        """The wire is over; what was received before is still read."""
        self.end(ending, drop=False)
