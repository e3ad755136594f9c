"""Servers that nobody here wrote: list, call, read, prompt, progress, and recovery when they are killed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from mcp_actors import Client, Progress, errors
from tests.client.waiting import BOUND, until

EVERYTHING = "@modelcontextprotocol/server-everything"
OFFICIAL = str(Path(__file__).parents[1] / "servers" / "official_server.py")
#: These servers are programs that take their time to load.
PATIENCE = {"init_timeout": 8 * BOUND, "request_timeout": 4 * BOUND}

pytestmark = [pytest.mark.real, pytest.mark.timeout(240)]
MakeStdio = Callable[..., Client]


@pytest.fixture(scope="session")
def everything() -> list[str]:
    """The command of the reference server of the protocol's authors, installed once into a cache."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        pytest.skip("npm and node are not installed")
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    place = (cache if os.access(cache, os.W_OK) else Path(tempfile.gettempdir())) / "mcp-actors-tests"
    program = place / "node_modules" / EVERYTHING / "dist" / "index.js"
    if not program.exists():
        install = [npm, "install", "--no-audit", "--no-fund", "--no-package-lock", "--prefix", str(place)]
        done = subprocess.run(
            [*install, f"{EVERYTHING}@2026.8.31"], capture_output=True, text=True, timeout=180, check=False
        )
        if done.returncode != 0:
            pytest.skip(f"npm could not install {EVERYTHING}: {done.stderr.strip()[-200:]}")
    return [node, str(program), "stdio"]


def kill_server(words: str) -> None:
    """SIGKILL the child of ours whose command line has these words."""
    (server,) = [one for one in psutil.Process().children() if words in " ".join(one.cmdline())]
    server.kill()


def test_mcp_server_time(make_stdio: MakeStdio) -> None:
    program = Path(sys.executable).with_name("mcp-server-time")
    if not program.exists():
        pytest.skip("mcp-server-time is not installed")
    client = make_stdio([str(program)], **PATIENCE)
    assert {one.name for one in client.list_tools()} == {"get_current_time", "convert_time"}
    assert client.server_info.name == "mcp-time"
    result = client.call_tool("get_current_time", {"timezone": "Europe/Vienna"})
    assert "Europe/Vienna" in result.text
    assert not result.is_error
    assert client.call_tool("get_current_time", {"timezone": "Nowhere/Land"}).is_error
    kill_server("mcp-server-time")
    until(lambda: client.stats().reconnects == 1, otherwise=lambda: repr(client))
    assert "UTC" in client.call_tool("get_current_time", {"timezone": "UTC"}).text


def test_the_official_package_speaks_the_stateless_era(make_stdio: MakeStdio) -> None:
    client = make_stdio([sys.executable, OFFICIAL], **PATIENCE).wait_ready()
    assert (client.protocol_version, client.server_info.name) == ("2026-07-28", "official")
    assert client.instructions == "ask politely"
    assert {one.name for one in client.list_tools()} == {"add", "pid", "die", "count", "fail"}
    assert client.call_tool("add", {"a": 2, "b": 40}).structured_content == {"result": 42}
    assert [one.uri for one in client.list_resources()] == ["toy://greeting"]
    assert client.read_resource("toy://greeting").raw["contents"][0]["text"] == "hello ü"
    assert [one.name for one in client.list_prompts()] == ["poem"]
    assert "about rain" in str(client.get_prompt("poem", {"about": "rain"}).raw)
    client.ping()


def test_the_official_package_reports_progress_and_failures(make_stdio: MakeStdio) -> None:
    client = make_stdio([sys.executable, OFFICIAL], **PATIENCE)
    heard: list[Progress] = []
    assert client.call_tool("count", {"to": 3}, on_progress=heard.append).text == "counted"
    assert [(one.progress, one.total, one.message) for one in heard] == [
        (1, 3, "step 1"),
        (2, 3, "step 2"),
        (3, 3, "step 3"),
    ]
    assert client.call_tool("fail").is_error
    with pytest.raises(errors.RemoteError):
        client.read_resource("toy://nothing")
    with pytest.raises(errors.RemoteError) as caught:
        client.request("no/such/method")
    assert caught.value.code == -32601


@pytest.mark.requirement("connection:recover")
def test_the_official_package_dies_in_a_call_and_is_replaced(make_stdio: MakeStdio) -> None:
    client = make_stdio([sys.executable, OFFICIAL], **PATIENCE)
    before = client.call_tool("pid").text
    with pytest.raises(errors.ConnectionLost, match="the server exited with code 9") as caught:
        client.call_tool("die", {"code": 9})
    assert caught.value.outcome == "unknown"
    after = client.call_tool("pid", wait=True).text
    assert after != before
    assert client.protocol_version == "2026-07-28"


@pytest.mark.parametrize("protocol", ["auto", "2025-06-18", "2024-11-05"])
def test_the_official_package_speaks_older_revisions_too(protocol: str, make_stdio: MakeStdio) -> None:
    client = make_stdio([sys.executable, OFFICIAL], protocol=protocol, **PATIENCE).wait_ready()
    assert client.protocol_version == ("2026-07-28" if protocol == "auto" else protocol)
    assert client.call_tool("add", {"a": 1, "b": 1}).text == "2"


def test_the_everything_server(everything: list[str], make_stdio: MakeStdio) -> None:
    client = make_stdio(everything, **PATIENCE).wait_ready()
    assert client.protocol_version == "2025-11-25"
    assert client.server_info.name == "mcp-servers/everything"
    names = {one.name for one in client.list_tools()}
    assert {"echo", "get-sum", "get-tiny-image", "trigger-long-running-operation"} <= names
    assert client.call_tool("echo", {"message": "grüß dich"}).text == "Echo: grüß dich"
    assert client.call_tool("get-sum", {"a": 2, "b": 3}).text == "The sum of 2 and 3 is 5."
    resources = client.list_resources()
    assert client.read_resource(resources[0].uri).raw["contents"][0]["uri"] == resources[0].uri
    assert {one.name for one in client.list_prompts()} >= {"simple-prompt", "args-prompt"}
    assert "Paris" in str(client.get_prompt("args-prompt", {"city": "Paris"}).raw)
    client.ping()
    futures = [client.submit_tool("get-sum", {"a": number, "b": 1}) for number in range(50)]
    assert [future.result(4 * BOUND).text for future in futures] == [
        f"The sum of {number} and 1 is {number + 1}." for number in range(50)
    ]


@pytest.mark.requirement("connection:recover")
def test_the_everything_server_is_killed_in_the_middle_of_a_call(
    everything: list[str], make_stdio: MakeStdio
) -> None:
    client = make_stdio(everything, **PATIENCE)
    client.list_tools()
    heard: list[Progress] = []

    def kill(news: Progress) -> None:
        if not heard:
            kill_server("server-everything")
        heard.append(news)

    arguments = {"duration": 60, "steps": 600}
    with pytest.raises(errors.ConnectionLost, match="killed by SIGKILL"):
        client.call_tool("trigger-long-running-operation", arguments, on_progress=kill)
    assert heard
    assert client.call_tool("echo", {"message": "back"}, wait=True).text == "Echo: back"


def test_a_call_of_the_everything_server_is_cancelled(everything: list[str], make_stdio: MakeStdio) -> None:
    client = make_stdio(everything, **PATIENCE).wait_ready()
    future = client.submit_tool("trigger-long-running-operation", {"duration": 60, "steps": 2})
    assert future.cancel()
    assert client.call_tool("echo", {"message": "still there"}).text == "Echo: still there"
    with pytest.raises(errors.RequestTimeout):
        client.call_tool("trigger-long-running-operation", {"duration": 60, "steps": 2}, timeout=0.2)
    assert client.call_tool("echo", {"message": "usable"}).text == "Echo: usable"
    assert client.stats().reconnects == 0
