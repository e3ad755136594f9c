"""Frames of the connection's own that a busy wire refused: offered again until it takes them, or ends."""

from __future__ import annotations

from typing import Final

from mcp_actors.protocol.actions import Action, CancelTimer, Send, SetTimer
from mcp_actors.protocol.events import RetryDue

#: The token of all of them; ids of requests are above zero.
INSISTED: Final = -1
_EVERY: Final = 0.05


class Insistence:
    """No caller waits for these frames, so no deadline ends them; but the server waits for some of them."""

    def __init__(self, out: list[Action]) -> None:
        self._out = out
        self._refused: list[bytes] = []

    def __len__(self) -> int:
        return len(self._refused)

    def send(self, frame: bytes) -> None:
        """Offer a frame to the wire, after those that wait already."""
        if self._refused:
            self._refused.append(frame)
        else:
            self._out.append(Send(frame, INSISTED))

    def refused(self, frame: bytes) -> None:
        """The wire was busy: again a little later."""
        self._refused.append(frame)
        self._out.append(SetTimer(RetryDue(INSISTED), _EVERY))

    def retry(self) -> None:
        """Offer the refused frames again."""
        frames, self._refused = self._refused, []
        for frame in frames:
            self.send(frame)

    def forget(self) -> None:
        """The wire is gone."""
        if self._refused:
            self._refused = []
            self._out.append(CancelTimer(RetryDue(INSISTED)))
