"""mcp-actors call: call a tool and print what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from mcp_actors import Client, errors
from mcp_actors.cli import exit_codes
from mcp_actors.cli.arguments import parse_object, parse_words, typed
from mcp_actors.cli.connection import connected
from mcp_actors.cli.content import described, is_binary, text_of
from mcp_actors.cli.files import read_text, save_parts
from mcp_actors.cli.hint import hint_about_tool
from mcp_actors.cli.mistake import Mistake
from mcp_actors.cli.output import complain, json_text, remark, write_json, write_text
from mcp_actors.cli.progress import ProgressBar
from mcp_actors.cli.target import Target
from mcp_actors.cli.terminal import Terminal
from mcp_actors.protocol import types

#: For a call whose server may ask a person, who thinks before answering and can press Ctrl-C.
_PATIENCE: Final = 600.0


@dataclass(frozen=True, slots=True)
class Manner:
    """How arguments are given and answers shown."""

    given: Annotated[
        str | None,
        typer.Option(
            "--json", metavar="JSON", help="Arguments as one JSON object; @FILE reads a file, - reads stdin."
        ),
    ] = None
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="PATH",
            help="Save images, sound and binaries to a file; to a directory if PATH is one or ends with /.",
        ),
    ] = None
    raw: Annotated[bool, typer.Option("--raw", help="Print the whole result as JSON.")] = False


def call(
    target: Target,
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="Its name.")],
    manner: Manner,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="KEY=VALUE",
            help="Its arguments, converted as its schema wants them. KEY:=JSON gives a value as JSON, "
            "KEY=@FILE the text of a file. Repeat a key to give several items of an array.",
        ),
    ] = None,
) -> None:
    """Call a tool and print what it answers.

    \b
    Exit codes:
      1    the tool reported an error
      2    there is a mistake in the command or the configuration
      3    the server could not be started or reached, or was lost
      4    it took too long
      5    the server refused, or broke the protocol
      130  Ctrl-C; the call was cancelled
    """
    whole = _whole(manner.given)
    given = parse_words(words or (), read_text)
    bar = ProgressBar(tool)
    with bar, Terminal(bar.paused) as terminal, connected(target, **terminal.options()) as client:
        listed = _listed(client, tool) if given else None
        arguments = whole | typed(given, listed.input_schema if listed else {})
        patience = _PATIENCE if terminal.attended and target.timeout is None else None
        try:
            result = _called(client, tool, arguments, timeout=patience, on_progress=bar.report)
        except errors.RemoteError as error:
            error.add_note(hint_about_tool(client, tool, arguments))
            raise
        finally:
            terminal.hush()
        hint = hint_about_tool(client, tool, arguments) if result.is_error else ""
    _show(result, manner)
    if result.is_error:
        remark(hint)
        raise typer.Exit(exit_codes.TOOL_FAILED)


def _whole(given: str | None) -> dict[str, Any]:
    if given is None:
        return {}
    named = given == "-" or given.startswith("@")
    return parse_object(read_text(given.removeprefix("@")) if named else given)


def _called(client: Client, tool: str, arguments: dict[str, Any], **manner: Any) -> types.CallToolResult:
    try:
        return client.call_tool(tool, arguments, **manner)
    except ValueError as error:
        # More than a frame holds; nothing was sent.
        raise Mistake(str(error)) from error


def _listed(client: Client, name: str) -> types.Tool | None:
    try:
        return next((tool for tool in client.list_tools() if tool.name == name), None)
    except (errors.CapabilityMissing, errors.RemoteError, errors.InvalidResponse):
        # A server may have tools that it does not list.
        return None


def _show(result: types.CallToolResult, manner: Manner) -> None:
    binaries = [block for block in result.content if is_binary(block)]
    text = _text(result)
    if manner.raw:
        write_json(result.raw)
    elif result.is_error:
        complain("the tool reported an error", text)
    elif text or not binaries:
        write_text(text)
    if manner.output is not None:
        save_parts(binaries, manner.output)
    elif not manner.raw:
        for binary in binaries:
            remark(f"{described(binary)} is not shown; --output FILE saves it")


def _text(result: types.CallToolResult) -> str:
    texts = [text_of(block) for block in result.content if not is_binary(block)]
    if not texts and result.has_structured_content:
        return json_text(result.structured_content)
    return "\n".join(texts)
