"""Our server in conversation with clients that others made: over stdio and HTTP, in both eras."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from tests.client.waiting import BOUND
from tests.real.conftest import FASTMCP
from tests.real.installing import npm_packages, python_packages
from tests.real.node import node_program
from tests.real.programs import ERAS, MARKS
from tests.real.web import ROOT, Run, run

__all__ = ["run"]

pytestmark = [
    *MARKS,
    pytest.mark.requirement("negotiation:era"),
    pytest.mark.requirement("transport:http"),
    pytest.mark.requirement("transport:stdio"),
]

TYPESCRIPT: Final = "@modelcontextprotocol/client"
TYPESCRIPT_PIN: Final = f"{TYPESCRIPT}@2.4.0"
SERVER: Final = [sys.executable, "-m", "tests.servers.own_features"]
STEPS: Final = [[1, 3, "step 1"], [2, 3, "step 2"], [3, 3, "step 3"]]
SAID: Final = [[level, "chatter", {"said": level}] for level in ("debug", "warning", "error")]
TOOLS: Final = (
    "add report picture pid refuse crash count wait was_cancelled chatter write_note learn hang_up introduce "
    "check_in opinion places everything_at_once"
)
#: What each client finds, whoever made it.
EXPECTED: Final[dict[str, Any]] = {
    "server": ["own-features", "1.0", "answer when you are asked"],
    "tools": TOOLS.split(),
    "add_schema": {
        "type": "object",
        "properties": {
            "a": {"type": "integer"},
            "b": {"type": "integer", "description": "what is added", "default": 2},
        },
        "required": ["a"],
        "additionalProperties": False,
    },
    "add": {"result": 42},
    "report": {"title": "sales", "numbers": [1, 2, 3], "nested": {"half": 0.5}},
    "picture": ["text", "image"],
    "count": {"result": 3},
    "bad_arguments": '`$.a`: expected an integer, got a string ("many")',
    "refuse": "not on a Monday",
    "crash": "tool 'crash' failed",
    "unknown_tool": -32602,
    "unknown_prompt": -32602,
    "missing_argument": -32602,
    "resources": ["toy://greeting", "bytes://few"],
    "templates": ["note://{name}"],
    "read": ["hello ü", [0, 255, 0], "first"],
    "prompts": ["letter"],
    "letter": [["user", "Write a kind letter to Ada."]],
    "completions": [["kind", "keen"], ["one"]],
    "introduce": "Ada is 36",
    "check_in": "Ada sleeps on floor 3",
    "opinion": "parrot on tea: be brief! About tea?",
    "places": {"result": ["file:///tmp/place"]},
    "everything": "Ada, parrot, 1 roots on tea",
}
#: The code that says that there is no such resource.
MISSING: Final = {ERAS[0]: -32602, ERAS[1]: -32002}

Talk = Callable[..., dict[str, Any]]


@pytest.fixture(params=["stdio", "http"])
def target(request: pytest.FixtureRequest) -> list[str]:
    """How a client reaches the server: a command, or an address."""
    if request.param == "stdio":
        return SERVER
    start: Run = request.getfixturevalue("run")
    return [start([*SERVER, "{port}"], "/sse" if request.param == "sse" else "/mcp").url]


@pytest.fixture(params=["auto", "legacy"])
def mode(request: pytest.FixtureRequest) -> str:
    """What a client tries: the newest revision first, or the handshake."""
    chosen: str = request.param
    return chosen


@pytest.fixture
def talk(mode: str, target: list[str]) -> Talk:
    """Runs a client and gives its report."""

    def talk(*command: str) -> dict[str, Any]:
        report: dict[str, Any] = json.loads(_output([*command, mode, *target]))
        era = ERAS[0] if mode == "auto" else ERAS[1]
        assert report.pop("protocol") == era
        return report

    return talk


def _output(command: Sequence[str]) -> str:
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=12 * BOUND,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def missing(mode: str) -> dict[str, int]:
    """Both ways in which there may be no resource."""
    code = MISSING[ERAS[0] if mode == "auto" else ERAS[1]]
    return {"unknown_resource": code, "missing_note": code}


def test_the_official_client_finds_everything(talk: Talk, mode: str) -> None:
    assert talk(sys.executable, "-m", "tests.real.clients.official_client") == {
        **EXPECTED,
        **missing(mode),
        "progress": STEPS,
        "logs": SAID[1:],
        "learned": "fly was learned",
        "was_cancelled": {"result": True},
    }


@pytest.mark.requirement("transport:sse")
@pytest.mark.parametrize("mode", ["legacy"])
@pytest.mark.parametrize("target", ["sse"], indirect=True)
def test_the_official_client_finds_everything_over_the_older_transport(talk: Talk, mode: str) -> None:
    report = talk(sys.executable, "-m", "tests.real.clients.official_client")
    assert {name: report[name] for name in EXPECTED} == EXPECTED
    assert {name: report[name] for name in missing(mode)} == missing(mode)
    assert (report["progress"], report["logs"], report["was_cancelled"]) == (
        STEPS,
        SAID[1:],
        {"result": True},
    )


def test_fastmcps_client_finds_everything(talk: Talk, mode: str) -> None:
    python = str(python_packages(*FASTMCP))
    assert talk(python, "-m", "tests.real.clients.fastmcp_client") == {
        **EXPECTED,
        **missing(mode),
        "progress": STEPS,
        "typed": ["sales", [1, 2, 3], 42],
        # Since 2026-07-28 this client asks for all levels, with each request.
        "logs": SAID if mode == "auto" else SAID[1:],
    }


def test_the_typescript_client_finds_everything(talk: Talk) -> None:
    package = npm_packages(TYPESCRIPT_PIN) / "node_modules" / TYPESCRIPT
    program = Path(__file__).parent / "clients" / "typescript_client.mjs"
    report = talk(node_program(), str(program), str(package))
    # It forgets whom to tell of progress at once when the answer comes, and the steps came in the same read.
    # That it hears of progress at all is seen by `was_cancelled`: it gives up when it does.
    steps = report.pop("progress")
    assert steps == STEPS[: len(steps)]
    assert report == {
        **EXPECTED,
        # It has one code for what is not found, whatever the server says.
        **missing("auto"),
        "logs": SAID[1:],
        "learned": "fly was learned",
        "was_cancelled": {"result": True},
    }
