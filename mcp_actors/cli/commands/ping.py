"""mcp-actors ping: whether a server answers, and how fast."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from mcp_actors import Client
from mcp_actors.cli.connection import connected
from mcp_actors.cli.output import one_line, write_text
from mcp_actors.cli.target import Target


def ping(
    target: Target,
    count: Annotated[int, typer.Option("--count", "-n", metavar="N", min=1, help="How often to ask.")] = 3,
    interval: Annotated[
        float, typer.Option("--interval", "-i", metavar="SECONDS", min=0, help="The pause between two.")
    ] = 0.2,
) -> None:
    """Ask a server whether it is there, and measure its answers."""
    began = time.perf_counter()
    with connected(target) as client:
        write_text(f"{_introduction(client)}, ready after {_shown(time.perf_counter() - began)}")
        taken: list[float] = []
        try:
            _ask(client, count, interval, taken)
        finally:
            # Also for whoever interrupts us, as ping does.
            if taken:
                write_text(_summary(taken))


def _ask(client: Client, count: int, interval: float, taken: list[float]) -> None:
    for number in range(1, count + 1):
        began = time.perf_counter()
        client.ping()
        taken.append(time.perf_counter() - began)
        write_text(f"answer {number} after {_shown(taken[-1])}")
        if number < count:
            time.sleep(interval)


def _introduction(client: Client) -> str:
    info = client.server_info
    return one_line(f"{info.name or client.name} {info.version}, MCP {client.protocol_version}")


def _summary(taken: list[float]) -> str:
    average = sum(taken) / len(taken)
    return (
        f"{len(taken)} answer{'s'[: len(taken) != 1]}: "
        f"min {_shown(min(taken))}, avg {_shown(average)}, max {_shown(max(taken))}"
    )


def _shown(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1000:.2f} ms"
