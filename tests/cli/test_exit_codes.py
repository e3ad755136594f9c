"""Scripts can tell failures apart: exit codes, one plain line on stderr, nothing but results on stdout."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from mcp_actors import errors
from mcp_actors.cli.demo_server import COMMAND
from mcp_actors.cli.exit_codes import exit_code
from tests.cli.running import ODD, PROGRAM, ROOT, environment, gone, on_a_terminal, run

DEMO = list(COMMAND)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.StartFailed("x"), 3),
        (errors.ConnectionLost("x", outcome="unknown"), 3),
        (errors.Unavailable("x", state="backoff"), 3),
        (errors.RequestTimeout("x"), 4),
        (errors.RemoteError("x", code=-32602), 5),
        (errors.InvalidResponse("x"), 5),
        (errors.CapabilityMissing("x"), 5),
    ],
)
def test_every_failure_has_its_code(error: errors.McpError, code: int) -> None:
    assert exit_code(error) == code


def test_a_result_is_0_and_alone_on_stdout() -> None:
    done = run("call", "add", "a=1", "b=2", server=DEMO)
    assert (done.code, done.out, done.err) == (0, "3\n", "")


def test_an_error_of_the_tool_is_1_and_no_result() -> None:
    done = run("call", "fail", server=ODD)
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines() == ["mcp-actors: the tool reported an error", "it went wrong"]


def test_what_was_left_out_is_named_below_the_error() -> None:
    done = run("call", "add", "a=1", server=DEMO)
    assert done.code == 1
    assert done.err.splitlines()[-1] == "b must be given: add a=number b=number"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("call", "add", "a=x", "b=1"), "a: must be a number, not 'x'"),
        (("call", "add", "nonsense"), "'nonsense' is no argument"),
        (("call", "add", "--json", "{"), "--json: not JSON"),
        (("call", "add", "a=@nowhere.txt"), "nowhere.txt cannot be read: No such file or directory"),
        (("call",), "Missing argument"),
        (("list", "--nonsense"), "No such option"),
        (("lst",), "No such command"),
        (("list", "--timeout", "0"), "--timeout must be a positive number of seconds"),
        (("list", "--config", "x"), "say in one way which server you want"),
    ],
)
def test_a_mistake_of_the_user_is_2(words: tuple[str, ...], said: str) -> None:
    done = run(*words, server=DEMO)
    assert (done.code, done.out) == (2, "")
    first = done.err.splitlines()[0]
    assert first.startswith("mcp-actors: ")
    assert said in first


@pytest.mark.parametrize(
    "command", [["no-such-program-anywhere"], [sys.executable, "-c", "exit('last words')"]]
)
def test_a_server_that_does_not_start_is_3_and_says_why(command: list[str]) -> None:
    done = run("list", server=command)
    assert (done.code, done.out) == (3, "")
    first, *rest = done.err.splitlines()
    assert first.startswith("mcp-actors: ")
    assert "could not be started" in first
    assert any("to reproduce: " in line for line in rest)
    if command[0] == sys.executable:
        assert "    | last words" in rest


@pytest.mark.parametrize(("then", "code"), [("pass", 3), ("sys.stdin.read()", 4)])
def test_what_a_program_prints_that_is_no_server_is_shown(then: str, code: int) -> None:
    program = f"import sys; print('Usage: shop ORDER', flush=True); {then}"
    done = run("list", "--timeout", "1", server=[sys.executable, "-c", program])
    assert (done.code, done.out) == (code, "")
    assert "    | Usage: shop ORDER" in done.err.splitlines()


def test_a_server_that_is_lost_under_the_call_is_3_and_its_last_words_are_shown() -> None:
    done = run("call", "crash", "last_words=FATAL: enough", server=DEMO)
    assert (done.code, done.out) == (3, "")
    assert "exited with code 7" in done.err.splitlines()[0]
    assert "    | FATAL: enough" in done.err.splitlines()


def test_a_call_that_takes_too_long_is_4() -> None:
    done = run("call", "slow_count", "to=1000", "--timeout", "0.5", server=DEMO)
    assert (done.code, done.out) == (4, "")
    assert done.err.startswith("mcp-actors: no answer to tools/call 'slow_count' within 0.5 s")
    assert "--timeout SECONDS gives it longer" in done.err


def test_a_server_that_says_nothing_at_all_is_4() -> None:
    done = run("list", "--timeout", "0.5", server=[sys.executable, "-c", "import time; time.sleep(600)"])
    assert (done.code, done.out) == (4, "")
    assert "was not ready within 0.5 s" in done.err.splitlines()[0]


def test_a_refusal_is_5_and_a_wrong_name_is_recognised() -> None:
    done = run("call", "ad", "a=1", server=DEMO)
    assert (done.code, done.out) == (5, "")
    assert done.err.splitlines() == [
        "mcp-actors: tools/call 'ad' failed: no such tool: ad (code -32602)",
        "  the server lists no tool 'ad'; it lists add, slow_count, crash",
    ]
    assert run("read", "demo://nothing", server=DEMO).code == 5
    assert run("prompt", "x", "a=1", server=[sys.executable, "-c", "print('no JSON')"]).code == 3


def test_a_traceback_comes_only_when_it_is_asked_for() -> None:
    done = run("read", "demo://nothing", server=DEMO, env={"MCP_ACTORS_DEBUG": "1"})
    assert done.code == 5
    assert "Traceback" in done.err
    assert "mcp-actors: resources/read" in done.err


def test_what_a_silent_server_wrote_before_is_shown() -> None:
    program = (
        "import sys, time; print('waiting for the database', file=sys.stderr, flush=True); time.sleep(600)"
    )
    done = run("list", "--timeout", "1", server=[sys.executable, "-c", program])
    assert done.code == 4
    assert "    | waiting for the database" in done.err.splitlines()


def test_a_full_disk_is_one_line() -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    command = " ".join(map(shlex.quote, [*PROGRAM, "list", "--", *DEMO]))
    done = subprocess.run(
        ["sh", "-c", f"{command} > /dev/full"], env=environment(), cwd=ROOT, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)
    assert b"mcp-actors: the result cannot be written: " in done.stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
def test_closed_streams_are_no_failure(closed: str) -> None:
    command = " ".join(map(shlex.quote, [*PROGRAM, "call", "picture", "--", *ODD]))
    done = subprocess.run(
        ["sh", "-c", f"{command} {closed}"], env=environment(), cwd=ROOT, capture_output=True, check=False
    )
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    "words", [("list", "--schema"), ("list", "--json"), ("prompt", "lecture", "topic=owls")]
)
def test_a_reader_that_has_enough_ends_the_command_quietly(words: tuple[str, ...]) -> None:
    command = [*PROGRAM, *words, "--", *ODD]
    with subprocess.Popen(
        command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
        code = process.wait(30)
    assert (code, said) == (141, b"")


def test_ctrl_c_is_130_cancels_the_call_and_leaves_no_process(tmp_path: Path) -> None:
    started, cancelled = tmp_path / "started", tmp_path / "cancelled"
    words = ("call", "wait", f"started={started}", f"cancelled={cancelled}")
    with on_a_terminal(*words, server=ODD) as screen:
        _await(started)
        family = screen.family()
        assert family
        assert screen.interrupt() == 130
        shown = screen.shown
    assert b"Traceback" not in shown
    assert gone(family)
    _await(cancelled)


@pytest.mark.parametrize("words", [("tree", "--watch"), ("ping", "-n", "100000", "-i", "0")])
def test_ctrl_c_ends_what_goes_on_for_ever(words: tuple[str, ...]) -> None:
    with on_a_terminal(*words, server=DEMO) as screen:
        screen.read_until(b"rest_for_one" if words[0] == "tree" else b"answer 3 ")
        family = screen.family()
        assert screen.interrupt() == 130
        shown = screen.shown
    assert b"Traceback" not in shown
    assert words[0] == "tree" or b" answers: min " in shown
    assert gone(family)


def test_ctrl_c_while_the_server_starts_leaves_no_process(tmp_path: Path) -> None:
    started = tmp_path / "started"
    program = f"import time; open({str(started)!r}, 'w').close(); time.sleep(600)"
    with on_a_terminal("list", server=[sys.executable, "-c", program]) as screen:
        _await(started)
        family = screen.family()
        assert screen.interrupt() == 130
    assert gone(family)


def test_importing_the_package_imports_nothing_of_the_command_line() -> None:
    program = "import sys, mcp_actors; print(sorted({'typer', 'rich', 'click'} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment(), capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def _await(file: Path) -> None:
    """Wait until a file is there."""
    tick = threading.Event()
    for _ in range(1500):
        if file.exists():
            return
        tick.wait(0.02)
    raise AssertionError(f"{os.fspath(file)} never came")
