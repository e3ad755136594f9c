"""From a configuration to a client that works."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_actors import Client
from mcp_actors.cli.demo_server import COMMAND
from mcp_actors.client.client import registry
from mcp_actors.client.config import Config, ConfigError, load_config
from mcp_actors.client.config.opening import open_client

DEMO = {"command": COMMAND[0], "args": list(COMMAND[1:])}
TELLS = 'import os, sys; sys.stderr.write(f\'{os.getcwd()} {os.environ["KEY"] == "a value"}\')'


class Recorded:
    """Stands for a client whose constructors only remember what they were given."""

    made: list[tuple[str, object, dict[str, Any]]]

    @classmethod
    def stdio(cls, command: object, **options: Any) -> Recorded:
        return cls._make("stdio", command, options)

    @classmethod
    def http(cls, url: object, **options: Any) -> Recorded:
        return cls._make("http", url, options)

    @classmethod
    def _make(cls, kind: str, target: object, options: dict[str, Any]) -> Recorded:
        cls.made.append((kind, target, options))
        return cls()


@pytest.fixture
def recorded() -> Any:
    Recorded.made = []
    return Recorded


def test_a_server_of_a_file_is_started_and_answers(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"demo": DEMO, "other": {"command": "${UNSET}"}}}))
    with open_client(Client, file, "demo", {"request_timeout": 5.0}) as client:
        assert client.call_tool("add", {"a": 1, "b": 2}).text == "3"
    assert registry.lookup("demo") is None


def test_the_process_gets_the_folder_and_the_variables_of_its_entry(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    own = {"max_failed_starts": 1}
    given = {
        "command": [sys.executable, "-c", TELLS],
        "cwd": str(folder),
        "env": {"KEY": "a value"},
        "x-mcp-actors": own,
    }
    client = open_client(Client, {"only": given}, None, {})
    with pytest.raises(ConnectionError), client:
        pass
    report = client.crash_report
    assert report is not None
    assert report.stderr_tail[-1] == f"{folder.resolve()} True"


def test_options_of_the_entry_are_used_and_overrides_win(recorded: Any) -> None:
    own = {"request_timeout": 5, "window": 2}
    config = {"demo": {"command": ["run", "a"], "env": {"A": "1"}, "cwd": "/x", "x-mcp-actors": own}}
    open_client(recorded, config, "demo", {"window": 3})
    settings = {"env": {"A": "1"}, "cwd": "/x", "request_timeout": 5, "window": 3}
    assert recorded.made == [("stdio", ("run", "a"), settings)]


def test_an_address_is_given_to_the_constructor_of_its_kind(recorded: Any) -> None:
    entry = {"url": "http://x/mcp", "headers": {"A": "1"}, "x-mcp-actors": {"window": 2}}
    assert isinstance(open_client(recorded, {"web": entry}, None, {}), Recorded)
    assert recorded.made == [("http", "http://x/mcp", {"headers": {"A": "1"}, "window": 2})]


def test_a_loaded_configuration_opens_many(recorded: Any) -> None:
    config = load_config({"a": {"command": "a"}, "b": {"command": "b"}})
    assert isinstance(config, Config)
    for name in config.names:
        open_client(recorded, config, name, {})
    assert [target for _, target, _ in recorded.made] == [("a",), ("b",)]
    with pytest.raises(ConfigError, match="say which server you want; it has a, b"):
        open_client(recorded, config, None, {})


@pytest.mark.parametrize("name", ["off", None])
def test_a_disabled_server_is_not_opened(name: str | None, recorded: Any) -> None:
    config = {"mcpServers": {"off": {**DEMO, "disabled": True}}}
    with pytest.raises(ConfigError, match="^configuration: server 'off': the server is disabled; enable it"):
        open_client(recorded, config, name, {})
    assert recorded.made == []


def test_a_name_among_the_options_registers_the_client() -> None:
    client = open_client(Client, {"demo": {**DEMO, "x-mcp-actors": {"name": "shared"}}}, None, {})
    assert registry.lookup("shared") is client
    client.close()


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"x-mcp-actors": {"request_timeout": "5"}}, "request_timeout must be a number, not str"),
        ({"x-mcp-actors": {"window": 0}}, "window must be"),
    ],
)
def test_a_wrong_value_of_an_option_is_told_with_its_place(entry: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=f"^configuration: server 'demo': {said}"):
        open_client(Client, {"demo": {**DEMO, **entry}}, None, {})


def test_a_wrong_value_that_the_caller_gave_is_the_clients_own_error() -> None:
    given = {"demo": {**DEMO, "x-mcp-actors": {"request_timeout": "5"}}}
    with pytest.raises(TypeError, match="^request_timeout must be a number, not list"):
        open_client(Client, given, None, {"request_timeout": []})


def test_importing_the_package_does_not_import_the_loader() -> None:
    program = "import sys, mcp_actors; sys.exit('mcp_actors.client.config' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False, timeout=60).returncode == 0
