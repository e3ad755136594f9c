"""A program that ends in some way while it has a client over HTTP. Not a test.

Usage: exiting.py SCENARIO URL
"""

from __future__ import annotations

import contextlib
import sys
import threading

from mcp_actors import Client, errors


def forgets(client: Client) -> None:
    client.call_tool("echo", {})


def forgets_a_future(client: Client) -> None:
    client.submit_tool("hang")
    client.call_tool("echo", {})


def forgets_a_calling_thread(client: Client) -> None:
    def call() -> None:
        with contextlib.suppress(errors.ClientClosed):
            client.call_tool("hang")

    threading.Thread(target=call, daemon=True).start()
    client.call_tool("echo", {})


def forgets_a_stuck_handler(client: Client) -> None:
    client.submit_tool("echo", {}, on_progress=lambda _: threading.Event().wait())
    client.on_notification(lambda _: threading.Event().wait())
    client.call_tool("echo", {})


def raises(client: Client) -> None:
    client.call_tool("echo", {})
    raise LookupError("the program's own error")


def calls(client: Client) -> None:
    client.call_tool("hang")


SCENARIOS = {
    scenario.__name__: scenario
    for scenario in (
        forgets,
        forgets_a_future,
        forgets_a_calling_thread,
        forgets_a_stuck_handler,
        raises,
        calls,
    )
}


def main() -> None:
    name, url = sys.argv[1:]
    SCENARIOS[name](Client.http(url, proxies={}, request_timeout=60.0))


if __name__ == "__main__":
    main()
