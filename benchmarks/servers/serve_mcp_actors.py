"""An echo tool of mcp_actors over stdio: ``python serve_mcp_actors.py``."""

from __future__ import annotations

from mcp_actors import Server

server = Server("bench")


@server.tool()
def echo(text: str) -> str:
    """Say it again."""
    return text


if __name__ == "__main__":
    server.run()
