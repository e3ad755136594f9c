"""What the commands show: results on stdout, all else on stderr, and nothing that acts on a terminal."""

from __future__ import annotations

import json
import sys
from typing import Any, Final

from rich.console import Console, RenderableType
from rich.highlighter import JSONHighlighter
from rich.text import Text

from mcp_actors.telemetry.redaction import printable

_UNLIMITED: Final = sys.maxsize


class Screen(Console):
    """A console that shows texts as they are and leaves a broken pipe to us."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=False, emoji=False)

    def on_broken_pipe(self) -> None:
        """Called where rich handles the error; it would end the process with a code of its own."""
        raise BrokenPipeError


def results() -> Screen:
    """Where results go. Made anew each time, because stdout may have been replaced."""
    return Screen()


def remarks() -> Screen:
    """Where everything goes that is not the result."""
    return Screen(stderr=True)


def safe(text: str) -> str:
    """The text with its lines, and without what would act on a terminal."""
    return "\n".join(printable(line, _UNLIMITED) for line in text.split("\n"))


def one_line(text: str) -> str:
    """The text as a single safe line."""
    return printable(" ".join(text.split()), _UNLIMITED)


def show(content: RenderableType) -> None:
    """Print a table or the like to stdout. Its texts must be safe."""
    console = results()
    if console.is_terminal:
        console.print(content)
        return
    with console.capture() as captured:
        console.print(content)
    # Tables fill their columns with blanks, which nobody wants in a pipe.
    write_text("\n".join(line.rstrip() for line in captured.get().splitlines()))


def write_text(text: str, *, ended: bool = True) -> None:
    """Write a result: to a terminal made safe, to a pipe or file as it is, so that nothing is changed.

    ``ended``: with a line end, which a terminal gets anyway.
    """
    terminal = sys.stdout.isatty()
    shown = safe(text.replace("\r\n", "\n")) if terminal else text
    sys.stdout.write(shown)
    if (ended or terminal) and not shown.endswith("\n"):
        sys.stdout.write("\n")
    sys.stdout.flush()


def write_bytes(data: bytes) -> None:
    """Write a result that is not text."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def json_text(value: Any, indent: int | None = 2) -> str:
    """JSON for people and programs: what a terminal might obey is written as an escape."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    if text.replace("\n", "").isprintable():
        return text
    # Whatever is not printable stands inside a string, where an escape means the same.
    return "".join(one if one.isprintable() or one == "\n" else json.dumps(one)[1:-1] for one in text)


def write_json(value: Any) -> None:
    """Write a result as JSON, in colours where they can be seen."""
    console = results()
    text = json_text(value)
    if console.is_terminal:
        # The console would wrap long strings into what is no JSON any more.
        console.print(JSONHighlighter()(Text(text)), soft_wrap=True)
    else:
        write_text(text)


def remark(text: str, style: str = "dim") -> None:
    """Say something beside the result, if there is something to say."""
    if text:
        remarks().print(Text(safe(text), style), soft_wrap=True)


def complain(first: str, rest: str = "") -> None:
    """Say what went wrong: one line in red, the details below."""
    console = remarks()
    console.print(Text(f"mcp-actors: {safe(first)}", "red"), soft_wrap=True)
    if rest:
        console.print(Text(safe(rest)), soft_wrap=True)
