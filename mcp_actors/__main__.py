"""python -m mcp_actors: the same as the command mcp-actors."""

from __future__ import annotations

from mcp_actors.cli.main import main

if __name__ == "__main__":
    main()
