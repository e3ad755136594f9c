"""mcp-actors read: the contents of a resource."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from mcp_actors.cli.connection import connected
from mcp_actors.cli.content import described
from mcp_actors.cli.files import save_parts
from mcp_actors.cli.mistake import Mistake
from mcp_actors.cli.output import write_bytes, write_json, write_text
from mcp_actors.cli.target import Target
from mcp_actors.protocol import types


def read(
    target: Target,
    uri: Annotated[str, typer.Argument(metavar="URI", help="Its address, as list --resources shows it.")],
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="PATH",
            help="Write it to a file, or into a directory if PATH is one or ends with /.",
        ),
    ] = None,
    raw: Annotated[bool, typer.Option("--raw", help="Print the whole result as JSON.")] = False,
) -> None:
    """Print a resource."""
    with connected(target) as client:
        result = client.read_resource(uri)
    if raw:
        write_json(result.raw)
    elif output is not None:
        save_parts(result.contents, output)
    else:
        _print(result)


def _print(result: types.ReadResourceResult) -> None:
    for part in result.contents:
        if isinstance(part, types.TextResourceContents):
            # A resource is a file: nothing is added to it, except between its parts.
            write_text(part.text, ended=len(result.contents) > 1)
        elif sys.stdout.isatty():
            raise Mistake(f"{described(part)} is no text; give --output FILE, or redirect it")
        else:
            write_bytes(part.bytes)
