"""A program that ends in some way while it has a client. Prints the pid of its server first.

Usage: exiting.py SCENARIO SERVER-COMMAND...
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys
import threading
from typing import Any

import psutil

from mcp_actors import Client, errors


def tell(value: object) -> None:
    print(value, flush=True)  # noqa: T201 - the test reads it


def server_pid(client: Client, **manner: Any) -> int:
    return int(client.call_tool("pid", **manner).text)


def forgets(client: Client) -> None:
    tell(server_pid(client))


def forgets_a_future(client: Client) -> None:
    tell(server_pid(client))
    client.submit_tool("fault")


def forgets_a_stuck_handler(client: Client) -> None:
    tell(server_pid(client))
    client.on_notification(lambda _: threading.Event().wait())
    client.submit_tool("pid", on_progress=lambda _: threading.Event().wait())


def forgets_a_calling_thread(client: Client) -> None:
    tell(server_pid(client))

    def call() -> None:
        with contextlib.suppress(errors.ClientClosed):
            client.call_tool("fault")

    threading.Thread(target=call, daemon=True).start()


def raises(client: Client) -> None:
    tell(server_pid(client))
    raise LookupError("the program's own error")


def exits(client: Client) -> None:
    tell(server_pid(client))
    sys.exit(5)


def waits(client: Client) -> None:
    tell(server_pid(client))
    signal.pause()


def ignores_sigchld(client: Client) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    first = server_pid(client)
    os.kill(first, signal.SIGKILL)
    while True:
        try:
            second = server_pid(client, wait=True)
        except errors.ConnectionLost:
            continue
        if second != first:
            break
    client.close()
    tell(second)


def runs_out_of_descriptors(client: Client) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (psutil.Process().num_fds() + 2, hard))
    try:
        client.wait_ready()
    except errors.TransportError as error:
        complaint = str(error)
    assert "too many open files" in complaint, complaint
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    client.start().wait_ready()
    tell(server_pid(client))
    client.close()
    assert not [name for name in map(str, threading.enumerate()) if "mcp" in name]


SCENARIOS = {
    scenario.__name__: scenario
    for scenario in (
        forgets,
        forgets_a_future,
        forgets_a_stuck_handler,
        forgets_a_calling_thread,
        raises,
        exits,
        waits,
        ignores_sigchld,
        runs_out_of_descriptors,
    )
}


def main() -> None:
    name, *command = sys.argv[1:]
    SCENARIOS[name](Client.stdio(command, request_timeout=10, backoff_min=0.05, backoff_max=0.1))


if __name__ == "__main__":
    main()
