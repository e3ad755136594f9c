"""Programs that listen on a port, ended in good order with everything that they started."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.client.waiting import BOUND, until

ROOT: Final = Path(__file__).parents[2]
_HOST: Final = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Served:
    """A program that listens, and what it writes."""

    port: int
    log: Path
    process: subprocess.Popen[bytes]

    def url(self, path: str = "/mcp") -> str:
        """An address of it."""
        return f"http://{_HOST}:{self.port}{path}"


@contextlib.contextmanager
def serving(words: Sequence[str], log: Path, env: Mapping[str, str] | None = None) -> Iterator[Served]:
    """Run a Python module, ``{port}`` in its words replaced, for as long as the context lasts.

    What it writes may hold no traceback.
    """
    port = free_port()
    command = [sys.executable, "-m", *(word.replace("{port}", str(port)) for word in words)]
    with log.open("wb") as sink:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**(os.environ if env is None else env), "PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        until(lambda: process.poll() is not None or listens(port), otherwise=log.read_text)
        assert process.poll() is None, log.read_text()
        yield Served(port, log, process)
    finally:
        _end(process)
    assert "Traceback" not in log.read_text(), log.read_text()


def gunicorn(app: str, *, workers: int = 1, threads: int = 16) -> list[str]:
    """The words that run an app with gunicorn: threads in each of the workers, loaded before they fork."""
    kind = ["--preload", "-k", "gthread", "--threads", str(threads), "-w", str(workers)]
    return ["gunicorn", *kind, "--log-level", "warning", "-b", f"{_HOST}:{{port}}", app]


def free_port() -> int:
    """A port at which nobody listens."""
    with socket.create_server((_HOST, 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def listens(port: int) -> bool:
    """Whether somebody does."""
    with socket.socket() as line:
        return line.connect_ex((_HOST, port)) == 0


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(2 * BOUND)
    finally:
        # Whatever it started belongs to its group.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
