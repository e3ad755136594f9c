"""The first steps: start a server, see what it offers, call it."""

from __future__ import annotations

from mcp_actors import Client
from mcp_actors.cli.demo_server import COMMAND


def main() -> None:
    with Client.stdio(COMMAND) as client:
        print(f"{client.server_info.name} speaks MCP {client.protocol_version}")
        for tool in client.list_tools():
            print(f"  {tool.name}: {tool.description}")
        result = client.call_tool("add", {"a": 2, "b": 40}, timeout=5.0)
        print(f"2 + 40 = {result.text}")


if __name__ == "__main__":
    main()
