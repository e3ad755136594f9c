"""mcp-actors prompt: a prompt, filled in."""

from __future__ import annotations

from typing import Annotated

import typer

from mcp_actors import errors
from mcp_actors.cli.arguments import parse_words, plain
from mcp_actors.cli.connection import connected
from mcp_actors.cli.content import described, is_binary, text_of
from mcp_actors.cli.files import read_text
from mcp_actors.cli.hint import hint_about_prompt
from mcp_actors.cli.output import results, write_json, write_text
from mcp_actors.cli.target import Target
from mcp_actors.protocol import types


def prompt(
    target: Target,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its name, as list --prompts shows it.")],
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="KEY=VALUE", help="What to fill in; KEY=@FILE takes the text of a file."),
    ] = None,
    raw: Annotated[bool, typer.Option("--raw", help="Print the whole result as JSON.")] = False,
) -> None:
    """Print a prompt, filled in."""
    arguments = plain(parse_words(words or (), read_text))
    with connected(target) as client:
        try:
            result = client.get_prompt(name, arguments)
        except errors.RemoteError as error:
            error.add_note(hint_about_prompt(client, name, arguments))
            raise
    if raw:
        write_json(result.raw)
        return
    for number, message in enumerate(result.messages):
        _show(message, first=number == 0)


def _show(message: types.PromptMessage, *, first: bool) -> None:
    if not first:
        write_text("")
    results().print(f"[{message.role}]", style="bold cyan")
    content = message.content
    write_text(f"({described(content)})" if is_binary(content) else text_of(content))
