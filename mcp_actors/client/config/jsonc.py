"""JSON as people write it by hand: with comments and trailing commas. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final

Pairs = Callable[[list[tuple[str, Any]]], Any]

# A string without its end runs to the end of the text: what follows is inside it, and no JSON anyway.
_STRING: Final = r'"(?:[^"\\]++|\\.)*+"?+'
_BLANK: Final = r"[ \t\r\n]*+"
_COMMENT: Final = re.compile(rf"{_STRING}|(?P<comment>//[^\r\n]*+|/\*.*?\*/)", re.DOTALL)
# Only a comma between a value and a closing bracket may go: [,] and [1,,] stay what they are, mistakes.
_TRAILING_COMMA: Final = re.compile(
    rf'(?P<value>(?:{_STRING}|[^ \t\r\n\[{{,:"]){_BLANK}),(?={_BLANK}[\]}}])|{_STRING}', re.DOTALL
)
_NO_LINE_END: Final = re.compile(r"[^\r\n]")


def loads(text: str, object_pairs_hook: Pairs | None = None) -> Any:
    """The value of a JSON text that may hold ``//`` and ``/* */`` comments and trailing commas.

    Raises:
        ValueError: not JSON even so; a ``json.JSONDecodeError`` counts lines and columns of ``text``.
        RecursionError: nested too deep.
    """
    try:
        return json.loads(text, object_pairs_hook=object_pairs_hook)
    except ValueError:
        return json.loads(strict(text), object_pairs_hook=object_pairs_hook)


def strict(text: str) -> str:
    """The text with comments and trailing commas turned into blanks, everything else where it was."""
    return _TRAILING_COMMA.sub(_without_comma, _COMMENT.sub(_without_comment, text))


def _without_comment(found: re.Match[str]) -> str:
    comment = found["comment"]
    return found[0] if comment is None else _NO_LINE_END.sub(" ", comment)


def _without_comma(found: re.Match[str]) -> str:
    value = found["value"]
    return found[0] if value is None else f"{value} "
