"""The demo tells its story on one screen, leaves nothing behind, and can be interrupted."""

from __future__ import annotations

import io
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from rich.console import Console
from typer.testing import CliRunner

from mcp_actors.cli import demo
from mcp_actors.cli.app import app
from mcp_actors.cli.demo_server import COMMAND

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def story() -> str:
    screen = Console(file=io.StringIO(), width=120)
    demo.run(screen)
    assert isinstance(screen.file, io.StringIO)
    return screen.file.getvalue()


def test_the_demo_shows_a_loss_and_the_recovery(story: str) -> None:
    told = [
        "initializing → ready",
        "slow_count  Count, with progress",
        "returned 42",
        "20/20",
        "16/100",
        "ConnectionLost",
        "outcome = unknown",
        "ready → backoff  the server was killed by SIGKILL",
        "backoff → initializing",
        "returned 2",
        "killed by SIGKILL after",
        "counting to 100",
        "demo_server.py",
        "demo supervisor",
        "connection     mailbox 0",
    ]
    positions = [story.find(words) for words in told]
    assert -1 not in positions, told[positions.index(-1)]
    assert positions == sorted(positions)


def test_the_demo_fits_into_eighty_columns_whatever_the_terminal_has(story: str) -> None:
    assert max(len(line) for line in story.splitlines()) <= 80


def test_the_demo_shows_no_traceback(story: str) -> None:
    assert "Traceback" not in story


def test_the_command_runs_without_a_terminal() -> None:
    shown = CliRunner().invoke(app, ["demo"])
    assert shown.exit_code == 0, shown.output
    assert "outcome = unknown" in shown.stdout


@pytest.fixture
def running() -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """The demo in a terminal of its own, and our end of that terminal."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "mcp_actors", "demo"]
    with subprocess.Popen(command, cwd=ROOT, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        yield process, ours
        process.kill()
    os.close(ours)


def test_ctrl_c_ends_the_demo_and_its_server(running: tuple[subprocess.Popen[bytes], int]) -> None:
    process, terminal = running
    shown = _read_until(terminal, b"slow_count(100)")
    family = psutil.Process(process.pid).children(recursive=True)
    assert family
    process.send_signal(signal.SIGINT)
    shown += _read_until(terminal, None)
    assert process.wait(30) != 0
    assert b"Traceback" not in shown
    _, alive = psutil.wait_procs(family, timeout=10)
    assert alive == []


def test_the_server_of_the_demo_is_a_program_of_the_standard_library_alone() -> None:
    done = subprocess.run(COMMAND, input=b"", capture_output=True, timeout=30, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def _read_until(terminal: int, words: bytes | None) -> bytes:
    """What is shown until these words come, or until the end."""
    shown, end = b"", time.monotonic() + 30
    while time.monotonic() < end and not (words and words in shown):
        try:
            part = os.read(terminal, 65536)
        except OSError:  # how Linux says that nobody has the terminal open any more
            break
        if not part:
            break
        shown += part
    return shown
