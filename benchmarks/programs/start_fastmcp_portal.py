"""The first result with FastMCP, from a thread outside of its event loop."""

from __future__ import annotations

import importlib
import sys
import time
from typing import Any

from anyio.from_thread import start_blocking_portal

# By name: type checks must not need a peer that only benchmarks use.
fastmcp: Any = importlib.import_module("fastmcp.client")


def main(server: list[str]) -> None:
    """Ask once."""
    client = fastmcp.Client(fastmcp.StdioTransport(server[0], server[1:], keep_alive=False))
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(client):
        assert portal.call(client.call_tool, "echo", {"text": "hello"}).content
        sys.stdout.write(repr(time.monotonic()))


main(sys.argv[1:])
