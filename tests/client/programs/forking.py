"""A program that forks while it has a client; prints what parent and child found out, as one JSON object.

Usage: forking.py SCENARIO SERVER-COMMAND...
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

from mcp_actors import Client, errors, registry
from mcp_actors.transports import inheritance
from mcp_actors.transports.stdio.reaper import reaper

#: A child that hangs is ended by the alarm, and seen by its exit status.
LIMIT = 20


def server_pid(client: Client, **manner: Any) -> int:
    return int(client.call_tool("pid", **manner).text)


class Child:
    """A forked process that runs ``work`` and leaves as ``leave`` says."""

    def __init__(self, work: Callable[[], Any], leave: Callable[[], object] = lambda: os._exit(0)) -> None:
        reading, writing = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(reading)
            signal.alarm(LIMIT)
            os.write(writing, json.dumps(attempt(work)).encode())
            os.close(writing)
            leave()
        os.close(writing)
        self._reading = reading

    def result(self) -> Any:
        with open(self._reading, "rb") as file:
            found = file.read()
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return json.loads(found) if status == 0 else f"exit status {status}"


def attempt(work: Callable[[], Any]) -> Any:
    try:
        return work()
    except Exception as error:  # noqa: BLE001 - it is told to the test
        return f"{type(error).__name__}: {error}"


def uses(client: Client) -> Any:
    """The child makes a call of its own and closes; the parent goes on."""
    before = server_pid(client)

    def work() -> Any:
        state = client.state
        own = server_pid(client)
        client.close()
        return {"state": state, "server": own}

    child = Child(work).result()
    return {"before": before, "child": child, "after": server_pid(client)}


def idles(client: Client) -> Any:
    """The child does nothing and exits as programs do, with its atexit hooks."""
    before = server_pid(client)
    child = Child(lambda: "idle", lambda: sys.exit(0))
    return {"before": before, "child": child.result(), "after": server_pid(client)}


def closes(client: Client) -> Any:
    """The child closes a client that it never used."""
    before = server_pid(client)
    child = Child(client.close)
    return {"before": before, "child": child.result(), "after": server_pid(client)}


def forgets(client: Client) -> Any:
    """The child uses the client and exits without closing it."""
    before = server_pid(client)
    child = Child(lambda: server_pid(client), lambda: sys.exit(0))
    return {"before": before, "child": child.result(), "after": server_pid(client)}


def unused(client: Client) -> Any:
    """The client was made, but not used, before the fork."""
    child = Child(lambda: server_pid(client), lambda: sys.exit(0))
    return {"child": child.result(), "after": server_pid(client)}


def holds_a_future(client: Client) -> Any:
    """A future from before the fork is refused in the child, and comes true in the parent."""
    client.wait_ready()
    future = client.submit_tool("fault", timeout=LIMIT)

    def work() -> Any:
        refusals = [attempt(lambda: future.result(5)), attempt(lambda: future.exception(5))]
        return {"refusals": refusals, "cancel": future.cancel(), "server": server_pid(client)}

    child = Child(work).result()
    cancelled = future.cancel()
    return {"child": child, "cancelled": cancelled, "after": server_pid(client)}


def in_progress(client: Client) -> Any:
    """The fork happens in a callback of a call, whose answer comes later: the child's copy never gets it."""
    children: list[tuple[int, int, int]] = []

    def fork(_: Any) -> None:
        reading, writing = os.pipe()
        children.append((os.fork(), reading, writing))
        if children[0][0] != 0:
            # The server answers when it hears this.
            client.submit_tool("pid")

    found = attempt(lambda: client.call_tool("fault", on_progress=fork, timeout=2).text)
    pid, reading, writing = children[0]
    if pid == 0:
        signal.alarm(LIMIT)
        answer = {"call": found, "server": attempt(lambda: server_pid(client))}
        os.write(writing, json.dumps(answer).encode())
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as file:
        child = json.loads(file.read())
    os.waitpid(pid, 0)
    return {"call": found, "child": child, "after": server_pid(client)}


def busily(client: Client) -> Any:
    """Other threads are in the middle of calls at each fork."""
    before, stop = server_pid(client), threading.Event()
    failures: list[str] = []

    def call() -> None:
        while not stop.is_set():
            try:
                server_pid(client)
            except errors.McpError as error:
                failures.append(repr(error))

    threads = [threading.Thread(target=call, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    children = [Child(lambda: server_pid(client)).result() for _ in range(8)]
    stop.set()
    for thread in threads:
        thread.join(LIMIT)
    return {"before": before, "children": children, "failures": failures, "after": server_pid(client)}


def amid_starts(client: Client) -> Any:
    """Other threads are starting and ending clients of their own at each fork."""
    stop = threading.Event()
    failures: list[str] = []

    def start() -> None:
        while not stop.is_set():
            try:
                with Client.stdio(sys.argv[2:], request_timeout=10) as other:
                    server_pid(other)
            except errors.McpError as error:
                failures.append(repr(error))

    threads = [threading.Thread(target=start, daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    children = [Child(lambda: server_pid(client)).result() for _ in range(12)]
    stop.set()
    for thread in threads:
        thread.join(LIMIT)
    return {"children": children, "failures": failures, "after": server_pid(client)}


def while_closing(client: Client) -> Any:
    """The fork comes when a wire has closed its descriptors, whose numbers are in use again."""
    found: list[Any] = []
    release = inheritance.release

    def reuse_and_fork(thing: Any) -> None:
        if not found:
            pipes = [fd for _ in range(8) for fd in os.pipe()]
            found.append(Child(lambda: [fd for fd in pipes if not is_open(fd)]).result())
        release(thing)

    server_pid(client)
    inheritance.release = reuse_and_fork
    client.close()
    return {"closed": found[0]}


def amid_reaping(client: Client) -> Any:
    """Another thread is just starting the reaper, for a client of its own, when the fork comes."""
    begun, gate = threading.Event(), threading.Event()
    start = reaper._start

    def slowly() -> None:
        begun.set()
        gate.wait(LIMIT)
        start()

    reaper._start = slowly  # type: ignore[method-assign]
    thread = threading.Thread(target=client.wait_ready, daemon=True)
    thread.start()
    begun.wait(LIMIT)

    def work() -> Any:
        signal.alarm(3)
        reaper._start = start  # type: ignore[method-assign]
        return server_pid(client)

    child = Child(work).result()
    gate.set()
    thread.join(LIMIT)
    return {"child": child, "after": server_pid(client)}


def is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


def while_starting(client: Client) -> Any:
    """Another thread is just making the client's tree when the fork comes."""
    begun, gate = threading.Event(), threading.Event()
    plant = client._trees._make

    def slowly() -> Any:
        begun.set()
        gate.wait(LIMIT)
        return plant()

    client._trees._make = slowly
    thread = threading.Thread(target=client.wait_ready, daemon=True)
    thread.start()
    begun.wait(LIMIT)

    def work() -> Any:
        signal.alarm(3)
        client._trees._make = plant
        return server_pid(client)

    child = Child(work).result()
    gate.set()
    thread.join(LIMIT)
    return {"child": child, "after": server_pid(client)}


def generations(client: Client) -> Any:
    """A child that has its own connection forks again."""
    before = server_pid(client)

    def work() -> Any:
        own = server_pid(client)
        grandchild = Child(lambda: server_pid(client)).result()
        return {"own": own, "grandchild": grandchild, "again": server_pid(client)}

    return {"before": before, "child": Child(work).result(), "after": server_pid(client)}


def worker(_: int) -> Any:
    client = registry.lookup("shared") or CLIENTS[0]
    return os.getpid(), server_pid(client)


def with_a_pool(client: Client) -> Any:
    """multiprocessing, with processes forked from one that has used its client."""
    before = server_pid(client)
    CLIENTS.append(client)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        found = pool.map_async(worker, range(8), chunksize=1).get(LIMIT)
        pool.close()
        pool.join()
    return {"before": before, "workers": found, "after": server_pid(client)}


CLIENTS: list[Client] = []
SCENARIOS = {
    scenario.__name__: scenario
    for scenario in (
        uses,
        idles,
        closes,
        forgets,
        unused,
        holds_a_future,
        in_progress,
        busily,
        amid_starts,
        while_starting,
        while_closing,
        amid_reaping,
        generations,
        with_a_pool,
    )
}


def main() -> None:
    name, *command = sys.argv[1:]
    with_client = Client.stdio(command, name="shared", request_timeout=10)
    print(json.dumps(attempt(lambda: SCENARIOS[name](with_client))))  # noqa: T201 - the test reads it


if __name__ == "__main__":
    main()
