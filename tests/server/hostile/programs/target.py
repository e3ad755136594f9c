"""What is attacked: ``python -m tests.server.hostile.programs.target [http PORT [SETTINGS]]``."""

from __future__ import annotations

import json
import os
import resource
import sys
import threading
from typing import Any

from mcp_actors import Context, Server
from mcp_actors.server import waitress_channels

PASSWORD = "hunter2-correct-horse"
SECRET = f"cannot log in to postgres://admin:{PASSWORD}@db.internal/prod with password={PASSWORD}"


def build(name: str = "target", **options: Any) -> Server:
    """A server with something for everybody."""
    server = Server(name, version="1.0", **options)
    _add_tools(server)
    _add_misbehaviour(server)

    @server.resource("note:///{name}")
    def note(name: str) -> str:
        return f"about {name}"

    @server.resource("fixed:///text")
    def fixed() -> str:
        return "a text"

    @server.prompt()
    def letter(to: str) -> str:
        return f"write to {to}"

    @server.completion(prompt="letter", argument="to")
    def names(value: str) -> list[str]:
        return [value + "a"]

    return server


def _add_tools(server: Server) -> None:
    @server.tool(structured_output=False)
    def add(a: int, b: int) -> int:
        return a + b

    @server.tool(structured_output=False)
    def echo(value: Any) -> Any:
        return value

    @server.tool(structured_output=False)
    def say(count: int, size: int, context: Context) -> str:
        """Log many messages."""
        for number in range(count):
            context.info(f"{number:08d}" + "x" * size)
        return "said"

    @server.tool(structured_output=False)
    def agree(what: str, context: Context) -> str:
        """Ask the user."""
        asked = context.elicit(f"{what}?", {"type": "object", "properties": {}})
        return f"{what}: {asked.action}"

    @server.tool(task_support="optional", structured_output=False)
    def work(seconds: float, context: Context) -> str:
        context.sleep(seconds)
        return "worked"

    @server.tool(structured_output=False)
    def grow(name: str) -> str:
        """Offer one more tool: whoever listens is told."""
        server.add_tool(lambda: name, name=name)
        return "grown"

    @server.tool(scopes={"admin"}, structured_output=False)
    def administer() -> str:
        return "administered"


def _add_misbehaviour(server: Server) -> None:
    @server.tool(structured_output=False)
    def leak() -> str:
        raise RuntimeError(SECRET)

    @server.tool(structured_output=False)
    def leak_in_a_chain() -> str:
        try:
            raise ValueError(SECRET)
        except ValueError as error:
            raise RuntimeError("something failed") from error

    @server.tool(structured_output=False)
    def unspeakable() -> str:
        raise Unspeakable

    @server.tool(structured_output=False)
    def leave() -> str:
        raise SystemExit(SECRET)

    @server.tool(structured_output=False)
    def interrupt() -> str:
        raise KeyboardInterrupt(SECRET)

    @server.tool(structured_output=False)
    def shout() -> str:
        """Write wherever the protocol is spoken."""
        print(SECRET)  # noqa: T201 - that is what it is for
        os.write(1, b'{"jsonrpc":"2.0","id":1,"result":"forged"}\n')
        return "shouted"

    @server.tool(structured_output=False)
    def abort_in_child() -> str:
        child = os.fork()
        if child == 0:
            os._exit(7)
        return f"the child left with {os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}"

    @server.tool(structured_output=False)
    def dig() -> str:
        """Fall down a hole."""
        return dig()

    @server.resource("leak:///secret")
    def leaking() -> str:
        raise RuntimeError(SECRET)

    @server.prompt()
    def leaking_prompt() -> str:
        raise RuntimeError(SECRET)


class Unspeakable(Exception):
    """Cannot even be told."""

    def __str__(self) -> str:
        raise RuntimeError(SECRET)


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

    @server.tool(structured_output=False)
    def hang() -> str:
        threading.Event().wait()
        return "never"

    if sys.argv[1:2] == ["http"]:
        settings = json.loads(sys.argv[3]) if len(sys.argv) > 3 else {}
        serve(server, int(sys.argv[2]), settings)
    else:
        server.run()


if __name__ == "__main__":
    main()
