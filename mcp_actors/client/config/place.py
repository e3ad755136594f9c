"""A place in a configuration, which every error and warning about it names."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches


class ConfigError(ValueError):
    """A configuration that cannot be used. The message says where and what to do, and shows no value."""


class ConfigWarning(UserWarning):
    """Something in a configuration that has no effect, or whose meaning had to be guessed."""


@dataclass(frozen=True, slots=True)
class Place:
    """A file, maybe a server in it, maybe a key of that server."""

    source: str
    server: str | None = None
    key: str = ""

    def of_server(self, name: str) -> Place:
        """The entry of one server."""
        return Place(self.source, name)

    def of_key(self, key: str) -> Place:
        """A key below this place."""
        return replace(self, key=f"{self.key}.{key}" if self.key else key)

    def of_item(self, index: int) -> Place:
        """An item of the list at this place."""
        return replace(self, key=f"{self.key}[{index}]")

    def error(self, text: str) -> ConfigError:
        """The error that tells of this place."""
        return ConfigError(f"{self}: {text}")

    def warn(self, text: str) -> None:
        """Warn the code that called this package."""
        warnings.warn(f"{self}: {text}", ConfigWarning, stacklevel=_steps_outside())

    def __str__(self) -> str:
        server = None if self.server is None else f"server {self.server!r}"
        where = ", ".join(part for part in (server, self.key) if part)
        return f"{self.source}: {where}" if where else self.source


def suggestion(wrong: str, known: Iterable[str]) -> str:
    """A question to follow a wrong name in a message, or nothing when no known name is like it."""
    # Names differ in case more often than in letters: envfile, mcpservers.
    by_spelling = {name.lower(): name for name in known}
    close = get_close_matches(wrong.lower(), by_spelling, n=1)
    return f" (did you mean {by_spelling[close[0]]!r}?)" if close else ""


def _steps_outside() -> int:
    """How many frames above ``warn`` the first one stands that is not of this package."""
    # warnings.warn(skip_file_prefixes=...) does this from Python 3.12 on.
    frame, steps = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("mcp_actors."):
        frame, steps = frame.f_back, steps + 1
    return steps
