"""A client of the faulty server, which tests tell how to misbehave."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from mcp_actors import Client
from tests.client.waiting import until

FAULTY = str(Path(__file__).parents[1] / "servers" / "faulty.py")

MakeFaulty: TypeAlias = Callable[..., "Faulty"]


@dataclass
class Faulty:
    """A client of the faulty server, and how often that server was started."""

    client: Client
    counter: Path

    @property
    def starts(self) -> int:
        return self.counter.stat().st_size if self.counter.exists() else 0

    def fault(self, **manner: Any) -> Any:
        return self.client.call_tool("fault", **manner)

    def check_recovery(self, starts: int) -> None:
        """The same client serves, after so many starts of its server."""
        self.client.start()
        until(lambda: self.starts >= starts)
        assert self.client.call_tool("echo", {"n": 1}, wait=True).text == '{"n": 1}'
        assert self.starts == starts
        stats = self.client.stats()
        assert (stats.pending, stats.in_flight, stats.restarts) == (0, 0, 0)


def faulty_maker(counter: Path, make_stdio: Callable[..., Client]) -> MakeFaulty:
    """Makes clients of a server in the given mode, whose starts are counted in a file."""

    def make(mode: str, *arguments: str, **options: Any) -> Faulty:
        command = [sys.executable, "-S", "-E", FAULTY, mode, "--starts", str(counter), *arguments]
        return Faulty(make_stdio(command, **options), counter)

    return make
