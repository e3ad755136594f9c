"""Programs that end without closing their client: at once, as they would have without it, and alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.client.faulty_client import FAULTY
from tests.client.waiting import BOUND, until

ROOT = Path(__file__).parents[2]


@contextmanager
def program(
    scenario: str, mode: str = "silence"
) -> Iterator[tuple[subprocess.Popen[str], psutil.Process | None]]:
    """The running program, and its server as soon as it has told its pid."""
    server = [sys.executable, "-S", "-E", FAULTY, mode]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.client.programs.exiting", scenario, *server],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        pid = process.stdout.readline()
        assert pid, process.stderr.read()
        yield process, _process(int(pid))
    finally:
        process.kill()
        process.wait(BOUND)
        process.stdout.close()
        process.stderr.close()


def _process(pid: int) -> psutil.Process | None:
    try:
        return psutil.Process(pid)
    except psutil.NoSuchProcess:
        return None


def gone(server: psutil.Process | None) -> bool:
    try:
        return server is None or not server.is_running() or server.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.mark.requirement("runtime:exit")
@pytest.mark.parametrize(
    ("scenario", "code", "words"),
    [
        ("forgets", 0, ""),
        ("forgets_a_future", 0, ""),
        ("forgets_a_calling_thread", 0, ""),
        ("forgets_a_stuck_handler", 0, ""),
        ("exits", 5, ""),
        ("raises", 1, "LookupError: the program's own error"),
        ("ignores_sigchld", 0, ""),
        ("runs_out_of_descriptors", 0, ""),
    ],
)
def test_a_program_that_ends_ends_and_so_does_its_server(scenario: str, code: int, words: str) -> None:
    with program(scenario) as (process, server):
        _, complaints = process.communicate(timeout=2 * BOUND)
        assert process.returncode == code, complaints
        assert complaints.strip().splitlines()[-1:] == ([words] if words else [])
        assert complaints.count("Traceback") == bool(words)
        until(lambda: gone(server))


@pytest.mark.requirement("runtime:exit")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGHUP])
@pytest.mark.parametrize("mode", ["silence", "stubborn"])
def test_a_program_that_is_killed_leaves_no_server_behind(number: signal.Signals, mode: str) -> None:
    with program("waits", mode) as (process, server):
        assert server is not None
        assert server.is_running()
        others = [one for one in psutil.Process(process.pid).children(recursive=True) if one != server]
        process.send_signal(number)
        assert process.wait(BOUND) == -number
        until(lambda: gone(server), otherwise=lambda: f"the server is {server}")
        until(lambda: all(gone(other) for other in others), otherwise=lambda: f"left: {others}")


@pytest.mark.requirement("runtime:exit")
def test_ctrl_c_ends_a_program_and_its_server() -> None:
    with program("waits") as (process, server):
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=2 * BOUND)
        assert process.returncode == -signal.SIGINT
        until(lambda: gone(server))
