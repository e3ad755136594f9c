"""A server that does what its client says: each frame is Python, and its value is the answer."""

from __future__ import annotations

import os
import subprocess
import sys

from mcp_actors.runtime.deadline import Deadline
from mcp_actors.transports.contract import WireEnded
from mcp_actors.transports.own_stdio.transport import OwnStdioTransport
from mcp_actors.transports.own_stdio.wire import OwnStdioWire

__all__ = ["os", "subprocess"]  # for what is evaluated


def serve(wire: OwnStdioWire) -> None:
    while True:
        wire.wait()
        for frame in wire.read(None):
            wire.send(repr(eval(frame.decode(), globals())).encode(), None)


def main() -> None:
    sys.stdout.write("printed before\n")
    wire = OwnStdioTransport().open(Deadline.after(5.0))
    try:
        serve(wire)
    except WireEnded as ended:
        sys.stderr.write(f"{ended.ending.reason}\n")
    finally:
        wire.close(Deadline.after(5.0))


if __name__ == "__main__":
    main()
