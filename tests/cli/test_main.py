"""The command mcp-actors: how it starts, and what it says when it cannot."""

from __future__ import annotations

import runpy
import subprocess
import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec

import pytest
from typer.testing import CliRunner

from mcp_actors.cli import main as entry
from mcp_actors.cli.app import app


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


def test_the_version_is_the_one_of_the_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda name: f"1.2.3 of {name}")
    shown = CliRunner().invoke(app, ["--version"])
    assert shown.exit_code == 0
    assert shown.stdout == "mcp-actors 1.2.3 of mcp-actors\n"


def test_help_names_the_demo() -> None:
    shown = CliRunner().invoke(app, ["--help"])
    assert shown.exit_code == 0
    assert "demo" in shown.stdout


def test_python_m_runs_the_same_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["mcp-actors", "--help"])
    with pytest.raises(SystemExit) as exit_:
        runpy.run_module("mcp_actors", run_name="__main__")
    assert exit_.value.code == 0
    assert "synchronous Python" in capsys.readouterr().out


def test_an_unknown_command_is_refused_without_a_traceback() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mcp_actors", "dance"], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    assert "No such command" in done.stderr
    assert "Traceback" not in done.stderr
