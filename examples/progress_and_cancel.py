"""A long call: how far it is, and how to take it back."""

from __future__ import annotations

import threading

from mcp_actors import Client, Progress, errors
from mcp_actors.cli.demo_server import COMMAND


def show(progress: Progress) -> None:
    """Runs on the thread that waits for the call."""
    print(f"  {progress.progress:.0f} of {progress.total:.0f}")


def main() -> None:
    with Client.stdio(COMMAND) as client:
        print("a call with progress:")
        client.call_tool("slow_count", {"to": 3, "delay": 0.05}, on_progress=show)

        print("a call that takes too long:")
        try:
            client.call_tool("slow_count", {"to": 1000}, timeout=0.3)
        except errors.RequestTimeout as error:
            print(f"  {error.message}")

        print("a call that is taken back once it is under way:")
        under_way = threading.Event()
        future = client.submit_tool(
            "slow_count", {"to": 1000, "delay": 0.01}, on_progress=lambda _progress: under_way.set()
        )
        under_way.wait(5.0)
        print(f"  cancelled: {future.cancel()}")

        print(
            f"the connection is {client.state}, and 1 + 1 is {client.call_tool('add', {'a': 1, 'b': 1}).text}"
        )


if __name__ == "__main__":
    main()
