"""Servers that are programs: over their own stdin and stdout, with clients of every revision."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcp_actors import Client, errors
from tests.client.waiting import BOUND
from tests.server.talk import HANDSHAKE, STATELESS, VERSIONS

ROOT = Path(__file__).parents[2]
PROGRAM = [sys.executable, "-W", "ignore::DeprecationWarning", "-m", "tests.server.programs.serving"]
META = {
    "io.modelcontextprotocol/protocolVersion": STATELESS,
    "io.modelcontextprotocol/clientCapabilities": {},
}

pytestmark = pytest.mark.requirement("transport:stdio")


@pytest.fixture
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    version = getattr(request, "param", "auto")
    with Client.stdio(
        PROGRAM, cwd=ROOT, inherit_env=True, protocol=version, request_timeout=2 * BOUND
    ) as one:
        yield one


@pytest.mark.requirement("negotiation:versions")
@pytest.mark.parametrize("client", VERSIONS, indirect=True)
def test_a_program_serves_every_revision(client: Client) -> None:
    assert client.protocol_version in VERSIONS
    assert client.server_info.name == "program"
    assert [tool.name for tool in client.list_tools()][:2] == ["greet", "chatter"]
    assert client.call_tool("greet", {"name": "Ada"}).text.startswith("Hello, Ada, from")


@pytest.mark.parametrize("client", [STATELESS, HANDSHAKE], indirect=True)
def test_whatever_handlers_do_the_wire_belongs_to_the_protocol(client: Client) -> None:
    pid = client.call_tool("greet").text
    assert client.call_tool("chatter").text == "stdin gave ''"
    assert client.call_tool("quit", {"code": 3}).text == "tool 'quit' failed"
    assert client.call_tool("fork", {"returns": False}).text == "from the parent"
    assert client.call_tool("fork", {"returns": True}).text == "from the parent"
    assert client.call_tool("log").text == "logged"
    assert client.call_tool("greet").text == pid, "it is the same process"


def test_frames_may_have_a_length() -> None:
    with Client.stdio(
        [*PROGRAM, "content-length"], cwd=ROOT, inherit_env=True, framing="content-length"
    ) as client:
        assert client.call_tool("greet").text.startswith("Hello, you")


def test_a_client_that_leaves_ends_the_program(client: Client) -> None:
    client.submit_tool("hang")
    client.close()
    with pytest.raises(errors.ClientClosed):
        client.ping()


class Program:
    """The program itself, spoken to by hand."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [*PROGRAM, *arguments],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def write(self, *messages: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        for message in messages:
            self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def read(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def finish(self) -> tuple[int, list[Any], str]:
        """Close its stdin; the exit code, what else it wrote, and its complaints."""
        out, complaints = self.process.communicate(timeout=4 * BOUND)
        answers = [json.loads(line) for line in out.splitlines()]
        return self.process.returncode, answers, complaints.decode()

    def wait(self) -> tuple[int, list[Any], str]:
        """As `finish`, for a client that still holds the pipe open."""
        self.process.wait(4 * BOUND)
        return self.finish()


@pytest.fixture
def program() -> Iterator[Program]:
    one = Program()
    yield one
    one.process.kill()
    one.process.communicate()


def tool(id_: int, name: str, **arguments: Any) -> dict[str, Any]:
    params = {"name": name, "arguments": arguments, "_meta": META}
    return {"id": id_, "method": "tools/call", "params": params}


def test_calls_that_run_at_the_end_of_stdin_get_their_answers(program: Program) -> None:
    program.write(*(tool(id_, "nap", seconds=0.2) for id_ in range(5)))
    code, answers, complaints = program.finish()
    assert code == 0
    assert {answer["id"] for answer in answers} == set(range(5))
    assert all(answer["result"]["content"][0]["text"] == "rested" for answer in answers)
    assert complaints.strip() == "after the end"


def test_a_program_without_a_client_ends_at_once() -> None:
    done = subprocess.run(
        PROGRAM,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=4 * BOUND,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, b"")


def test_ctrl_c_ends_the_program_without_a_traceback(program: Program) -> None:
    program.write(tool(1, "greet"))
    assert program.read()["id"] == 1
    program.process.send_signal(signal.SIGINT)
    code, answers, complaints = program.wait()
    assert (code, answers) == (0, [])
    assert "Traceback" not in complaints


def test_ctrl_c_ends_the_program_also_while_a_handler_runs(program: Program) -> None:
    program.write(tool(1, "nap", seconds=0.3), tool(2, "greet"))
    assert program.read()["id"] == 2
    program.process.send_signal(signal.SIGINT)
    code, answers, complaints = program.wait()
    assert code == 0
    assert [answer["id"] for answer in answers] == [1]
    assert "Traceback" not in complaints


def test_sigterm_ends_the_program(program: Program) -> None:
    program.write(tool(1, "greet"))
    program.read()
    program.process.send_signal(signal.SIGTERM)
    code, _, complaints = program.wait()
    assert code == -signal.SIGTERM
    assert "Traceback" not in complaints


def test_rubbish_on_stdin_is_answered_and_the_next_line_is_served(program: Program) -> None:
    assert program.process.stdin is not None
    program.process.stdin.write(b"\xff\xfe rubbish\n" + b"[" * 100_000 + b"\n\n")
    program.write(tool(1, "greet"))
    answers = [program.read() for _ in range(3)]
    assert [answer.get("error", {}).get("code") for answer in answers] == [-32700, -32700, None]


@pytest.mark.parametrize(
    ("scenario", "said"), [("forget", "Ada"), ("fork", "0 True")], ids=["forget", "fork"]
)
@pytest.mark.requirement("runtime:exit")
@pytest.mark.requirement("runtime:fork")
def test_a_program_that_forgets_to_close_or_forks_ends_well(scenario: str, said: str) -> None:
    one = Program(scenario)
    out, complaints = one.process.communicate(timeout=4 * BOUND)
    assert (one.process.returncode, out.decode().strip()) == (0, said)
    assert "Traceback" not in complaints.decode()
