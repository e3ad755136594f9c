"""What a contestant can be asked to do. How it does it, and on how many threads, is its own affair."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call, and how long the text must be that it answers with; None if that varies."""

    tool: str
    arguments: Mapping[str, Any]
    length: int | None = None

    def check(self, text: str) -> None:
        """A wrong answer is no answer, however fast."""
        if self.length is not None and len(text) != self.length:
            raise ValueError(f"{self.tool} answered {len(text)} characters instead of {self.length}")


@dataclass(frozen=True, slots=True)
class Crowd:
    """What many callers at once took: all together, and each call."""

    wall: float
    seconds: list[float]


class Contestant(Protocol):
    """An open connection. All methods block; durations are seconds."""

    def sequence(self, call: Call, times: int) -> list[float]:
        """Make the same call again and again; how long each took."""

    def crowd(self, call: Call, callers: int, each: int) -> Crowd:
        """Let ``callers`` make ``each`` calls at the same time."""

    def paced(self, call: Call, pause: float, enough: Callable[[str], bool]) -> list[float]:
        """Make a call every ``pause`` seconds, or right after a slower one, until an answer is ``enough``."""

    def lost(self) -> int:
        """How many notifications were dropped or merged instead of handled."""
