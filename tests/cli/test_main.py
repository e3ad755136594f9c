"""The command mcp-actors: how it starts, and what it says when it cannot."""

from __future__ import annotations

import runpy
import subprocess
import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from mcp_actors.cli import config_files
from mcp_actors.cli import main as entry
from mcp_actors.cli.app import app
from mcp_actors.version import VERSION


def test_without_its_libraries_the_command_says_how_to_install_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def find(name: str) -> ModuleSpec | None:
        return None if name in entry.NEEDED else find_spec(name)

    monkeypatch.setattr(entry, "find_spec", find)
    with pytest.raises(SystemExit) as exit_:
        entry.main()
    assert exit_.value.code == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "typer and rich" in printed.err
    assert "pip install 'mcp-actors[cli]'" in printed.err
    assert "Traceback" not in printed.err


def test_one_missing_library_is_named_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(entry, "find_spec", lambda name: None if name == "rich" else find_spec(name))
    with pytest.raises(SystemExit):
        entry.main()
    assert "needs rich, which" in capsys.readouterr().err


def test_the_version_is_the_one_of_the_package() -> None:
    shown = CliRunner().invoke(app, ["--version"])
    assert shown.exit_code == 0
    assert shown.stdout == f"mcp-actors {VERSION}\n"


COMMANDS = ("list", "call", "read", "prompt", "ping", "tree", "servers", "demo")


@pytest.mark.parametrize("words", [["--help"], []])
def test_help_names_every_command(words: list[str]) -> None:
    shown = CliRunner().invoke(app, words)
    assert [line.split()[0] for line in shown.stdout.splitlines()[-len(COMMANDS) :]] == list(COMMANDS)
    assert "..." not in shown.stdout.partition("Commands:")[2]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_within_eighty_columns(command: str) -> None:
    shown = CliRunner().invoke(app, [command, "--help"])
    assert shown.exit_code == 0
    assert max(map(len, shown.stdout.splitlines())) <= 80
    assert ("--server NAME" in shown.stdout) == (command not in ("servers", "demo"))


def test_python_m_runs_the_same_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["mcp-actors", "--help"])
    with pytest.raises(SystemExit) as exit_:
        runpy.run_module("mcp_actors", run_name="__main__")
    assert exit_.value.code == 0
    assert "Speak to an MCP server" in capsys.readouterr().out


def test_an_interrupt_before_any_command_ends_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("mcp_actors.cli.app.app", interrupted)
    with pytest.raises(SystemExit) as exit_:
        entry.main()
    assert exit_.value.code == 130


def test_an_interrupt_that_typer_turns_into_its_own_error_ends_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted() -> list[Path]:
        raise typer.Abort

    monkeypatch.setattr(config_files, "files", interrupted)
    assert CliRunner().invoke(app, ["servers"]).exit_code == 130


def test_an_unknown_command_is_refused_without_a_traceback() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mcp_actors", "dance"], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    assert "No such command" in done.stderr.splitlines()[0]
    assert "Traceback" not in done.stderr
