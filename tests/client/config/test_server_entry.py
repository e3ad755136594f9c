"""The entry of one server: kinds, commands, environments, addresses, and keys that have no effect."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from mcp_actors.client.config import ConfigError, ConfigWarning, ServerEntry, load_config

ENVIRON = {"HOME": "/home/ann", "TOKEN": "s3cret", "LINES": "s3cret\n", "NUL": "s3cret\0", "EMPTY": ""}


def read(given: Any) -> ServerEntry:
    return load_config({"mcpServers": {"one": given}}, environ=ENVIRON).entry("one")


def complaint(given: Any) -> str:
    """The first line of the error that an entry raises; no secret is ever in it."""
    with pytest.raises(ConfigError) as caught:
        read(given)
    assert "s3cret" not in str(caught.value)
    prefix, _, text = str(caught.value).splitlines()[0].partition("configuration: server 'one'")
    assert prefix == ""
    return text.lstrip(",: ")


def test_a_command_with_everything() -> None:
    entry = read(
        {
            "type": "stdio",
            "command": "~/bin/${RUNNER:-uvx}",
            "args": ["--token", "${TOKEN}", "$TOKEN", "~"],
            "env": {"KEY": "<${env:TOKEN}>", "PORT": 8080, "RATE": 0.5, "DEBUG": True, "OFF": False},
            "cwd": "~/work",
        }
    )
    assert entry == ServerEntry(
        name="one",
        kind="stdio",
        command=("/home/ann/bin/uvx", "--token", "s3cret", "$TOKEN", "~"),
        env={"KEY": "<s3cret>", "PORT": "8080", "RATE": "0.5", "DEBUG": "true", "OFF": "false"},
        cwd="/home/ann/work",
    )


def test_an_address_with_everything() -> None:
    headers = {"Authorization": "Bearer ${TOKEN}", "X-Version": 2}
    entry = read({"type": "http", "url": "https://${TOKEN}.example/mcp", "headers": headers})
    assert entry == ServerEntry(
        name="one",
        kind="http",
        url="https://s3cret.example/mcp",
        headers={"Authorization": "Bearer s3cret", "X-Version": "2"},
    )


@pytest.mark.parametrize(
    ("given", "command"),
    [
        ({"command": "run it"}, ("run it",)),
        ({"command": ["~/run", "~", "${TOKEN}"]}, ("/home/ann/run", "~", "s3cret")),
        ({"command": ["run", "a"], "args": ["b", ""]}, ("run", "a", "b", "")),
        ({"command": ("run", "a"), "args": ("b",)}, ("run", "a", "b")),
        ({"command": "run", "args": None, "env": None, "cwd": None, "envFile": None, "odd": None}, ("run",)),
    ],
)
def test_a_command_may_be_a_list_and_null_is_as_if_nothing_stood_there(
    given: Any, command: tuple[str, ...]
) -> None:
    entry = read(given)
    assert (entry.command, entry.env, entry.cwd) == (command, {}, None)


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({"command": "x"}, "stdio"),
        ({"url": "http://x/mcp"}, "http"),
        ({"url": "http://x/sse"}, "http"),
        ({"type": "stdio", "command": "x"}, "stdio"),
        ({"transport": "stdio", "type": "stdio", "command": "x"}, "stdio"),
        ({"type": "http", "url": "http://x"}, "http"),
        ({"transport": "streamable-http", "type": "http", "url": "HTTPS://x"}, "http"),
        ({"type": "streamableHttp", "url": "http://x"}, "http"),
        ({"transport": "streamable_http", "url": "http://x"}, "http"),
        ({"type": "sse", "url": "http://x"}, "sse"),
    ],
)
def test_the_kind_is_named_or_follows_from_command_and_url(given: Any, kind: str) -> None:
    assert read(given).kind == kind


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "has neither 'command' nor 'url'"),
        ({"command": "x", "url": "http://x"}, "has both 'command' and 'url'"),
        ({"type": "stdio", "url": "http://x"}, "a server of type stdio needs 'command'"),
        ({"type": "sse", "command": "x"}, "a server of type sse needs 'url'"),
        ({"type": "http", "transport": "sse", "url": "http://x"}, "type and transport name different"),
        ({"type": "htpp", "url": "http://x"}, "type: must be one of stdio, http, .*did you mean 'http'"),
        ({"transport": "pigeon", "url": "http://x"}, "transport: must be one of stdio, .* sse$"),
        ({"type": 1, "url": "http://x"}, "type: must be a string, not a number"),
        ({"type": "", "command": "x"}, "type: must be one of"),
        ({"command": ""}, "command: must name a program"),
        ({"command": []}, "command: must name a program"),
        ({"command": "${EMPTY}"}, "command: must name a program"),
        ({"command": 5}, "command: must be a string, not a number"),
        ({"command": {"s3cret": 1}}, "command: must be a string, not an object"),
        ({"command": ["x", 5]}, r"command\[1\]: must be a string, not a number"),
        ({"command": "x", "args": "s3cret"}, "args: must be a list of strings, not a string"),
        ({"command": "x", "args": {"a": 1}}, "args: must be a list of strings, not an object"),
        ({"command": "x", "args": ["--port", 8080]}, r"args\[1\]: must be a string, not a number; put it in"),
        ({"command": "x", "args": [None]}, r"args\[0\]: must be a string, not null"),
        ({"command": "x", "args": [True]}, r"args\[0\]: must be a string, not true or false"),
        ({"command": "x", "args": [b"s3cret"]}, r"args\[0\]: must be a string, not bytes"),
        ({"command": "x", "args": ["${UNSET}"]}, r"args\[0\]: .* UNSET is not set"),
        ({"command": "x", "args": ["${NUL}"]}, r"args\[0\]: holds a NUL"),
        ({"command": "x", "env": ["KEY=s3cret"]}, "env: must be an object, not a list"),
        ({"command": "x", "env": {"KEY": ["s3cret"]}}, "env.KEY: must be a string, a number, .* not a list"),
        ({"command": "x", "env": {"KEY": None}}, "env.KEY: must be a string, a number, .* not null"),
        ({"command": "x", "env": {"KEY": "s3cret${UNSET}"}}, "env.KEY: .* UNSET is not set"),
        ({"command": "x", "env": {"A=s3cret": "1"}}, "env: holds a name that no environment variable"),
        ({"command": "x", "env": {"": "s3cret"}}, "env: holds a name that no environment variable"),
        ({"command": "x", "cwd": ["s3cret"]}, "cwd: must be a string, not a list"),
        ({"command": "x", "envFile": "/none/${TOKEN:-a}x"}, "envFile: the file cannot be read"),
        ({"command": "x", "disabled": "yes"}, "disabled: must be true or false, not a string"),
        ({"command": "x", "enabled": 1}, "enabled: must be true or false, not a number"),
        ({"url": ""}, "url: must be an address that starts with http:// or https://"),
        ({"url": "ftp://s3cret"}, "url: must be an address that starts with http:// or https://"),
        ({"url": "http://"}, "url: must be an address that starts with http:// or https://"),
        ({"url": "http://x/${LINES}"}, "url: must be an address that starts with http:// or https://"),
        ({"url": "http://x", "headers": {"A": "${LINES}"}}, "headers.A: must be one line"),
        ({"url": "http://x", "headers": {"A": "${UNSET}"}}, "headers.A: .* UNSET is not set"),
        ({"url": "http://x", "headers": ["s3cret"]}, "headers: must be an object, not a list"),
    ],
)
def test_a_mistake_is_named_with_its_place_and_without_the_value(given: Any, words: str) -> None:
    assert re.match(words, complaint(given)), complaint(given)


def test_an_env_file_adds_variables_and_env_wins(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("A=file\nB=file ${TOKEN}\n")
    given = {"command": "x", "envFile": "${FOLDER}/.env", "env": {"A": "entry"}}
    environ = {"FOLDER": str(tmp_path)}
    entry = load_config({"one": given}, environ=environ).entry("one")
    assert entry.env == {"A": "entry", "B": "file ${TOKEN}"}
    at_home = load_config({"one": {"command": "x", "envFile": "~/.env"}}, environ={"HOME": str(tmp_path)})
    assert at_home.entry("one").env["A"] == "file"


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ({"colour": "s3cret"}, "colour: unknown key, ignored$"),
        ({"auth": "s3cret"}, "auth: unknown key, ignored$"),
        ({"Args": ["s3cret"]}, r"Args: unknown key, ignored \(did you mean 'args'\?\)"),
        ({"environment": {"A": "s3cret"}}, "environment: unknown key, ignored"),
        ({"headers": {"A": "s3cret"}}, "headers: has no effect on servers of type stdio"),
        ({"type": "stdio", "url": "http://s3cret"}, "url: has no effect on servers of type stdio"),
    ],
)
def test_a_key_without_effect_is_warned_of_once(extra: dict[str, Any], words: str) -> None:
    with pytest.warns(ConfigWarning) as caught:
        entry = read({"command": "x", **extra})
    (text,) = [str(one.message) for one in caught]
    assert re.search(f"^configuration: server 'one', {words}", text)
    assert "s3cret" not in text
    assert entry == ServerEntry(name="one", kind="stdio", command=("x",))


def test_each_key_without_effect_gets_a_warning_of_its_own() -> None:
    with pytest.warns(ConfigWarning) as caught:
        read({"url": "http://x", "args": [], "cwd": "/", "auth": "s3cret"})
    assert [str(one.message).split(", ")[1].split(":")[0] for one in caught] == ["args", "cwd", "auth"]


@pytest.mark.parametrize("key", ["auth", "oauth"])
def test_how_to_be_authorized_is_said_to_be_no_matter_of_the_file(key: str) -> None:
    with pytest.warns(ConfigWarning, match=f"{key}: not taken from a file: .* pass auth= to from_config"):
        read({"url": "http://x", key: "s3cret"})


def test_what_other_hosts_keep_for_themselves_is_passed_over_in_silence() -> None:
    foreign = {
        "alwaysAllow": ["add"],
        "autoApprove": [],
        "description": "x",
        "dev": {"watch": "**"},
        "gallery": True,
        "icon": "x.png",
        "prefix": "x_",
        "sandbox": {"network": False},
        "sandboxEnabled": True,
        "tool_filters": {"allowed": ["add"]},
        "version": "1.0",
    }
    assert read({"command": "x", **foreign}) == read({"command": "x"})


def test_a_disabled_server_can_be_looked_at() -> None:
    assert not read({"command": "x", "disabled": False, "enabled": True}).disabled
    assert read({"command": "x", "disabled": True}).disabled
    assert read({"command": "x", "enabled": False}).disabled


def test_the_repr_of_an_entry_shows_nothing_that_may_be_secret() -> None:
    shown = repr(read({"command": ["x", "${TOKEN}"], "env": {"KEY": "${TOKEN}"}}))
    shown += repr(read({"url": "http://x/?key=${TOKEN}", "headers": {"A": "${TOKEN}"}}))
    assert "name='one', kind='stdio'" in shown
    assert "s3cret" not in shown
