"""mcp-actors tree: the supervision tree of a live client."""

from __future__ import annotations

import time
from typing import Annotated

import typer
from rich.live import Live

from mcp_actors import Client
from mcp_actors.cli.connection import connected
from mcp_actors.cli.output import results, show
from mcp_actors.cli.supervision import supervision_tree
from mcp_actors.cli.target import Target


def tree(
    target: Target,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Go on until Ctrl-C.")] = False,
    interval: Annotated[
        float, typer.Option("--interval", "-i", metavar="SECONDS", min=0.1, help="How often to look.")
    ] = 1.0,
) -> None:
    """Show the actors, threads, queues and process behind a connection."""
    with connected(target) as client:
        if watch:
            _watch(client, interval)
        else:
            show(supervision_tree(client))


def _watch(client: Client, interval: float) -> None:
    console = results()
    if not console.is_terminal:
        while True:
            show(supervision_tree(client))
            time.sleep(interval)
    with Live(supervision_tree(client), console=console, auto_refresh=False) as live:
        while True:
            time.sleep(interval)
            live.update(supervision_tree(client), refresh=True)
