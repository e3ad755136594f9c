"""The first result with this library."""

from __future__ import annotations

import sys
import time

from mcp_actors import Client


def main(server: list[str]) -> None:
    """Ask once."""
    with Client.stdio(server) as client:
        assert client.call_tool("echo", {"text": "hello"}).text == "hello"
        sys.stdout.write(repr(time.monotonic()))


main(sys.argv[1:])
