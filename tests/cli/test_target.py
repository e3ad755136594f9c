"""Which server is meant: a command, a file, a name in a file, and what is said when it is none of them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from mcp_actors import Client
from mcp_actors.auth import ClientCredentials
from mcp_actors.cli import config_files
from mcp_actors.cli.app import app
from mcp_actors.cli.demo_server import COMMAND
from mcp_actors.cli.mistake import Mistake
from mcp_actors.cli.target import Target, split
from tests.auth.protected_server import ProtectedServer
from tests.cli.running import run

DEMO = {"command": COMMAND[0], "args": list(COMMAND[1:])}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home and a working directory without any configuration."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    return here


def write(path: Path, servers: dict[str, Any], key: str = "mcpServers") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({key: servers}))
    return path


@given(st.lists(st.text().filter(lambda word: word != "--")), st.lists(st.text() | st.just("--")))
def test_the_first_separator_parts_our_words_from_the_servers(own: list[str], command: list[str]) -> None:
    assert split([*own, "--", *command]) == (own, command)
    assert split(own) == (own, [])


@pytest.mark.parametrize(
    "given_twice",
    [
        {"url": "http://x", "command": ("server",)},
        {"config": Path("x"), "command": ("server",)},
        {"server": "x", "url": "http://x"},
    ],
)
def test_a_server_is_named_in_one_way(given_twice: dict[str, Any]) -> None:
    with pytest.raises(Mistake, match="say in one way which server you want, not by .* and "):
        Target(**given_twice)


@pytest.mark.parametrize("seconds", [0, -1, float("inf"), float("nan")])
def test_a_timeout_is_a_positive_number_of_seconds(seconds: float) -> None:
    with pytest.raises(Mistake, match="--timeout must be a positive number of seconds"):
        Target(timeout=seconds)


@pytest.mark.parametrize("option", ["--env", "--cwd"])
@pytest.mark.parametrize("named", ["--url", "--config"])
def test_what_only_a_started_server_has_is_not_for_one_that_runs(home: Path, named: str, option: str) -> None:
    url = "http://127.0.0.1:9/mcp"
    where = url if named == "--url" else str(write(home / "servers.json", {"far": {"url": url}}))
    done = run("list", named, where, option, {"--env": "A=1", "--cwd": str(home)}[option], cwd=home)
    server = url if named == "--url" else "far"
    assert (done.code, done.out) == (2, "")
    assert done.err == f"mcp-actors: {option} is for servers that are started here; {server} runs already\n"


def test_variables_are_given_or_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OURS", "passed on")
    monkeypatch.delenv("MISSING", raising=False)
    assert Target(env=["A=1", "B=", "C=x=y", "OURS"]).environment() == {
        "A": "1",
        "B": "",
        "C": "x=y",
        "OURS": "passed on",
    }
    with pytest.raises(Mistake, match="write MISSING=VALUE"):
        Target(env=["MISSING"]).environment()
    with pytest.raises(Mistake, match="must be KEY=VALUE or KEY"):
        Target(env=["=x"]).environment()


def test_a_directory_must_be_one(tmp_path: Path) -> None:
    with pytest.raises(Mistake, match="is no directory"):
        Target(cwd=tmp_path / "nowhere")


def test_the_files_of_the_folder_come_before_the_users(home: Path) -> None:
    desktop = config_files.places()[-1]
    for path in (Path(".cursor/mcp.json"), desktop):
        write(path, {path.parent.name: DEMO})
    config, name = config_files.choose(None, None)
    assert (str(config.place), name) == (".cursor/mcp.json", ".cursor")
    write(home / ".mcp.json", {"first": DEMO})
    assert config_files.choose(None, None)[1] == "first"
    assert config_files.files() == [Path(".mcp.json"), Path(".cursor/mcp.json"), desktop]


@pytest.mark.usefixtures("home")
def test_a_name_is_looked_for_in_every_file() -> None:
    write(Path(".mcp.json"), {"a": DEMO})
    write(Path(".vscode/mcp.json"), {"b": DEMO}, "servers")
    config, name = config_files.choose(None, "b")
    assert (str(config.place), name) == (".vscode/mcp.json", "b")
    with pytest.raises(Mistake, match=r"no server 'c'; there are .mcp.json: a; .vscode/mcp.json: b"):
        config_files.choose(None, "c")


@pytest.mark.usefixtures("home")
def test_of_several_servers_one_must_be_named() -> None:
    write(Path(".mcp.json"), {"a": DEMO, "b": DEMO})
    with pytest.raises(Mistake, match="a, b") as refused:
        config_files.choose(None, None)
    assert "--server NAME" in refused.value.details


@pytest.mark.parametrize(
    ("platform", "place"), [("darwin", "Library/Application Support"), ("linux", ".config")]
)
def test_claude_desktop_keeps_its_file_where_the_system_wants_it(
    home: Path, monkeypatch: pytest.MonkeyPatch, platform: str, place: str
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    expected = home.parent / "home" / place / "Claude" / "claude_desktop_config.json"
    assert config_files.places()[-1] == expected


def test_the_command_speaks_to_a_configured_server(home: Path) -> None:
    file = write(home / "servers.json", {"demo": DEMO, "off": {**DEMO, "disabled": True}})
    done = run("call", "add", "a=1", "b=2", "--config", str(file), "--server", "demo", cwd=home)
    assert (done.code, done.out) == (0, "3\n")
    # The only one that is not disabled needs no name.
    assert run("read", "demo://about", "--config", str(file), cwd=home).code == 0
    refused = run("ping", "--config", str(file), "--server", "off", cwd=home)
    assert refused.code == 2
    assert "disabled" in refused.err


def test_an_option_of_the_file_that_cannot_be_used_is_a_mistake_of_the_file(home: Path) -> None:
    wrong = {**DEMO, "x-mcp-actors": {"request_timeout": "5"}}
    done = run("list", "--config", str(write(home / "servers.json", {"demo": wrong})), cwd=home)
    assert (done.code, done.out) == (2, "")
    assert done.err.endswith("servers.json: server 'demo': request_timeout must be a number, not str\n")


def test_variables_are_added_to_those_of_the_entry(home: Path) -> None:
    program = "import os, sys; sys.exit(os.environ['A'] + os.environ['B'] + os.getcwd())"
    entry = {"command": sys.executable, "args": ["-c", program], "env": {"A": "from the file "}}
    file = write(home / "servers.json", {"only": entry})
    done = run("ping", "--config", str(file), "--env", "B=from us ", "--cwd", str(home.parent), cwd=home)
    assert done.code == 3
    assert f"from the file from us {home.parent}" in done.err


@pytest.mark.parametrize(
    ("text", "said"),
    [("{", "not valid JSON"), ('{"mcpServers": {}}', "no servers"), ('{"x": 1}', "no servers found")],
)
def test_a_bad_file_is_told_in_one_line(home: Path, text: str, said: str) -> None:
    file = home / "servers.json"
    file.write_text(text)
    done = run("list", "--config", str(file), cwd=home)
    assert done.code == 2
    assert done.out == ""
    assert done.err.startswith("mcp-actors: ")
    assert said in done.err


def test_a_missing_file_and_no_file_are_told_in_one_line(home: Path) -> None:
    missing = run("list", "--config", "nowhere.json", cwd=home)
    assert missing.code == 2
    assert "nowhere.json" in missing.err.splitlines()[0]
    none = run("list", cwd=home)
    assert none.code == 2
    assert none.err.startswith("mcp-actors: no server was named: give its command after --")
    assert ".vscode/mcp.json" in none.err


def test_a_warning_about_a_file_is_one_line_and_no_failure(home: Path) -> None:
    file = write(home / "servers.json", {"demo": {**DEMO, "comand": "x"}})
    done = run("ping", "-n", "1", "--config", str(file), cwd=home)
    assert done.code == 0
    (line,) = done.err.splitlines()
    assert line.startswith(f"warning: {file}: server 'demo', comand: unknown key")


def test_an_address_where_nobody_listens_is_an_error_without_a_traceback(home: Path) -> None:
    done = run("list", "--url", "http://localhost:1/mcp", cwd=home)
    assert done.code == 3
    assert done.err.startswith("mcp-actors: ")


def test_an_address_is_reached_over_http(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reached: list[object] = []

    def http(url: str, headers: dict[str, str], **options: Any) -> Client:
        reached.append((url, headers))
        return Client.stdio(COMMAND, **options)

    monkeypatch.setattr(Client, "http", http)
    done = CliRunner().invoke(app, ["ping", "-n", "1", "--url", "http://localhost:1/mcp", "-H", "A: b:c"])
    assert (done.exit_code, reached) == (0, [("http://localhost:1/mcp", {"A": "b:c"})])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--url", "http://localhost:1/mcp", "--header", "opensesame"), "--header must be 'NAME: VALUE'"),
        (("--url", "http://localhost:1/mcp", "--header", "two words: x"), "'two words' is no header's name"),
        (("--header", "A: b"), "--header goes with --url; a server in a file has its headers there"),
    ],
)
def test_a_header_that_is_none_or_has_nowhere_to_go_is_a_mistake(
    home: Path, words: tuple[str, ...], told: str
) -> None:
    done = run("list", *words, cwd=home)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"mcp-actors: {told}")
    assert "opensesame" not in done.err


def test_who_is_not_authorized_is_told_how_to_show_a_token(home: Path) -> None:
    with ProtectedServer() as server:
        done = run("list", "--url", server.resource_url, cwd=home)
        assert done.code == 5
        first, second = done.err.splitlines()
        assert "HTTP 401: the server wants to know who asks" in first
        assert second.startswith("  --header 'Authorization: Bearer TOKEN'")
        server.add_client("ci", secret="a-long-secret")
        with Client.http(server.resource_url, auth=ClientCredentials("ci", "a-long-secret")) as client:
            client.ping()
        token = server.issued("access_token")[-1]
        done = run("list", "--url", server.resource_url, "-H", f"Authorization: Bearer {token}", cwd=home)
        assert done.code == 0


def test_a_revision_nobody_knows_is_refused(home: Path) -> None:
    done = run("list", "--protocol", "1999-01-01", server=list(COMMAND), cwd=home)
    assert done.code == 2
    assert "2025-11-25" in done.err


def test_a_revision_is_spoken_if_it_is_asked_for(home: Path) -> None:
    done = run("ping", "-n", "1", "--protocol", "2025-06-18", server=list(COMMAND), cwd=home)
    assert done.code == 0
    assert done.out.startswith("demo 1.0, MCP 2025-06-18, ready after ")
