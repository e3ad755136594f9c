"""Servers of others behind a URL, as processes that a test may kill and start again at the same address."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from mcp_actors import Client
from mcp_actors.protocol.http.request_headers import SESSION_ID
from tests.client.conftest import quick
from tests.client.waiting import BOUND, until
from tests.real.programs import PATIENCE

__all__ = ["Connect", "Official", "Program", "Run", "connect", "forget_session", "official", "run"]

ROOT: Final = Path(__file__).parents[2]


class Program:
    """One server, always at the same port. ``{port}`` in the command is replaced by it; so is ``PORT``."""

    def __init__(self, command: Sequence[str], path: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}{path}"
        self._command = [word.replace("{port}", str(self.port)) for word in command]
        self._environment = {**os.environ, "PORT": str(self.port)}
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        """Run it, and wait until it listens."""
        nothing = subprocess.DEVNULL
        self._process = subprocess.Popen(
            self._command, cwd=ROOT, env=self._environment, stdin=nothing, stdout=nothing, stderr=nothing
        )
        until(
            self._listens, time.monotonic() + 4 * BOUND, otherwise=lambda: f"{self._command} does not listen"
        )

    def kill(self) -> None:
        """SIGKILL."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(BOUND)

    def restart(self) -> None:
        """SIGKILL, and again at the same port: it knows nothing of any session."""
        self.kill()
        self.start()

    def _listens(self) -> bool:
        with socket.socket() as sock:
            return sock.connect_ex(("127.0.0.1", self.port)) == 0


Run = Callable[[Sequence[str], str], Program]
Connect = Callable[..., Client]
Official = Callable[..., Program]


@pytest.fixture
def run() -> Iterator[Run]:
    """Runs servers that end with the test."""
    running: list[Program] = []

    def run(command: Sequence[str], path: str) -> Program:
        running.append(Program(command, path))
        return running[-1]

    yield run
    for program in running:
        program.kill()


@pytest.fixture
def connect(run: Run) -> Iterator[Connect]:
    """Makes clients of such servers, closed before them."""
    del run  # what is made first ends last
    made: list[Client] = []

    def connect(program: Program, **options: Any) -> Client:
        made.append(Client.http(program.url, proxies={}, **quick(PATIENCE | options)))
        return made[-1]

    yield connect
    for client in made:
        client.close()


@pytest.fixture
def official(run: Run) -> Official:
    """Runs servers made with the official package, by the names of their modules."""

    def official(transport: str, server: str = "official_server") -> Program:
        command = [sys.executable, "-m", "tests.servers.http_official", server, transport, "{port}"]
        return run(command, "/sse" if transport == "sse" else "/mcp")

    return official


def forget_session(program: Program, client: Client) -> None:
    """End the client's session behind its back, as a server does that has no more room for it."""
    tree = client._tree()
    assert tree is not None
    link: Any = tree.wiring.board.link
    rules = link.stats.__self__._rules
    request = urllib.request.Request(program.url, method="DELETE", headers=rules.leaving())
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=BOUND) as answer:
        assert answer.status < 300
    assert rules.session_id == request.headers[SESSION_ID.capitalize()]
