"""Long work: with progress while the client waits, as a task that it comes back for, and given up."""

from __future__ import annotations

import threading

from mcp_actors import Client, Context, RequestCancelled, Server, errors

TASKS = "io.modelcontextprotocol/tasks"
server = Server("bakery", version="1.0")
cleaned = threading.Event()


@server.tool(task_support="optional")
def bake(loaves: int, seconds_each: float, context: Context) -> str:
    """Bake some bread, one loaf after the other."""
    try:
        for loaf in range(1, loaves + 1):
            context.sleep(seconds_each)
            context.report_progress(loaf, loaves, f"loaf {loaf}")
    except RequestCancelled:
        cleaned.set()
        raise
    return f"{loaves} loaves"


def wait_for_it() -> None:
    """The client waits, and hears how far it is."""
    with Client.memory(server) as client:
        result = client.call_tool(
            "bake",
            {"loaves": 3, "seconds_each": 0.05},
            on_progress=lambda step: print(f"  {step.progress:g} of {step.total:g}: {step.message}"),
        )
        print(result.text)


def come_back_for_it() -> None:
    """The client begins a task, is gone, and another one fetches the result."""
    with Client.memory(server, extensions={TASKS: {}}) as client:
        ticket = client.start_task("bake", {"loaves": 2, "seconds_each": 0.05}).id
    with Client.memory(server, extensions={TASKS: {}}) as client:
        print("fetched later:", client.get_task(ticket).result(timeout=30.0).text)


def give_up() -> None:
    """The client does not want it any more, and the oven is cleaned."""
    with Client.memory(server) as client:
        try:
            client.call_tool("bake", {"loaves": 1000, "seconds_each": 1.0}, timeout=0.2)
        except errors.RequestTimeout as error:
            print("given up:", error.message)
        print("the oven is clean:", cleaned.wait(5.0))


def main() -> None:
    with server:
        wait_for_it()
        come_back_for_it()
        give_up()


if __name__ == "__main__":
    main()
