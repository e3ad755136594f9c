"""The MCP Inspector's command line looks at our server: over stdio and HTTP, in both eras."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from tests.client.waiting import BOUND
from tests.real.installing import npm_packages
from tests.real.node import node_program
from tests.real.programs import MARKS
from tests.real.web import ROOT, Run, run

__all__ = ["run"]

pytestmark = [*MARKS, pytest.mark.requirement("negotiation:era")]

INSPECTOR: Final = "@modelcontextprotocol/inspector"
INSPECTOR_PIN: Final = f"{INSPECTOR}@2.12.0"
SERVER: Final = [sys.executable, "-m", "tests.servers.own_features"]
#: How it says what went wrong.
TOOL_FAILED: Final = 5


class Shown(NamedTuple):
    """What it printed, and its exit code."""

    code: int
    printed: list[dict[str, Any]]
    complaints: list[dict[str, Any]]

    @property
    def result(self) -> dict[str, Any]:
        """What the server answered."""
        found: dict[str, Any] = self.printed[0]["result"]
        return found

    @property
    def error(self) -> dict[str, Any]:
        """What it complains of."""
        found: dict[str, Any] = self.complaints[0]["error"]
        return found


Look = Callable[..., Shown]


@pytest.fixture(scope="module")
def inspector() -> list[str]:
    """The command."""
    place = npm_packages(INSPECTOR_PIN) / "node_modules" / INSPECTOR
    return [node_program(), str(place / "clients" / "launcher" / "build" / "index.js"), "--cli"]


@pytest.fixture(params=["legacy", "modern"])
def era(request: pytest.FixtureRequest) -> str:
    """What it calls the eras."""
    chosen: str = request.param
    return chosen


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """Variables by which it writes nothing into the user's own folder."""
    return {**os.environ, "HOME": str(tmp_path), "PYTHONPATH": str(ROOT), "NO_PROXY": "127.0.0.1"}


@pytest.fixture
def look(inspector: list[str], era: str, home: dict[str, str]) -> Look:
    """Runs it once."""

    def look(target: list[str], method: str, *options: str) -> Shown:
        chosen = ["--protocol-era", era, "--format", "json", "--quiet", "--method", method, *options]
        done = subprocess.run(
            [*inspector, *target, "-e", f"PYTHONPATH={ROOT}", *chosen],
            cwd=ROOT,
            env=home,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=12 * BOUND,
            check=False,
        )
        return Shown(done.returncode, _objects(done.stdout), _objects(done.stderr))

    return look


def _objects(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


@pytest.mark.requirement("transport:http")
def test_it_lists_calls_and_reads_over_http(look: Look, run: Run) -> None:
    url = [run([*SERVER, "{port}"], "/mcp").url]
    # Strict: it finds nothing in the schemas of the tools that some client could not use.
    listed = look(url, "tools/list", "--strict")
    assert listed.code == 0
    assert {"add", "report", "introduce"} <= {tool["name"] for tool in listed.result["tools"]}
    added = look(url, "tools/call", "--tool-name", "add", "--tool-arg", "a=40")
    assert (added.code, added.result["structuredContent"]) == (0, {"result": 42})
    (read,) = look(url, "resources/read", "--uri", "note://one").result["contents"]
    assert (read["uri"], read["mimeType"], read["text"]) == ("note://one", "text/plain", "first")
    got = look(url, "prompts/get", "--prompt-name", "letter", "--prompt-args", "to=Ada")
    assert got.result["messages"][0]["content"]["text"] == "Write a kind letter to Ada."


@pytest.mark.requirement("transport:http")
def test_it_shows_what_went_wrong(look: Look, run: Run) -> None:
    url = [run([*SERVER, "{port}"], "/mcp").url]
    failed = look(url, "tools/call", "--tool-name", "refuse")
    assert (failed.code, failed.error["code"]) == (TOOL_FAILED, "tool_is_error")
    assert failed.result["content"][0]["text"] == "not on a Monday"
    bad = look(url, "tools/call", "--tool-name", "add", "--tool-args-json", '{"b": 1}')
    assert (bad.code, bad.result["isError"]) == (TOOL_FAILED, True)
    assert look(url, "tools/call", "--tool-name", "none").error["code"] == "tool_not_found"
    missing = look(url, "resources/read", "--uri", "note://none")
    assert (missing.code, missing.error["message"]) == (1, "there is no resource 'note://none'")


@pytest.mark.requirement("transport:stdio")
def test_it_lists_calls_and_reads_over_stdio(look: Look) -> None:
    listed = look(SERVER, "tools/list", "--strict")
    assert (listed.code, listed.result["tools"][0]["name"]) == (0, "add")
    assert look(SERVER, "tools/call", "--tool-name", "add", "--tool-arg", "a=40").result["content"] == [
        {"type": "text", "text": "42"}
    ]
    assert (
        look(SERVER, "resources/read", "--uri", "toy://greeting").result["contents"][0]["text"] == "hello ü"
    )
    assert look(SERVER, "prompts/list").result["prompts"][0]["name"] == "letter"


@pytest.mark.requirement("feature:skills")
@pytest.mark.parametrize("era", ["modern"])
def test_it_verifies_the_skills_of_the_conformance_server(look: Look, run: Run) -> None:
    url = [run([sys.executable, "-m", "tests.conformance.server", "--port", "{port}"], "/mcp").url]
    shown = look(url, "skills/list", "--verify", "--require-digests")
    assert shown.code == 0, shown
    assert {one["name"]: one["outcome"] for one in shown.printed} == {
        "code-review": "verified",
        "release-notes": "verified",
    }
