"""Hostile frames over stdio and in memory: one answer for each, and the next is served as if nothing was."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcp_actors import Server
from mcp_actors.runtime.deadline import Deadline
from tests.client.waiting import BOUND
from tests.server.conftest import MakeTalk
from tests.server.hostile.frames import ANSWERED, UNANSWERED
from tests.server.hostile.messages import INITIALIZE, INITIALIZED, call, described, encoded, judge, request
from tests.server.talk import HANDSHAKE, Talk

ROOT = Path(__file__).parents[3]
PROGRAM = [sys.executable, "-W", "ignore", "-m", "tests.server.hostile.programs.target"]

pytestmark = pytest.mark.requirement("security:limits")


class RawProgram:
    """The server as a child process, spoken to in bytes."""

    def __init__(self, log: Path) -> None:
        with log.open("wb") as sink:
            self.process = subprocess.Popen(
                PROGRAM, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=sink
            )

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def read(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def ask(self, message: Any) -> Any:
        self.write(encoded(message) + b"\n")
        return self.read()

    def close(self) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        try:
            return self.process.wait(2 * BOUND)
        finally:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()


@pytest.fixture
def program(tmp_path: Path) -> Iterator[RawProgram]:
    made = RawProgram(tmp_path / "log")
    try:
        yield made
    finally:
        made.close()


def _fits(answer: Any, codes: frozenset[int | None]) -> bool:
    return answer.get("error", {}).get("code") in codes


@pytest.mark.parametrize("name", ANSWERED)
def test_a_hostile_frame_has_one_answer_and_the_next_is_served(
    target: Server, talk: MakeTalk, name: str
) -> None:
    frame, codes = ANSWERED[name]
    client = talk(target)
    client.write(frame)
    answer = client.read()
    judge(answer, answer.get("id"))
    assert _fits(answer, codes), answer
    client.write(encoded(request("next", "tools/list", described({}))))
    assert client.read()["id"] == "next"
    assert client.hello(HANDSHAKE)["result"]["serverInfo"]["name"] == "target"


@pytest.mark.parametrize("name", UNANSWERED)
def test_what_asks_nothing_is_not_answered_and_the_next_is_served(
    target: Server, talk: MakeTalk, name: str
) -> None:
    client = talk(target)
    client.write(UNANSWERED[name])
    client.write(encoded(request("next", "ping")))
    assert client.read() == {"jsonrpc": "2.0", "id": "next", "result": {}}


@pytest.mark.requirement("transport:stdio")
def test_a_program_outlives_all_hostile_lines(program: RawProgram) -> None:
    for frame, codes in ANSWERED.values():
        answer = program.ask(frame)
        assert _fits(answer, codes), (frame[:100], answer)
    for frame in UNANSWERED.values():
        program.write(frame + b"\n")
    # Blank lines are no frames.
    program.write(b"\n\r\n  \n")
    answers = [program.ask(request("next", "ping"))]
    while answers[-1].get("id") != "next":
        answers.append(program.read())
    assert all(_fits(one, frozenset({-32700})) for one in answers[:-1]), answers
    assert program.ask(INITIALIZE)["result"]["protocolVersion"] == HANDSHAKE
    assert program.close() == 0


@pytest.mark.requirement("transport:stdio")
def test_lines_may_come_in_any_pieces(program: RawProgram) -> None:
    whole = (
        encoded(INITIALIZE) + b"\n" + encoded(INITIALIZED) + b"\n" + encoded(call(2, "add", a=1, b=2)) + b"\n"
    )
    for byte in whole:
        program.write(bytes([byte]))
    assert program.read()["id"] == "hello"
    assert program.read()["result"]["content"][0]["text"] == "3"


@pytest.mark.requirement("transport:stdio")
def test_a_line_above_the_limit_ends_its_client_and_is_never_held_whole(program: RawProgram) -> None:
    assert program.ask(INITIALIZE)["id"] == "hello"
    # Far more than the limit of 16 MiB: at some point nobody reads it any more.
    with pytest.raises(BrokenPipeError):
        program.write(b"x" * 64 * 1024 * 1024)
    assert program.process.wait(2 * BOUND) == 0


@pytest.mark.requirement("transport:stdio")
def test_a_last_line_without_an_end_is_served_before_the_program_ends(program: RawProgram) -> None:
    program.write(encoded(request(1, "ping")))
    assert program.process.stdin is not None
    program.process.stdin.close()
    assert program.read() == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert program.process.wait(2 * BOUND) == 0


@pytest.mark.parametrize("id_", [0, -1, 2**63, -(2**70), "", "\ud800", "x" * 100_000, "\x00"])
def test_an_id_comes_back_as_it_was_given(target: Server, talk: MakeTalk, id_: Any) -> None:
    client = talk(target)
    client.write(json.dumps(request(id_, "ping")).encode())
    frame = client.end.read(Deadline.after(BOUND))
    assert frame is not None
    answer = json.loads(frame)
    assert (answer["id"], type(answer["id"])) == (id_, type(id_))


def test_an_id_that_is_taken_is_refused_and_its_owner_answered(target: Server, talk: MakeTalk) -> None:
    client = talk(target, HANDSHAKE)
    client.send(call("same", "work", seconds=0.2))
    client.send(call("same", "add", a=1, b=2))
    assert client.read()["error"]["code"] == -32600
    assert client.answer_to("same")["result"]["content"][0]["text"] == "worked"


def test_ids_are_told_apart_by_their_type(target: Server, talk: MakeTalk) -> None:
    client = talk(target, HANDSHAKE)
    client.send(call(7, "echo", value="number"))
    client.send(call("7", "echo", value="text"))
    answers = {type(one["id"]): one["result"]["content"][0]["text"] for one in (client.read(), client.read())}
    assert answers == {int: "number", str: "text"}


def test_a_second_initialize_is_refused_and_the_session_kept(target: Server, talk: MakeTalk) -> None:
    client = talk(target, HANDSHAKE)
    client.send(INITIALIZE)
    assert client.read()["error"]["code"] == -32600
    assert client.tool("add", a=1, b=2)["result"]["content"][0]["text"] == "3"


def test_a_huge_array_is_answered_whole(target: Server, talk: MakeTalk) -> None:
    client = talk(target, "2025-03-26")
    many = 50_000
    pings = b",".join(b'{"jsonrpc":"2.0","id":%d,"method":"ping"}' % number for number in range(many))
    assert client.end.write(b"[%s]" % pings, Deadline.after(BOUND))
    frame = client.end.read(Deadline.after(12 * BOUND))
    assert frame is not None
    assert len(json.loads(frame)) == many


def test_a_client_that_only_breaks_rules_does_not_disturb_the_others(target: Server, talk: MakeTalk) -> None:
    bad: list[Talk] = [talk(target) for _ in range(3)]
    good = talk(target, HANDSHAKE)
    for round_ in range(50):
        for client in bad:
            client.write(b"\xff" * 100)
        assert good.tool("add", a=round_, b=1)["result"]["content"][0]["text"] == str(round_ + 1)
    assert target.host.crashes == 0
