"""The command mcp-actors: where it starts, and what it says when its libraries are missing."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Final

NEEDED: Final = ("typer", "rich")


def main() -> None:
    """Run the command line; exits."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        # The package itself needs neither: a client in a web worker should not pay for a terminal.
        sys.stderr.write(
            f"mcp-actors needs {' and '.join(missing)}, which the extra [cli] brings:\n"
            "    pip install 'mcp-actors[cli]'\n"
        )
        sys.exit(1)
    try:
        from mcp_actors.cli.app import app

        app()
    except KeyboardInterrupt:
        # Too early for any command to answer it, and nothing was started: 128 + SIGINT, as shells count.
        sys.exit(130)
