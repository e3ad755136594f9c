"""Runs the Python blocks of a page in order, in one namespace, and compares what they print. Not a test.

A ``text`` block right after a Python block is its output; ``...`` stands for anything.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

BLOCK = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?:```text\n(?P<output>.*?)^```$)?", re.MULTILINE | re.DOTALL
)


class Block(NamedTuple):
    """Code, the line of the page where it stands, and what it prints if the page says so."""

    line: int
    code: str
    output: str | None


def blocks(text: str) -> Iterator[Block]:
    """The Python blocks of a page."""
    for found in BLOCK.finditer(text):
        yield Block(text.count("\n", 0, found.start("code")), found["code"], found["output"])


def matches(expected: str, printed: str) -> bool:
    """The output is the one of the page, blanks at line ends aside."""
    pattern = ".*".join(re.escape(part) for part in _stripped(expected).split("..."))
    return re.fullmatch(pattern, _stripped(printed), re.DOTALL) is not None


def _stripped(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.rstrip().splitlines())


def run(page: Path) -> None:
    """Run a page; raises what its code raises, with the line of the page."""
    # A module as any other: the classes of a page are looked up where they say they are from.
    module = sys.modules["__page__"] = ModuleType("__page__")
    for block in blocks(page.read_text(encoding="utf-8")):
        printed = io.StringIO()
        # Blank lines in front keep the page's line numbers in tracebacks.
        code = compile("\n" * block.line + block.code, str(page), "exec", dont_inherit=True)
        with contextlib.redirect_stdout(printed):
            exec(code, module.__dict__)
        if block.output is not None and not matches(block.output, printed.getvalue()):
            place = f"{page}:{block.line + 1}"
            raise SystemExit(f"{place}: the page says\n{block.output}\nbut printed was\n{printed.getvalue()}")


if __name__ == "__main__":
    run(Path(sys.argv[1]))
