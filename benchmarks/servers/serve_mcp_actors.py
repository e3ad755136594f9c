"""An echo tool of mcp_actors over stdio: ``python serve_mcp_actors.py``."""

from __future__ import annotations

import time

from mcp_actors import Context, RequestCancelled, Server

server = Server("bench")


@server.tool()
def echo(text: str) -> str:
    """Say it again."""
    return text


ended: list[float] = []


@server.tool(structured_output=False)
def wait(context: Context) -> str:
    """Wait for a minute, or until nobody wants to know any more; note when that was."""
    try:
        context.sleep(60)
    except RequestCancelled:
        ended.append(time.monotonic())
        raise
    return "over"


@server.tool(structured_output=False)
def cancelled() -> str:
    """When a call of `wait` was last cancelled, by the clock that all processes share; 0 if none was."""
    return str(ended.pop()) if ended else "0"


if __name__ == "__main__":
    server.run()
