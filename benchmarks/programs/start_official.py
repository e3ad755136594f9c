"""The first result with the official SDK, inside its event loop."""

from __future__ import annotations

import asyncio
import sys
import time

from mcp import Client, StdioServerParameters


async def main(server: list[str]) -> None:
    """Ask once."""
    async with Client(StdioServerParameters(command=server[0], args=server[1:])) as client:
        assert (await client.call_tool("echo", {"text": "hello"})).content
        sys.stdout.write(repr(time.monotonic()))


asyncio.run(main(sys.argv[1:]))
