"""The commands, as typer sees them."""

from __future__ import annotations

from importlib import metadata
from typing import Annotated

import typer
from rich.console import Console

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)


def _print_version(asked: bool) -> None:
    if asked:
        Console().print(f"mcp-actors {metadata.version('mcp-actors')}", highlight=False)
        raise typer.Exit


@app.callback()
def options(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """The Model Context Protocol for synchronous Python."""


@app.command()
def demo() -> None:
    """Start a server, call it, kill it in the middle of a call, and watch it come back. Takes 4 seconds."""
    from mcp_actors.cli.demo import run

    run(Console())
