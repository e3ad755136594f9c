"""Variables in a configuration: ``${VAR}``, ``${VAR:-default}``, ``${env:VAR}`` and some of the editors."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from mcp_actors.client.config.place import Place

#: ``$${`` stands for the characters ``${``; a ``${`` without a plain body is a mistake, not a text.
_REFERENCE: Final = re.compile(r"(?P<escape>\$\$\{)|\$\{(?P<body>[^{}]*+)\}|\$\{")
_VARIABLE: Final = re.compile(
    r"(?:env:)?(?P<name>[A-Za-z_][A-Za-z0-9_]*+)(?P<fallback>:-(?P<default>.*))?", re.DOTALL
)
#: Folders in which an editor keeps its settings; the workspace is the folder around them.
_SETTINGS_FOLDERS: Final = frozenset({".vscode", ".cursor"})


@dataclass(frozen=True, slots=True)
class Expansion:
    """What the variables of a configuration stand for. ``folder`` is the workspace, None without a file."""

    environ: Mapping[str, str]
    folder: str | None = None

    def expand(self, text: str, place: Place) -> str:
        """The text with its variables replaced, once: what comes out of a variable is not looked at again."""
        return _REFERENCE.sub(lambda found: self._replaced(found, place), text)

    def expand_path(self, text: str, place: Place) -> str:
        """The same, for a path: ``~`` at the start is the home folder if the file says so, not a variable."""
        expanded = self.expand(text, place)
        if not text.startswith("~"):
            return expanded
        if text == "~" or text.startswith("~/"):
            return self._home().rstrip("/") + expanded[1:] or "/"
        return os.path.expanduser(expanded)

    def _replaced(self, found: re.Match[str], place: Place) -> str:
        if found["escape"] is not None:
            return "${"
        body = found["body"]
        if body is None:
            raise place.error("'${' has no '}' of its own, or braces inside; write '$${' for a literal '${'")
        known = self._predefined(body, place)
        return self._variable(body, place) if known is None else known

    def _predefined(self, body: str, place: Place) -> str | None:
        """The value of a name that VS Code and Cursor define, None for any other."""
        match body:
            case "userHome":
                return self._home()
            case "pathSeparator" | "/":
                return os.sep
            case "workspaceFolder" | "workspaceFolderBasename":
                if self.folder is None:
                    raise place.error(f"${{{body}}} is known only when the configuration is read from a file")
                return self.folder if body == "workspaceFolder" else os.path.basename(self.folder)
        return None

    def _variable(self, body: str, place: Place) -> str:
        found = _VARIABLE.fullmatch(body)
        if found is None:
            raise place.error(_not_understood(body))
        value = self.environ.get(found["name"])
        if found["fallback"] is not None:
            # As in a shell, ``:-`` also replaces a value that is empty.
            return value or found["default"]
        if value is None:
            name = found["name"]
            raise place.error(
                f"the environment variable {name} is not set; set it, or write ${{{name}:-default}}"
            )
        return value

    def _home(self) -> str:
        return self.environ.get("HOME") or os.path.expanduser("~")


def workspace_folder(file: str) -> str:
    """The folder that an editor would have open when it reads this file."""
    folder = os.path.dirname(os.path.abspath(file))
    return os.path.dirname(folder) if os.path.basename(folder) in _SETTINGS_FOLDERS else folder


def _not_understood(body: str) -> str:
    # The body is not repeated: it may hold a secret.
    if body.startswith("input:"):
        return (
            "${input:...} is asked for by VS Code, and there is nobody to ask here; "
            "put the value into an environment variable and write ${VARIABLE}"
        )
    return (
        "a '${...}' here is not understood; known are ${VARIABLE}, ${VARIABLE:-default}, ${env:VARIABLE}, "
        "${workspaceFolder} and ${userHome}; write '$${' for a literal '${'"
    )
