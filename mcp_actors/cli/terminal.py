"""Whoever sits at the terminal: gets the questions of a server and types the answers."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Final, Self

from rich.text import Text

from mcp_actors.cli.output import remarks
from mcp_actors.client.answering.console import ask_on_terminal
from mcp_actors.protocol.types import ElicitFormParams, ElicitResult, ElicitUrlParams
from mcp_actors.transports.stdio.descriptors import Bell

#: A terminal hands out one line at a time, and none that is longer.
_LONGEST_LINE: Final = 4096


class Terminal:
    """Asks on stderr, because stdout belongs to the result, and only if stdin is a terminal.

    Questions come on threads of the pool; `hush` takes them back, so that nothing is left waiting for a line.
    """

    def __init__(self, pause: Callable[[], AbstractContextManager[None]]) -> None:
        """``pause`` keeps everybody else off the screen."""
        self._pause = pause
        self._bell = Bell()
        self.attended = sys.stdin.isatty()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._bell.close()

    def options(self) -> dict[str, Any]:
        """Options of a client that puts its server's questions here."""
        if not self.attended:
            return {}
        return {"elicitation_handler": self.answer, "elicitation_modes": ("form", "url")}

    def answer(self, request: ElicitFormParams | ElicitUrlParams) -> ElicitResult:
        """Ask. Any thread."""
        with self._pause():
            return ask_on_terminal(request, ask=self._ask, show=_show)

    def hush(self) -> None:
        """Nobody needs an answer any more. Any thread."""
        self._bell.ring()

    def _ask(self, prompt: str) -> str:
        sys.stderr.write(prompt)
        sys.stderr.flush()
        # Not input(): it cannot be woken, and Python would find the thread in it when it wants to end.
        stdin = sys.stdin.fileno()
        poller = select.poll()
        poller.register(stdin, select.POLLIN)
        poller.register(self._bell.fd, select.POLLIN)
        ready = [fd for fd, _ in poller.poll()]
        line = b"" if self._bell.fd in ready else os.read(stdin, _LONGEST_LINE)
        if not line:
            _show("")
            raise EOFError
        return line.decode("utf-8", "replace").rstrip("\n")


def _show(line: str) -> None:
    # Made safe by whoever shows it.
    remarks().print(Text(line), soft_wrap=True)
