"""Configurations as files and mappings: the forms, the names, and what is said when there is no server."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from mcp_actors.client.config import Config, ConfigError, ConfigWarning, load_config

TIME = {"command": "uvx", "args": ["mcp-server-time"]}
GIT = {"url": "https://git.example/mcp"}
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a text to a file below a new folder."""

    def write(text: str, name: str = "mcp.json") -> Path:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    return write


@pytest.mark.parametrize(
    "document",
    [
        {"mcpServers": {"time": TIME, "git": GIT}},
        {"mcpServers": {"time": TIME, "git": GIT}, "theme": "dark", "command": "unrelated"},
        {"servers": {"time": TIME, "git": GIT}, "inputs": [{"id": "key", "type": "promptString"}]},
        {"time": TIME, "git": GIT},
        {"$schema": "https://example/schema.json", "time": TIME, "git": GIT, "inputs": []},
        MappingProxyType({"time": MappingProxyType(TIME), "git": GIT}),
    ],
)
def test_every_form_gives_the_same_servers(document: Any) -> None:
    config = load_config(document)
    assert config.names == ("time", "git")
    assert config.entry("time").command == ("uvx", "mcp-server-time")
    assert config.entry("git").url == "https://git.example/mcp"


@pytest.mark.parametrize("name", ["servers", "mcpServers"])
def test_a_server_may_bear_the_name_of_a_form(name: str) -> None:
    assert load_config({name: TIME}).names == (name,)
    assert load_config({"servers": {"command": TIME, "url": GIT}}).names == ("command", "url")


def test_a_file_may_hold_comments_trailing_commas_and_a_byte_order_mark(write: Write) -> None:
    entry = '{"command": "uvx", "args": ["http://x",],}'
    text = f'\ufeff{{ // mine\n "servers": {{ /* "a": {{}}, */ "time": {entry}, }}, }}'
    file = write(text, ".vscode/mcp.json")
    for source in (file, str(file)):
        assert load_config(source).entry("time").command == ("uvx", "http://x")


def test_the_path_of_a_file_may_start_with_a_tilde(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(write(json.dumps({"time": TIME})).parent))
    assert load_config("~/mcp.json").names == ("time",)


def test_the_workspace_is_known_from_the_file(write: Write, tmp_path: Path) -> None:
    file = write('{"servers": {"a": {"command": "${workspaceFolder}/run"}}}', ".vscode/mcp.json")
    assert load_config(file).entry("a").command == (f"{tmp_path}/run",)


def test_variables_are_looked_up_when_an_entry_is_asked_for_and_only_its_own() -> None:
    environ: dict[str, str] = {}
    servers = {"a": {"command": "${RUNNER}"}, "b": TIME, "c": "no object", "d": {}}
    config = load_config({"mcpServers": servers}, environ=environ)
    assert config.entry("b").command[0] == "uvx"
    with pytest.raises(ConfigError, match="configuration: server 'a', command: .* RUNNER is not set"):
        config.entry("a")
    environ["RUNNER"] = "npx"
    assert config.entry("a").command == ("npx",)
    with pytest.raises(ConfigError, match="configuration: server 'c': must be an object, not a string"):
        config.entry("c")


def test_the_environment_of_the_process_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    config = load_config({"a": {"command": "${MCP_ACTORS_TEST_RUNNER}"}})
    monkeypatch.setenv("MCP_ACTORS_TEST_RUNNER", "npx")
    assert config.entry("a").command == ("npx",)


def test_an_unknown_name_raises_with_the_known_ones_and_a_close_match(write: Write) -> None:
    file = write(json.dumps({"mcpServers": {"time": TIME, "git": GIT}}))
    with pytest.raises(ConfigError) as caught:
        load_config(file).entry("tiem")
    assert str(caught.value) == f"{file}: no server 'tiem' (did you mean 'time'?); it has time, git"
    with pytest.raises(ConfigError, match="no server 'x'; it has none"):
        load_config({"mcpServers": {}}).entry("x")
    with pytest.raises(TypeError, match="name must be a string, not int"):
        load_config({"mcpServers": {}}).entry(1)  # type: ignore[arg-type]  # the mistake under test


@pytest.mark.parametrize("off", [{"disabled": True}, {"enabled": False}])
def test_the_only_server_is_the_one_that_is_not_disabled(off: dict[str, bool]) -> None:
    assert load_config({"time": TIME}).only.name == "time"
    assert load_config({"time": TIME, "git": {**GIT, **off}}).only.name == "time"
    alone = load_config({"git": {**GIT, **off}}).only
    assert (alone.name, alone.disabled) == ("git", True)


@pytest.mark.parametrize(
    ("servers", "listed"),
    [
        ({"time": TIME, "git": GIT}, "it has time, git"),
        ({"time": {**TIME, "disabled": True}, "git": {**GIT, "disabled": True}}, "it has time, git"),
        ({}, "it has none"),
    ],
)
def test_there_is_no_only_server_among_several_or_none(servers: Any, listed: str) -> None:
    with pytest.raises(ConfigError, match=f"configuration: say which server you want; {listed}"):
        _ = load_config({"mcpServers": servers}).only


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({}, "no servers found; they stand under 'mcpServers' or 'servers'$"),
        ({"mcpServer": {"time": TIME}}, "no servers found.*did you mean 'mcpServers'"),
        ({"theme": "dark", "mcp_servers": {}}, "no servers found.*did you mean 'mcpServers'"),
        ({"theme": "dark"}, "no servers found; they stand under 'mcpServers' or 'servers'$"),
        (TIME, "one server without a name"),
        ({"mcpServers": []}, "mcpServers: must be an object, not a list"),
        ({"servers": None}, "servers: must be an object, not null"),
        ({"mcpServers": {1: TIME}}, "mcpServers: must have strings as keys"),
    ],
)
def test_a_document_without_servers_is_refused_with_the_reason(document: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=f"^configuration: .*{words}" if words[0] == "n" else words):
        load_config(document)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": s3cret}', "not valid JSON: Expecting value at line 1, column 7"),
        ('{"a": \n\n "s3cret', "not valid JSON: .* at line 3, column 2"),
        ("", "not valid JSON: Expecting value at line 1, column 1"),
        ("[" * 100_000, "not valid JSON: nested too deep"),
        ("1" * 5000, "not valid JSON: a number with too many digits"),
        ("[]", "must be an object, not a list"),
        ('"s3cret"', "must be an object, not a string"),
    ],
)
def test_a_file_that_is_no_configuration_is_refused_with_its_name(
    text: str, words: str, write: Write
) -> None:
    file = write(text)
    with pytest.raises(ConfigError, match=words) as caught:
        load_config(file)
    assert str(caught.value).startswith(f"{file}: ")
    assert "s3cret" not in str(caught.value)


def test_a_file_that_cannot_be_read_is_named_and_json_text_is_not_shown(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.json: the file cannot be read: No such file"):
        load_config(tmp_path / "none.json")
    with pytest.raises(ConfigError, match="pass JSON as a dict") as caught:
        load_config(' {"mcpServers": {"a": {"command": "s3cret"}}}')
    assert "s3cret" not in str(caught.value)
    with pytest.raises(TypeError, match="source must be a path or a mapping, not int"):
        load_config(3)  # type: ignore[arg-type]  # the mistake under test


def test_a_name_that_stands_twice_is_warned_of(write: Write) -> None:
    file = write('{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}, },}')
    with pytest.warns(ConfigWarning, match=r"mcp\.json: 'a' stands twice in one object") as caught:
        config = load_config(file)
    assert len(caught) == 1
    assert config.entry("a").command == ("y",)


def test_of_two_holders_of_servers_one_is_read_and_the_other_warned_of() -> None:
    with pytest.warns(ConfigWarning, match="'mcpServers' is read, 'servers' is ignored"):
        config = load_config({"servers": {"git": GIT}, "mcpServers": {"time": TIME}})
    assert config.names == ("time",)


def test_a_configuration_shows_names_and_no_values() -> None:
    config = load_config({"mcpServers": {"time": {"command": "uvx", "env": {"KEY": "s3cret"}}}})
    assert isinstance(config, Config)
    assert repr(config) == "<Config configuration: it has time>"
