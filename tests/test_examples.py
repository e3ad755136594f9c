"""Every example runs to its end, in a process of its own, and says what it should."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_actors import Client
from tests.run_page import blocks

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
#: What each example must have printed, among other things.
SAYS = {
    "agent_loop.py": ['add({"a": 2, "b": 40}) -> 42', "2 + 40 is 42; I could not divide (no tool 'divide')"],
    "config_file.py": [
        "demo speaks 2026-07-28",
        "its last words: no database",
        "TOKEN is not set",
        "is disabled",
    ],
    "credentials_in_a_worker.py": [
        "job 5: worker may jobs:run\ntokens: 1\n",
        "job 7: worker may jobs:run\ntokens: 2\n",
        "job 8 needs an operator",
    ],
    "django_server.py": ["beside it: the site", "Servus, Ada!", "2 + 40 = 42"],
    "elicitation_and_sampling.py": [
        "Where to? (string",
        "2 nights in Graz. It has a clock",
        "No trip, then.",
    ],
    "flask_app.py": [
        "'200 8'",
        "504 no answer in time",
        "502 BAD GATEWAY",
        "503 SERVICE",
        "afterwards: 200 42",
    ],
    "headless_login.py": [
        "open http://127.0.0.1:",
        "paste http://127.0.0.1:33418/callback",
        "may notes:read",
        "belongs to another login",
    ],
    "flask_server.py": [
        "the page says: 12",
        "and of plums: 404",
        "a tool takes 5: {'result': 7}",
        "the page says: 7",
        "there are not 50 pieces of 'pear'",
        "pear: 3",
    ],
    "long_task_server.py": [
        "3 of 3: loaf 3",
        "fetched later: 2 loaves",
        "within 0.2 s",
        "the oven is clean: True",
    ],
    "notebook_safe.py": [
        "2 + 3 = 5",
        "mcp_actors.stderr.demo: counting to 1000",
        "interrupted: the client is ready",
        "and goes on: 4 + 5 = 9",
        "<Toolbox of 3 tools>",
    ],
    "oauth_login.py": [
        "may notes:read notes:write\n  logins: 2\nsecond run: ",
        "  logins: 0\na token that has ended is renewed: refresh_token\n",
        "the owner's alone: 600",
    ],
    # It serves whoever is at its stdin: here nobody.
    "notes_server.py": [],
    "own_transport.py": ["all laws hold", "over TCP: 2 + 3 = 5"],
    "progress_and_cancel.py": ["3 of 3", "within 0.3 s", "cancelled: True", "the connection is ready"],
    "protected_server.py": [
        "ada: kept 42",
        "bob: nothing",
        "'remember' was not authorized: HTTP 403",
        "a stranger: AuthorizationFailed",
    ],
    "quickstart.py": ["demo speaks MCP 2026-07-28", "2 + 40 = 42"],
    "subscriptions.py": [
        "'notes://monday': 'buy bread'",
        "news may be missing: the connection was lost",
        "'notes://tuesday': 'visit Ada'",
        "the subscriptions are still there",
    ],
    "survive_a_crash.py": ["outcome: unknown", "FATAL: database password rejected", "after: 3 + 4 = 7"],
    "threads_share_a_client.py": ["['0', '2', '4', '6', '8', '10', '12', '14', '16', '18']"],
}


def run(path: Path) -> subprocess.CompletedProcess[str]:
    # -W error: an example that leaves a socket or file open is no example.
    return subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", path],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("name", SAYS)
def test_an_example_runs_and_says_what_it_should(name: str) -> None:
    done = run(EXAMPLES / name)
    assert (done.returncode, done.stderr) == (0, "")
    assert [words for words in SAYS[name] if words not in done.stdout] == []


def test_the_notes_server_serves_over_stdio() -> None:
    command = [sys.executable, str(EXAMPLES / "notes_server.py")]
    with Client.stdio(command, env={"PYTHONPATH": str(ROOT)}) as client:
        assert client.call_tool("write_note", {"day": "friday", "text": "swim"}).data == {"result": 2}
        assert client.call_tool("search", {"word": "SWIM"}).data == {"friday": "swim"}
        assert client.call_tool("search", {"word": ""}).is_error
        assert client.read_resource("notes://friday").text == "swim"
        assert "buy milk" in str(client.get_prompt("plan", {"day": "monday"}).messages)


def test_every_example_is_among_those_that_are_run() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(SAYS)


@pytest.mark.parametrize("name", SAYS)
def test_every_example_can_be_imported_and_has_a_main(name: str) -> None:
    source = (EXAMPLES / name).read_text()
    assert "def main() -> None:" in source
    assert source.endswith('if __name__ == "__main__":\n    main()\n')


def test_the_first_server_of_the_tutorial_is_the_notes_server() -> None:
    tutorial = (ROOT / "docs" / "server" / "tutorial.md").read_text()
    shown = [block.code for block in blocks(tutorial) if "@server." in block.code]
    source = (EXAMPLES / "notes_server.py").read_text()
    functions = [part for code in shown for part in code.split("\n\n\n") if part.startswith("@server.")]
    assert len(functions) == source.count("@server.")
    assert [function for function in functions if function.strip() not in source] == []
