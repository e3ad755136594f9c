"""How tests treat programs that nobody here wrote: with patience, and now and then with SIGKILL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import psutil
import pytest

from mcp_actors import Client
from tests.client.waiting import BOUND, until

#: These servers are programs that take their time to load.
PATIENCE: Final = {"init_timeout": 8 * BOUND, "request_timeout": 4 * BOUND}
#: Marks of every module of tests with such programs. An installation has its own, longer bound.
MARKS: Final = [
    pytest.mark.real,
    pytest.mark.timeout(240),
    pytest.mark.requirement("quality:real-servers"),
]
ERAS: Final = ("2026-07-28", "2025-11-25")

MakeStdio = Callable[..., Client]


def kill_server(words: str) -> None:
    """SIGKILL the child of ours whose command line has these words."""
    (server,) = [one for one in psutil.Process().children() if words in " ".join(one.cmdline())]
    server.kill()


def kill_and_notice(client: Client, words: str) -> None:
    """SIGKILL the client's server and wait until the client knows.

    A call that is written before that has an unknown outcome, and says so.
    """
    before = client.stats().reconnects
    kill_server(words)
    until(
        lambda: client.state != "ready" or client.stats().reconnects > before,
        otherwise=lambda: f"the death of the server was not noticed: {client!r}",
    )
