"""mcp-actors servers: what the files say, without starting anything and without secrets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Invoke

SERVERS = {
    "time": {"command": "uvx", "args": ["mcp-server-time", "--local-timezone", "Europe/Vienna"]},
    "secret": {"command": "server", "args": ["--token", "sk-abcdefghijklmnop1234"]},
    "web": {"url": "https://user:password@example.org/mcp"},
    "off": {"command": "server", "disabled": True},
    "broken": {"args": ["x"]},
}


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = Path(".mcp.json")
    path.write_text(json.dumps({"mcpServers": SERVERS}))
    return path


@pytest.mark.usefixtures("file")
def test_servers_are_listed_by_file(invoke: Invoke) -> None:
    done = invoke("servers", server=None)
    assert done.code == 0
    title, *lines = done.out.splitlines()
    assert title == ".mcp.json"
    assert "  time    uvx mcp-server-time --local-timezone Europe/Vienna" in lines
    assert "  off     (disabled) server" in lines
    assert any(line.startswith("  broken  ") and "command" in line for line in lines)


@pytest.mark.usefixtures("file")
def test_secrets_are_not_shown(invoke: Invoke) -> None:
    for words in (("servers",), ("servers", "--json")):
        out = invoke(*words, server=None).out
        assert "abcdefghijklmnop" not in out
        assert "password" not in out
        assert "https://***@example.org/mcp" in out


def test_json_has_a_list_for_each_file(invoke: Invoke, file: Path) -> None:
    value = json.loads(invoke("servers", "--json", "--config", str(file), server=None).out)
    entries = {entry["name"]: entry for entry in value[str(file)]}
    assert list(entries) == list(SERVERS)
    assert entries["off"]["disabled"] is True
    assert entries["web"]["kind"] == "http"
    assert "error" in entries["broken"]


def test_without_a_file_the_places_are_named(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    done = invoke("servers", server=None)
    assert (done.code, done.out) == (0, "")
    assert done.err.splitlines()[1] == "  .mcp.json"
