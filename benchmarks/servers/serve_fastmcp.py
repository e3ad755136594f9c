"""An echo tool of FastMCP over stdio."""

from __future__ import annotations

from fastmcp import FastMCP

server: FastMCP[None] = FastMCP("bench")


@server.tool()
def echo(text: str) -> str:
    """Say it again."""
    return text


if __name__ == "__main__":
    server.run(show_banner=False)
