"""gunicorn --preload: each worker speaks with its own server, and takes it along when it goes."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.client.faulty_client import FAULTY
from tests.client.waiting import BOUND, until

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.real, pytest.mark.requirement("runtime:fork")]


class _Connection(http.client.HTTPConnection):
    """HTTP over a unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=2 * BOUND)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(2 * BOUND)
        self.sock.connect(self._path)


class Site:
    """A running gunicorn with two workers."""

    def __init__(self, directory: Path, **environment: str) -> None:
        self._socket = str(directory / "s")
        command = [sys.executable, "-m", "gunicorn", "--preload", "-w", "2", "-b", f"unix:{self._socket}"]
        server = json.dumps([sys.executable, "-S", "-E", FAULTY, "silence"])
        self.log = open(directory / "log", "w+", encoding="utf-8")  # noqa: SIM115 - closed by stop()
        self.process = subprocess.Popen(
            [*command, "--worker-tmp-dir", str(directory), "tests.client.programs.gunicorn_app:app"],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT), "SERVER_COMMAND": server, **environment},
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=self.log,
        )
        until(self._listens, otherwise=self.told)

    def _listens(self) -> bool:
        with socket.socket(socket.AF_UNIX) as line:
            return line.connect_ex(self._socket) == 0

    def told(self) -> str:
        self.log.seek(0)
        return self.log.read()

    def ask(self) -> dict[str, int]:
        connection = _Connection(self._socket)
        try:
            connection.request("GET", "/")
            response = connection.getresponse()
            assert response.status == 200, self.told()
            found: dict[str, int] = json.loads(response.read())
            return found
        finally:
            connection.close()

    def servers(self, without: int | None = None) -> dict[int, int]:
        """Which worker asks which server, once two workers have answered."""
        found: dict[int, int] = {}

        def look() -> bool:
            answer = self.ask()
            if answer["worker"] != without:
                assert found.setdefault(answer["worker"], answer["server"]) == answer["server"]
            return len(found) == 2

        until(look, otherwise=lambda: f"only {found} answered\n{self.told()}")
        return found

    def family(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(2 * BOUND)
        finally:
            self.process.kill()
            self.log.close()


@pytest.fixture(params=["", "1"], ids=["made-before-the-fork", "used-before-the-fork"])
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    # Not pytest's own directory: the path of a unix socket must be short.
    with tempfile.TemporaryDirectory(dir="/tmp") as directory:
        one = Site(Path(directory), USE_BEFORE_FORK=request.param)
        try:
            yield one
        finally:
            one.stop()


def _runs(process: psutil.Process) -> Any:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_both_workers_answer_from_their_own_server_and_sigterm_leaves_nobody(site: Site) -> None:
    servers = site.servers()
    assert len(set(servers.values())) == 2
    family = site.family()
    site.process.send_signal(signal.SIGTERM)
    assert site.process.wait(2 * BOUND) == 0, site.told()
    until(lambda: not any(_runs(one) for one in family), otherwise=lambda: f"left: {family}")
    assert "Traceback" not in site.told()


def test_a_worker_that_is_killed_takes_its_server_along_and_is_replaced(site: Site) -> None:
    servers = site.servers()
    victim, orphan = next(iter(servers.items()))
    server = psutil.Process(orphan)
    os.kill(victim, signal.SIGKILL)
    until(lambda: not _runs(server), otherwise=lambda: f"{server} is left")
    replaced = site.servers(without=victim)
    assert len(set(replaced.values())) == 2
    assert orphan not in replaced.values()
