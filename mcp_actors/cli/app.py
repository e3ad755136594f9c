"""The commands, as typer sees them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Final

import typer

from mcp_actors.cli.command_line import PROGRAM, CommandLine
from mcp_actors.cli.commands.call import call
from mcp_actors.cli.commands.list import list_
from mcp_actors.cli.commands.ping import ping
from mcp_actors.cli.commands.prompt import prompt
from mcp_actors.cli.commands.read import read
from mcp_actors.cli.commands.servers import servers
from mcp_actors.cli.commands.tree import tree
from mcp_actors.cli.spread import spread
from mcp_actors.version import VERSION

EPILOG: Final = (
    "The server is a command at the end, such as -- uvx mcp-server-time. Without one, it is taken from "
    "--config, or from .mcp.json, .vscode/mcp.json, .cursor/mcp.json or Claude Desktop's file, whichever "
    "is there first."
)
#: The commands that speak to a server.
SPEAKING: Final[dict[str, Callable[..., None]]] = {
    "list": list_,
    "call": call,
    "read": read,
    "prompt": prompt,
    "ping": ping,
    "tree": tree,
}

app = typer.Typer(
    cls=CommandLine,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"{PROGRAM} {VERSION}")
        raise typer.Exit


@app.callback()
def options(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Speak to an MCP server: see what it offers, call its tools, watch it work.

    \b
    mcp-actors list -- uvx mcp-server-time
    mcp-actors call get_current_time timezone=Europe/Vienna -- uvx mcp-server-time
    mcp-actors read file:///notes.txt --config .mcp.json --server files
    """


def demo() -> None:
    """Watch a server being started, called, killed and brought back."""
    from rich.console import Console

    from mcp_actors.cli.demo import run

    run(Console())


for name, command in SPEAKING.items():
    app.command(name, epilog=EPILOG)(spread(command))
app.command("servers")(servers)
app.command("demo")(demo)
