"""What a server process gets from its host: its arguments verbatim, a short environment, a directory."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcp_actors import Client, errors
from tests.client.faulty_client import FAULTY
from tests.client.waiting import until

MakeStdio = Callable[..., Client]
SERVER = [sys.executable, "-S", "-E", FAULTY, "none"]


def surroundings(client: Client) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(client.call_tool("surroundings").text)
    return found


@pytest.mark.requirement("security:no-shell")
def test_arguments_reach_the_server_verbatim(make_stdio: MakeStdio, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    odd = [f"$(touch {victim})", f"; touch {victim}", "*", "a b", "", "ü\n'\"\\", "--", f"`touch {victim}`"]
    assert surroundings(make_stdio([*SERVER, *odd]))["argv"][2:] == odd
    assert not victim.exists()


@pytest.mark.requirement("security:no-shell")
def test_the_hosts_secrets_stay_at_home_unless_they_are_passed_by_name(
    make_stdio: MakeStdio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cret")
    monkeypatch.setenv("LC_TIME", "C.UTF-8")
    monkeypatch.setenv("BASH_FUNC_x%%", "() { :; }")
    env = surroundings(make_stdio(SERVER, env={"GIVEN": "1", "TERM": "mine"}))["env"]
    assert "AWS_SECRET_ACCESS_KEY" not in env
    assert "BASH_FUNC_x%%" not in env
    assert (env["GIVEN"], env["TERM"], env["LC_TIME"]) == ("1", "mine", "C.UTF-8")
    assert "PATH" in env


@pytest.mark.requirement("security:no-shell")
def test_the_whole_environment_is_passed_on_request(
    make_stdio: MakeStdio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_SETTING", "here")
    assert surroundings(make_stdio(SERVER, inherit_env=True))["env"]["SOME_SETTING"] == "here"


def test_a_server_runs_where_it_is_told_to(make_stdio: MakeStdio, tmp_path: Path) -> None:
    assert surroundings(make_stdio(SERVER, cwd=tmp_path))["cwd"] == str(tmp_path.resolve())


@pytest.mark.requirement("telemetry:logs")
@pytest.mark.parametrize(("name", "logger"), [("talker", "talker"), ("talker 1.0", "talker_1_0")])
def test_stderr_goes_to_a_logger_of_its_own(
    name: str, logger: str, make_stdio: MakeStdio, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "mcp_actors.stderr"):
        client = make_stdio([sys.executable, "-S", "-E", FAULTY, "exit"], name=name)
        with pytest.raises(errors.ConnectionLost):
            client.call_tool("fault")
        until(lambda: client.stats().reconnects == 1)
    wanted = f"mcp_actors.stderr.{logger}"
    lines = [record.getMessage() for record in caplog.records if record.name == wanted]
    assert lines == ["FATAL: database password rejected"]


@pytest.mark.requirement("error:crash-report")
@pytest.mark.requirement("error:plain")
def test_the_error_of_a_crash_tells_all_that_a_reader_needs(make_stdio: MakeStdio) -> None:
    client = make_stdio([sys.executable, "-S", "-E", FAULTY, "exit", "--token", "hidden-from-logs"])
    with pytest.raises(errors.ConnectionLost) as caught:
        client.call_tool("fault")
    lines = str(caught.value).splitlines()
    assert lines[0] == (
        "tools/call 'fault' lost its connection: the server exited with code 7; it may or may not have run"
    )
    assert lines[1].startswith("  exit: code 7 after ")
    assert "  | FATAL: database password rejected" in [line.removeprefix("  ") for line in lines]
    assert any("to reproduce:" in line and "faulty.py exit" in line for line in lines)
    assert "hidden-from-logs" not in str(caught.value)
    report = caught.value.crash_report
    assert report is not None
    assert (report.exit_code, report.signal, report.protocol_version) == (7, None, "2026-07-28")
    assert report.pid is not None
    assert any('"fault"' in frame for frame in report.frames_sent)
    assert report.restarts == () or report.restarts[-1].reason == "the server exited with code 7"


def test_content_length_framing_is_an_option(make_stdio: MakeStdio) -> None:
    program = (
        "import sys, json\n"
        "i, o = sys.stdin.buffer, sys.stdout.buffer\n"
        "while True:\n"
        "    n = int(i.readline().split(b':')[1]); i.readline(); m = json.loads(i.read(n))\n"
        "    if 'id' not in m: continue\n"
        "    r = {'supportedVersions': ['2026-07-28'], 'capabilities': {'tools': {}}, 'content': []}\n"
        "    b = json.dumps({'jsonrpc': '2.0', 'id': m['id'], 'result': r}).encode()\n"
        "    o.write(b'Content-Length: %d\\r\\n\\r\\n' % len(b) + b); o.flush()\n"
    )
    client = make_stdio([sys.executable, "-S", "-E", "-c", program], framing="content-length")
    assert client.call_tool("x").text == ""
