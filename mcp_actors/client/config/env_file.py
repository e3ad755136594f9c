"""The ``envFile`` of an entry: lines of NAME=value. Nothing in it is expanded or run."""

from __future__ import annotations

import re
from typing import Final

from mcp_actors.client.config.place import Place
from mcp_actors.client.config.text_file import read_text

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*+")
_QUOTED: Final = re.compile(r"""(?:'(?P<literal>[^']*+)'|"(?P<text>(?:[^"\\]|\\.)*+)")\s*+(?:\#.*)?""")
_COMMENT: Final = re.compile(r"(?:^|\s)#.*")
_ESCAPE: Final = re.compile(r"\\(.)")
_CONTROLS: Final = {"n": "\n", "r": "\r", "t": "\t"}


def read_env_file(path: str, place: Place) -> dict[str, str]:
    """The variables of a file; ``place`` is where the configuration names it."""
    variables: dict[str, str] = {}
    for number, line in enumerate(read_text(path, place).split("\n"), start=1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        name, equals, value = stripped.removeprefix("export ").partition("=")
        meant = _meant(value.strip())
        if not equals or not _NAME.fullmatch(name.strip()) or meant is None or "\0" in line:
            # The line itself is not shown: it may hold a secret.
            raise place.error(f"line {number} of {path} is not NAME=value")
        variables[name.strip()] = meant
    return variables


def _meant(value: str) -> str | None:
    """A value without its quotes and comment; None when a quote has no end on the line."""
    if not value.startswith(("'", '"')):
        return _COMMENT.sub("", value).rstrip()
    found = _QUOTED.fullmatch(value)
    if found is None:
        return None
    if found["literal"] is not None:
        return found["literal"]
    return _ESCAPE.sub(lambda escape: _CONTROLS.get(escape[1], escape[1]), found["text"])
