"""Linter, formatter and type checker find nothing, and importing the package stays cheap."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = [
    name for name in ("mcp_actors", "tests", "examples", "benchmarks", "docs") if (ROOT / name).is_dir()
]
TYPED = [name for name in FOLDERS if any((ROOT / name).rglob("*.py"))]
#: What a program that uses a stdio client must not pay for.
HEAVY = (
    "asyncio",
    "http.client",
    "jsonschema",
    "pydantic",
    "requests",
    "rich",
    "ssl",
    "typer",
    "urllib3",
)


def run(*command: str) -> str:
    """What a command printed; a failure shows it."""
    # Tools are not the package: measuring them would only make them slow.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    if done.returncode != 0:
        pytest.fail(f"{' '.join(command)}\n{done.stdout}{done.stderr}", pytrace=False)
    return done.stdout


def test_ruff_finds_nothing() -> None:
    run(sys.executable, "-m", "ruff", "check", "--no-cache", *FOLDERS)


def test_ruff_would_format_nothing() -> None:
    run(sys.executable, "-m", "ruff", "format", "--check", "--no-cache", *FOLDERS)


@pytest.mark.timeout(300)
def test_mypy_finds_nothing() -> None:
    run(sys.executable, "-m", "mypy", "--strict", *TYPED)


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import sys, json, mcp_actors; print(json.dumps(sorted(sys.modules)))"
    loaded = set(json.loads(run(sys.executable, "-c", code)))
    assert loaded & set(HEAVY) == set()


def test_the_test_command_of_the_readme_is_the_one_that_ci_runs() -> None:
    blocks = re.findall(r"^```bash\n(.*)\n```$", (ROOT / "README.md").read_text(), re.MULTILINE)
    demo, test = blocks
    assert demo.endswith("mcp-actors demo")
    assert test.endswith("pytest")
    assert run("bash", ".ci/run", "--print").strip() == test


def test_every_script_has_valid_syntax() -> None:
    assert shutil.which("bash")
    run("bash", "-n", ".ci/run")
