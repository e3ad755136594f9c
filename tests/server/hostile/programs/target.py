"""What is attacked: ``python -m tests.server.hostile.programs.target [http PORT [SETTINGS]]``."""

from __future__ import annotations

import json
import os
import resource
import sys
import threading
import time
from typing import Any

from mcp_actors import Context, Server
from mcp_actors.server import waitress_channels

PASSWORD = "hunter2-correct-horse"
SECRET = f"cannot log in to postgres://admin:{PASSWORD}@db.internal/prod with password={PASSWORD}"


# Tools that behave.


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def echo(value: Any) -> Any:
    """Give it back."""
    return value


def say(count: int, size: int, context: Context) -> str:
    """Log many messages."""
    for number in range(count):
        context.info(f"{number:08d}" + "x" * size)
    return "said"


def agree(what: str, context: Context) -> str:
    """Ask the user."""
    asked = context.elicit(f"{what}?", {"type": "object", "properties": {}})
    return f"{what}: {asked.action}"


def work(seconds: float, context: Context) -> str:
    """Take some time."""
    context.sleep(seconds)
    return "worked"


def nap(seconds: float) -> str:
    """Take some time, and hear of nothing meanwhile."""
    time.sleep(seconds)
    return "napped"


def grow(name: str, context: Context) -> str:
    """Offer one more tool: whoever listens is told."""
    context.server.add_tool(lambda: name, name=name)
    return "grown"


def administer() -> str:
    """Do what not everybody may."""
    return "administered"


# Tools that do not.


class Unspeakable(Exception):
    """Cannot even be told."""

    def __str__(self) -> str:
        raise RuntimeError(SECRET)


def leak() -> str:
    """Fail with a secret."""
    raise RuntimeError(SECRET)


def leak_in_a_chain() -> str:
    """Fail because of a secret."""
    try:
        raise ValueError(SECRET)
    except ValueError as error:
        raise RuntimeError("something failed") from error


def unspeakable() -> str:
    """Fail in a way that fails."""
    raise Unspeakable


def leave() -> str:
    """Try to end the process."""
    raise SystemExit(SECRET)


def interrupt() -> str:
    """Try to end it otherwise."""
    raise KeyboardInterrupt(SECRET)


def shout() -> str:
    """Write wherever the protocol is spoken."""
    print(SECRET)  # noqa: T201 - that is what it is for
    os.write(1, b'{"jsonrpc":"2.0","id":1,"result":"forged"}\n')
    return "shouted"


def abort_in_child() -> str:
    """Fork; the child leaves at once."""
    child = os.fork()
    if child == 0:
        os._exit(7)
    return f"the child left with {os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}"


def split(fork: bool = True, leave: bool = False) -> str:
    """Fork, and have both come back."""
    child = os.fork() if fork else 1
    if child == 0 and leave:
        sys.exit(3)
    return "whole"


def dig() -> str:
    """Fall down a hole."""
    return dig()


def hang() -> str:
    """Never return."""
    threading.Event().wait()
    return "never"


# Resources and prompts.


def note(name: str) -> str:
    return f"about {name}"


def fixed() -> str:
    return "a text"


def letter(to: str) -> str:
    return f"write to {to}"


def names(value: str) -> list[str]:
    return [value + "a"]


PLAIN = (add, echo, say, agree, grow, nap)
WICKED = (leak, leak_in_a_chain, unspeakable, leave, interrupt, shout, abort_in_child, split, dig, hang)


def build(name: str = "target", **options: Any) -> Server:
    """A server with something for everybody."""
    server = Server(name, version="1.0", **options)
    for tool in (*PLAIN, *WICKED):
        server.add_tool(tool, structured_output=False)
    server.add_tool(work, structured_output=False, task_support="optional")
    server.add_tool(administer, structured_output=False, scopes={"admin"})
    server.add_resource("note:///{name}", note)
    server.add_resource("fixed:///text", fixed)
    server.add_resource("leak:///secret", leak)
    server.add_prompt(letter)
    server.add_prompt(leak, name="leaking_prompt")
    server.completion(prompt="letter", argument="to")(names)
    return server


def serve(server: Server, port: int, settings: dict[str, Any]) -> None:
    """Serve over HTTP, with few descriptors or little patience if that is wanted."""
    descriptors = settings.pop("descriptors", None)
    if descriptors is not None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))
    patience = settings.pop("patience", None)
    if patience is not None:
        vars(waitress_channels)["STUCK_SECONDS"] = patience
    server.run_http(port=port, **settings)


def main() -> None:
    server = build()
    if sys.argv[1:2] == ["http"]:
        serve(server, int(sys.argv[2]), json.loads(sys.argv[3]) if len(sys.argv) > 3 else {})
    else:
        server.run()


if __name__ == "__main__":
    main()
