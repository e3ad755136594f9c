"""A server made with the official ``mcp`` package, which speaks 2026-07-28: tools, a resource, a prompt."""

from __future__ import annotations

import os

from mcp.server import MCPServer
from mcp.server.mcpserver import Context

server = MCPServer("official", instructions="ask politely")


@server.tool()
def add(a: int, b: int) -> int:
    """The sum of two numbers."""
    return a + b


@server.tool()
def pid() -> int:
    """The number of this process."""
    return os.getpid()


@server.tool()
def die(code: int) -> str:
    """End this process in the middle of the call."""
    os._exit(code)


@server.tool()
async def count(to: int, context: Context) -> str:
    """Report progress from one to ``to``."""
    for number in range(1, to + 1):
        await context.report_progress(number, to, f"step {number}")
    return "counted"


@server.tool()
def fail() -> str:
    """Raise an exception."""
    raise ValueError("this tool always fails")


@server.resource("toy://greeting")
def greeting() -> str:
    """A text."""
    return "hello ü"


@server.prompt()
def poem(about: str) -> str:
    """A request for a poem."""
    return f"Write a poem about {about}."


if __name__ == "__main__":
    server.run("stdio")
