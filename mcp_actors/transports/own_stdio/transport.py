"""OwnStdioTransport: speaks with whoever started this process, over its stdin and stdout."""

from __future__ import annotations

from mcp_actors.protocol.framing import FramingName, make_framer
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.transports.contract import HIGH_WATER_BYTES, MAX_FRAME_BYTES
from mcp_actors.transports.own_stdio.takeover import take_over
from mcp_actors.transports.own_stdio.wire import Linger, OwnStdioWire


class OwnStdioTransport:
    """The standard descriptors of this process, or two others in their place, as a wire.

    They can be opened once in the life of a process: a client that closed them will not come back.
    """

    label = "stdio"

    def __init__(
        self,
        *,
        stdin: int = 0,
        stdout: int = 1,
        framing: FramingName = "line",
        max_frame_bytes: int = MAX_FRAME_BYTES,
        high_water: int = HIGH_WATER_BYTES,
        linger: Linger | None = None,
    ) -> None:
        """Nothing is touched yet."""
        self._stdin = stdin
        self._stdout = stdout
        self._framing: FramingName = framing
        self._max_frame_bytes = max_frame_bytes
        self._high_water = high_water
        self._linger = linger

    def open(self, deadline: Deadline) -> OwnStdioWire:
        """Take the descriptors over: from now on prints go to stderr, and nobody else can read stdin.

        Raises:
            OpenFailed: they are closed, or were opened before, or there is no descriptor left.
        """
        del deadline
        ends = take_over(self._stdin, self._stdout)
        framer = make_framer(self._framing, self._max_frame_bytes)
        return OwnStdioWire(ends, framer, high_water=self._high_water, linger=self._linger)
