"""Running the real command: as a program of its own, with pipes or with a terminal. Not a test."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).parent.parent.parent
ODD = [sys.executable, str(Path(__file__).with_name("odd_server.py"))]
PROGRAM = [sys.executable, "-m", "mcp_actors"]
#: Whatever the command does, it is done by then.
PATIENCE = 30.0


@dataclass(frozen=True)
class Done:
    """How the command ended and what it wrote."""

    code: int
    out: str
    err: str
    raw: bytes = b""


def environment(**more: str) -> dict[str, str]:
    plain = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "NO_COLOR")}
    return {**plain, "PYTHONPATH": str(ROOT), "COLUMNS": "80", **more}


def run(*words: str, server: list[str] | None = None, env: dict[str, str] | None = None, **more: Any) -> Done:
    """Run the command with pipes; ``server`` is the command behind ``--``."""
    command = [*PROGRAM, *words, *(["--", *server] if server else [])]
    named: dict[str, Any] = {"stdin": subprocess.DEVNULL, "timeout": PATIENCE, "cwd": ROOT, **more}
    done = subprocess.run(command, env=environment(**(env or {})), capture_output=True, check=False, **named)
    assert b"Traceback" not in done.stderr or (env and "MCP_ACTORS_DEBUG" in env), done.stderr.decode()
    out = done.stdout.decode("utf-8", "replace")
    return Done(done.returncode, out, done.stderr.decode("utf-8", "replace"), done.stdout)


class Screen:
    """The command in a terminal of 80 columns, and our end of that terminal."""

    def __init__(self, process: subprocess.Popen[bytes], terminal: int) -> None:
        self.process = process
        self._terminal = terminal
        self.shown = b""

    def read_until(self, words: bytes | None) -> bytes:
        """What is shown until these words come, or until the end."""
        end = time.monotonic() + PATIENCE
        while not (words and words in self.shown):
            if not select.select([self._terminal], [], [], max(0.0, end - time.monotonic()))[0]:
                break
            try:
                part = os.read(self._terminal, 65536)
            except OSError:  # how Linux says that nobody has the terminal open any more
                break
            if not part:
                break
            self.shown += part
        return self.shown

    def type(self, line: str) -> None:
        os.write(self._terminal, line.encode())

    def family(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def interrupt(self) -> int:
        """Ctrl-C, and how it ended."""
        self.process.send_signal(signal.SIGINT)
        return self.end()

    def end(self) -> int:
        self.read_until(None)
        return self.process.wait(PATIENCE)


@contextmanager
def on_a_terminal(
    *words: str, server: list[str], stdout: int | None = None, env: dict[str, str] | None = None
) -> Iterator[Screen]:
    """Run the command in a terminal; with ``stdout``, only its stdin and stderr are that terminal."""
    ours, theirs = pty.openpty()
    command = [*PROGRAM, *words, "--", *server]
    streams: dict[str, Any] = {"stdin": theirs, "stdout": stdout or theirs, "stderr": theirs}
    more = {"TERM": "xterm-256color", **(env or {})}
    with subprocess.Popen(command, cwd=ROOT, env=environment(**more), **streams) as process:
        os.close(theirs)
        yield Screen(process, ours)
        process.kill()
    os.close(ours)


def gone(family: list[psutil.Process]) -> bool:
    """Whether these processes have ended."""
    return psutil.wait_procs(family, timeout=10)[1] == []
