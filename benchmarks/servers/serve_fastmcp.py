"""An echo tool of FastMCP over stdio."""

from __future__ import annotations

import importlib
from typing import Any

# By name: it is there for benchmarks only, and a type checker need not know it.
server: Any = importlib.import_module("fastmcp").FastMCP("bench")


def echo(text: str) -> str:
    """Say it again."""
    return text


server.tool()(echo)

if __name__ == "__main__":
    server.run(show_banner=False)
