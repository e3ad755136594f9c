"""Docstrings, taken apart: what a function does, and what each of its parameters means."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct, field

_ARGUMENTS: Final = (
    r"Args|Arguments|Params|Parameters|Keyword Args|Keyword Arguments|Other Args|Other Arguments"
    r"|Other Parameters"
)
_RESULTS: Final = r"Return|Returns|Yield|Yields"
#: "Args:", alone on its line; what belongs to it is indented.
_GOOGLE: Final = re.compile(rf"(?:({_ARGUMENTS})|{_RESULTS})\s*:\s*")
#: "Parameters", underlined; it goes on to the next underlined line.
_NUMPY: Final = re.compile(rf"(?:({_ARGUMENTS})|{_RESULTS})\s*")
_UNDERLINE: Final = re.compile(r"(?:-{3,}|={3,})\s*")
#: ":param int count: how many"
_FIELD: Final = re.compile(
    r":(?:(?:param|parameter|arg|argument|key|keyword)\s+(?:[^:]*\s)?\*{0,2}(\w+)"
    r"|(?:type\s+\S+|returns?|rtype|yields?|ytype))\s*:(.*)"
)
#: "count (int, optional): how many", and "count: how many"
_GOOGLE_ITEM: Final = re.compile(r"\*{0,2}(\w+)\s*(?:\(.*?\)\s*)?:(.*)")
#: "count : int", "count", and "first, second : int"
_NUMPY_ITEM: Final = re.compile(r"(\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?()")
_SPACE_BETWEEN: Final = re.compile(r"\n{3,}")


class Documentation(Struct, frozen=True):
    """A docstring's text without the sections on arguments and results; those on arguments by name."""

    text: str | None = None
    parameters: dict[str, str] = field(default_factory=dict)


def documentation_of(docstring: str | None) -> Documentation:
    """Reads the styles of Google, NumPy and reStructuredText, mixed if need be.

    Args:
        docstring: without the indentation of the code around it, as ``inspect.getdoc`` gives it.
    """
    if not docstring:
        return Documentation()
    reader = _Reader(docstring.splitlines())
    text = _SPACE_BETWEEN.sub("\n\n", "\n".join(reader.kept)).strip()
    return Documentation(text or None, {name: words for name, words in reader.parameters.items() if words})


class _Reader:
    """Goes through the lines once; each is text, or belongs to a section."""

    def __init__(self, lines: list[str]) -> None:
        self.kept: list[str] = []
        self.parameters: dict[str, str] = {}
        self._lines = lines
        self._here = 0
        while self._here < len(lines):
            self._read(lines[self._here])

    def _read(self, line: str) -> None:
        if found := _GOOGLE.fullmatch(line):
            self._section(found, self._indented(self._here + 1), _GOOGLE_ITEM)
        elif self._underlined(self._here) and (found := _NUMPY.fullmatch(line)):
            self._section(found, self._up_to_next_title(self._here + 2), _NUMPY_ITEM)
        elif found := _FIELD.fullmatch(line):
            end = self._indented(self._here + 1)
            if found[1]:
                self.parameters[found[1]] = _joined([found[2], *self._lines[self._here + 1 : end]])
            self._here = end
        else:
            self.kept.append(line)
            self._here += 1

    def _section(self, title: re.Match[str], end: int, item: re.Pattern[str]) -> None:
        if title[1]:
            lines = self._lines[self._here + 1 : end]
            self.parameters.update(_items(inspect.cleandoc("\n" + "\n".join(lines)).splitlines(), item))
        self._here = end

    def _indented(self, start: int) -> int:
        """Where the indented lines that begin at ``start`` end; empty lines after the last do not count."""
        end = start
        for index in range(start, len(self._lines)):
            line = self._lines[index]
            if line.startswith((" ", "\t")):
                end = index + 1
            elif line:
                break
        return end

    def _underlined(self, index: int) -> bool:
        below = index + 1
        return below < len(self._lines) and _UNDERLINE.fullmatch(self._lines[below]) is not None

    def _up_to_next_title(self, start: int) -> int:
        titles = (index for index in range(start, len(self._lines)) if self._underlined(index))
        return next(titles, len(self._lines))


def _items(lines: list[str], item: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """Names and what is said of them: a line at the margin opens an item, indented ones go on with it."""
    names: list[str] = []
    words: list[str] = []
    for line in [*lines, "end"]:
        if not line or line.startswith((" ", "\t")):
            words.append(line)
            continue
        yield from ((name, _joined(words)) for name in names)
        found = item.fullmatch(line)
        names = re.findall(r"\w+", found[1]) if found else []
        words = [found[2]] if found else []


def _joined(lines: list[str]) -> str:
    return " ".join(stripped for line in lines if (stripped := line.strip()))
