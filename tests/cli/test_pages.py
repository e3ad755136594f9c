"""The pages about the command line are true: what they run prints what they say, no option is missing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mcp_actors.cli import exit_codes
from mcp_actors.cli.app import SPEAKING, app
from tests.cli.running import PATIENCE, ROOT, environment
from tests.run_page import matches

HOW_TO = (ROOT / "docs" / "howto" / "command-line.md").read_text(encoding="utf-8")
REFERENCE = (ROOT / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CONFIG = '{"mcpServers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}}}\n'
OPTION = re.compile(r"(?<![\w-])--[a-z]+")


def steps(page: str) -> Iterator[tuple[str, str]]:
    """The commands of a page, each with what is printed below it. Those of one block share a shell."""
    for block in BLOCK.findall(page):
        commands = [part.partition("\n") for part in re.split(r"^\$ ", block, flags=re.MULTILINE) if part]
        yield "; ".join(command for command, _, _ in commands), "".join(out for _, _, out in commands)


@pytest.fixture
def shell(tmp_path: Path) -> dict[str, str]:
    """An environment in which `mcp-actors` and `uvx` are what is installed here; nothing is downloaded."""
    for name, script in {
        "mcp-actors": f'exec {sys.executable} -m mcp_actors "$@"',
        "uvx": f'exec {sys.executable} -m "$(printf %s "$1" | tr - _)"',
    }.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / ".mcp.json").write_text(CONFIG)
    return environment(PATH=f"{tmp_path}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.parametrize(("command", "printed"), list(steps(HOW_TO)), ids=lambda text: text[:40])
def test_a_command_of_the_page_prints_what_the_page_says(
    shell: dict[str, str], tmp_path: Path, command: str, printed: str
) -> None:
    if "mcp-server-time" in command:
        pytest.importorskip("mcp_server_time")
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=tmp_path,
        env=shell,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert matches(printed, done.stdout), done.stdout


def section(title: str) -> str:
    """The part of the reference below a heading that begins so."""
    found = re.search(rf"^(#+) `?{title}\b.*?(?=^#|\Z)", REFERENCE, re.MULTILINE | re.DOTALL)
    assert found is not None, title
    return found[0]


@pytest.mark.parametrize("command", ["list", "call", "read", "prompt", "ping", "tree", "servers", "demo"])
def test_the_reference_names_the_options_of_a_command_and_no_others(command: str) -> None:
    shown = CliRunner().invoke(app, [command, "--help"]).stdout
    own = set(re.findall(r"^  (?:-\w, )?(--[a-z]+)", shown, re.MULTILINE)) - {"--help"}
    shared = set(OPTION.findall(section("Which server"))) if command in SPEAKING else set()
    assert shared <= own
    told = set(re.findall(r"^\| (?:`-\w`, )?`(--[a-z]+)", section(command), re.MULTILINE))
    assert own - shared == told


def test_the_reference_names_every_exit_code() -> None:
    codes = {value for value in vars(exit_codes).values() if isinstance(value, int)}
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", section("Exit codes"), re.MULTILINE)} == codes
