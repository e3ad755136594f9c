"""Inside a notebook: a running event loop, a stderr without a descriptor, and the button that interrupts."""

from __future__ import annotations

import asyncio
import io
import logging
import signal
import sys

from mcp_actors import Client, Progress
from mcp_actors.cli.demo_server import COMMAND


class NotebookStderr(io.StringIO):
    """What a notebook kernel puts in place of stderr."""

    def fileno(self) -> int:
        raise io.UnsupportedOperation("fileno")


def interrupt(_progress: Progress) -> None:
    """Somebody presses the button (or Ctrl-C) while the call is under way."""
    signal.raise_signal(signal.SIGINT)


async def cell(client: Client) -> None:
    """A cell runs inside the kernel's event loop; a blocking call needs none."""
    print(f"2 + 3 = {client.call_tool('add', {'a': 2, 'b': 3}).text}")
    try:
        client.call_tool("slow_count", {"to": 1000, "delay": 0.01}, on_progress=interrupt)
    except KeyboardInterrupt:
        print(f"interrupted: the client is {client.state}")
    print(f"and goes on: 4 + 5 = {client.tools.add(4, 5).text}")
    print(client.tools)


def main() -> None:
    usual, sys.stderr = sys.stderr, NotebookStderr()
    kernel = asyncio.new_event_loop()
    try:
        # What the server writes to its stderr arrives in logging, and so in the notebook.
        logging.basicConfig(stream=sys.stdout, format="%(name)s: %(message)s")
        logging.getLogger("mcp_actors.stderr").setLevel(logging.DEBUG)
        with Client.stdio(COMMAND, name="demo") as client:
            kernel.run_until_complete(cell(client))
    finally:
        kernel.close()
        sys.stderr = usual


if __name__ == "__main__":
    main()
