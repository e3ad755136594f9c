"""A server dies under a call; its caller learns the truth, and goes on with the next server."""

from __future__ import annotations

from mcp_actors import Client, errors
from mcp_actors.cli.demo_server import COMMAND


def add(client: Client, a: int, b: int) -> str:
    """A call that may wait for a recovery, and may run twice, because adding does no harm."""
    return client.call_tool("add", {"a": a, "b": b}, wait=True, replay=True).text


def main() -> None:
    with Client.stdio(COMMAND, backoff_min=0.2) as client:
        client.list_tools()
        print(f"before: 1 + 2 = {add(client, 1, 2)}")
        try:
            client.call_tool("crash", {"last_words": "FATAL: database password rejected"})
        except errors.ConnectionLost as error:
            print(f"lost: {error.message}")
            print(f"outcome: {error.outcome}")
            if error.crash_report is not None:
                print(f"its last words: {error.crash_report.stderr_tail[-1]}")
        print(f"after: 3 + 4 = {add(client, 3, 4)}")
        print(f"reconnects: {client.stats().reconnects}")


if __name__ == "__main__":
    main()
