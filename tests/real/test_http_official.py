"""A server made with the official package, over HTTP: both eras, JSON and event streams, and HTTP+SSE."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mcp_actors import Client, Progress, errors
from tests.client.conftest import quick
from tests.client.waiting import BOUND, in_thread, until
from tests.real.programs import ERAS, MARKS, PATIENCE

pytestmark = [*MARKS, pytest.mark.requirement("transport:http")]

ROOT = Path(__file__).parents[2]


class Program:
    """The server as a process of its own, always at the same port."""

    def __init__(self, transport: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = probe.getsockname()[1]
        self.transport = transport
        self.url = f"http://127.0.0.1:{self.port}/{'sse' if transport == 'sse' else 'mcp'}"
        self.start()

    def start(self) -> None:
        """Run it, and wait until it listens."""
        command = [sys.executable, "-m", "tests.servers.http_official", self.transport, str(self.port)]
        silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen(command, cwd=ROOT, **silent)  # type: ignore[call-overload]
        until(self._listens, otherwise=lambda: "the server did not start")

    def stop(self) -> None:
        """Kill it."""
        self._process.kill()
        self._process.wait(BOUND)

    def _listens(self) -> bool:
        with socket.socket() as sock:
            return sock.connect_ex(("127.0.0.1", self.port)) == 0


@pytest.fixture
def run() -> Iterator[Callable[[str], Program]]:
    running: list[Program] = []

    def run(transport: str) -> Program:
        running.append(Program(transport))
        return running[-1]

    yield run
    for program in running:
        program.stop()


@pytest.fixture
def connect(run: Callable[[str], Program]) -> Iterator[Callable[..., Client]]:
    del run  # what is made first ends last
    made: list[Client] = []

    def connect(program: Program, **options: Any) -> Client:
        made.append(Client.http(program.url, proxies={}, **quick(PATIENCE | options)))
        return made[-1]

    yield connect
    for client in made:
        client.close()


Run = Callable[[str], Program]
Connect = Callable[..., Client]


@pytest.mark.parametrize("transport", ["json", "stream"])
@pytest.mark.parametrize("era", ERAS)
def test_the_official_package_is_spoken_to_over_http(
    era: str, transport: str, run: Run, connect: Connect
) -> None:
    client = connect(run(transport), protocol=era).wait_ready()
    assert (client.protocol_version, client.server_info.name) == (era, "official")
    assert {one.name for one in client.list_tools()} == {"add", "pid", "die", "count", "fail"}
    calls = [in_thread(lambda n=n: client.call_tool("add", {"a": n, "b": 1}).text) for n in range(20)]  # type: ignore[misc]
    assert [call.result(4 * BOUND) for call in calls] == [str(n + 1) for n in range(20)]
    assert client.read_resource("toy://greeting").raw["contents"][0]["text"] == "hello ü"
    assert client.call_tool("fail").is_error
    with pytest.raises(errors.RemoteError) as caught:
        client.request("no/such/method")
    assert caught.value.code == -32601
    client.ping()


@pytest.mark.parametrize("era", ERAS)
def test_the_official_package_reports_progress_over_http(era: str, run: Run, connect: Connect) -> None:
    client = connect(run("stream"), protocol=era)
    heard: list[Progress] = []
    assert client.call_tool("count", {"to": 3}, on_progress=heard.append).text == "counted"
    assert [one.progress for one in heard] == [1, 2, 3]


@pytest.mark.parametrize("era", ERAS)
def test_the_official_package_dies_and_comes_back(era: str, run: Run, connect: Connect) -> None:
    program = run("stream")
    client = connect(program, protocol=era)
    before = client.call_tool("pid").text
    with pytest.raises(errors.ConnectionLost) as caught:
        client.call_tool("die", {"code": 9})
    assert caught.value.outcome == "unknown"
    program.stop()
    program.start()
    assert client.call_tool("pid", wait=True).text != before


@pytest.mark.requirement("transport:sse")
def test_the_older_transport_is_found_behind_its_url(run: Run, connect: Connect) -> None:
    client = connect(run("sse")).wait_ready()
    assert client.call_tool("add", {"a": 2, "b": 40}).text == "42"
    heard: list[Progress] = []
    assert client.call_tool("count", {"to": 2}, on_progress=heard.append).text == "counted"
    assert [one.progress for one in heard] == [1, 2]
