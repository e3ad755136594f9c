"""The servers of a configuration file, as Claude, Cursor and VS Code write it: what each of them offers."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from mcp_actors import Client, errors, load_config
from mcp_actors.cli.demo_server import COMMAND

PYTHON, *ARGUMENTS = COMMAND
SERVERS = {
    "demo": {"command": PYTHON, "args": ARGUMENTS, "x-mcp-actors": {"request_timeout": 5}},
    "broken": {"command": PYTHON, "args": ["-c", "raise SystemExit('no database')"]},
    "secret": {"command": PYTHON, "env": {"TOKEN": "${MCP_ACTORS_EXAMPLE_TOKEN}"}},
    "resting": {"command": PYTHON, "disabled": True},
}


def describe(file: Path, name: str) -> str:
    try:
        with Client.from_config(file, name, max_failed_starts=1) as client:
            return f"speaks {client.protocol_version}, tools: {', '.join(tool.name for tool in client.tools)}"
    except errors.McpError as error:
        report = error.crash_report
        words = report.stderr_tail if report is not None else ()
        return f"failed: {error.message}; its last words: {' / '.join(words)}"
    except ValueError as error:
        # A mistake in the file. The message never shows a value of it.
        return f"cannot be opened: {str(error).removeprefix(f'{file}: ')}"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "mcp.json"
        file.write_text(json.dumps({"mcpServers": SERVERS}, indent=2))
        for name in load_config(file).names:
            print(f"{name} {describe(file, name)}")


if __name__ == "__main__":
    main()
