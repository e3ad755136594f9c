"""Programs that serve, each in its own way: ``python -m tests.server.programs.serving <scenario>``."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time

from mcp_actors import Client, Context, Server

server = Server("program", version="1.0")


@server.tool(structured_output=False)
def greet(name: str = "you") -> str:
    """Say hello."""
    return f"Hello, {name}, from {os.getpid()}"


@server.tool(structured_output=False)
def chatter() -> str:
    """Print where the protocol is spoken."""
    print("printed by a handler")  # noqa: T201 - that is what it is for
    os.system("echo printed by a child")
    sys.stdout.write("written without a newline")
    sys.stdout.flush()
    return f"stdin gave {sys.stdin.read(1)!r}"


@server.tool(structured_output=False)
def quit(code: int) -> str:
    """Try to end the process."""
    sys.exit(code)


@server.tool(structured_output=False)
def fork(returns: bool) -> str:
    """Fork; the child leaves at once, or returns from here as its parent does."""
    child = os.fork()
    if child == 0:
        if not returns:
            os._exit(0)
        return "from the child"
    os.waitpid(child, 0)
    return "from the parent"


@server.tool(structured_output=False)
def nap(seconds: float) -> str:
    """Take some time."""
    time.sleep(seconds)
    return "rested"


@server.tool()
def hang() -> None:
    """Never return."""
    threading.Event().wait()


@server.tool(structured_output=False)
def log(ctx: Context) -> str:
    """Log to the client, and to stderr."""
    ctx.warning("to the client")
    logging.getLogger("program").warning("to stderr")
    return "logged"


def forget() -> None:
    """End without closing anything."""
    client = Client.memory(server).wait_ready()
    print(client.call_tool("greet", {"name": "Ada"}).text.split(",")[1])  # noqa: T201
    client.submit_tool("hang")


def fork_program() -> None:
    """Serve in the parent and in the child, each for itself."""
    with Client.memory(server) as client:
        before = client.call_tool("greet").text
        child = os.fork()
        if child == 0:
            with Client.memory(server) as own:
                same = own.call_tool("greet").text == f"Hello, you, from {os.getpid()}"
            os._exit(0 if same else 1)
        _, status = os.waitpid(child, 0)
        after = client.call_tool("greet").text
    server.close()
    print(os.waitstatus_to_exitcode(status), before == after)  # noqa: T201


def main() -> None:
    scenario = sys.argv[1] if len(sys.argv) > 1 else "run"
    if scenario == "forget":
        forget()
    elif scenario == "fork":
        fork_program()
    elif scenario == "http":
        server.run_http(port=int(sys.argv[2]))
    elif scenario == "content-length":
        server.run(framing="content-length")
    else:
        server.run()
        print("after the end", file=sys.stderr)  # noqa: T201


if __name__ == "__main__":
    main()
