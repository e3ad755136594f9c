"""The first result with the official SDK, from a thread outside of its event loop."""

from __future__ import annotations

import sys
import time

from anyio.from_thread import start_blocking_portal
from mcp import Client, StdioServerParameters


def main(server: list[str]) -> None:
    """Ask once."""
    client = Client(StdioServerParameters(command=server[0], args=server[1:]))
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(client):
        assert portal.call(client.call_tool, "echo", {"text": "hello"}).content
        sys.stdout.write(repr(time.monotonic()))


main(sys.argv[1:])
