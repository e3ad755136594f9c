"""Inside a notebook: a running event loop and a stderr without a file descriptor disturb nothing."""

from __future__ import annotations

import asyncio
import io
import logging
import sys

from mcp_actors import Client
from mcp_actors.cli.demo_server import COMMAND


class NotebookStderr(io.StringIO):
    """What a notebook kernel puts in place of stderr."""

    def fileno(self) -> int:
        raise io.UnsupportedOperation("fileno")


async def cell(client: Client) -> None:
    """A cell runs inside the kernel's event loop; a blocking call needs none."""
    print(f"2 + 3 = {client.call_tool('add', {'a': 2, 'b': 3}).text}")
    client.call_tool("slow_count", {"to": 2, "delay": 0.01})


def main() -> None:
    usual, sys.stderr = sys.stderr, NotebookStderr()
    try:
        # What the server writes to its stderr arrives in logging, and so in the notebook.
        logging.basicConfig(stream=sys.stdout, format="%(name)s: %(message)s")
        logging.getLogger("mcp_actors.stderr").setLevel(logging.DEBUG)
        with Client.stdio(COMMAND, name="demo") as client:
            asyncio.run(cell(client))
    finally:
        sys.stderr = usual


if __name__ == "__main__":
    main()
