"""Handlers and clients that misbehave: each fault stays with its own request, or its own client."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from mcp_actors import Server
from mcp_actors.server.context import Context
from mcp_actors.server.line import Line
from tests.client.waiting import BOUND, in_thread, opened_at_the_end, until
from tests.server.conftest import Connect, MakeServer, MakeTalk
from tests.server.talk import ERAS, HANDSHAKE, STATELESS

SECRET = "hunter2"


class Odd(BaseException):
    """Neither an Exception nor anything that Python knows."""


class Unspeakable(Exception):
    """Its text cannot be had."""

    def __str__(self) -> str:
        raise RuntimeError(SECRET)


def _exit() -> None:
    sys.exit(SECRET)


def _raise(error: BaseException) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return fail


def _recurse() -> None:
    _recurse()


def _contain_itself() -> list[object]:
    cycle: list[object] = []
    cycle.append(cycle)
    return cycle


def _fork_and_exit() -> str:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return "forked"


FAULTS: dict[str, Callable[[], Any]] = {
    "Exception": _raise(ValueError(SECRET)),
    "BaseException": _raise(Odd(SECRET)),
    "KeyboardInterrupt": _raise(KeyboardInterrupt(SECRET)),
    "GeneratorExit": _raise(GeneratorExit(SECRET)),
    "StopIteration": _raise(StopIteration(SECRET)),
    "ExceptionGroup": _raise(ExceptionGroup(SECRET, [ValueError(SECRET)])),
    "Unspeakable": _raise(Unspeakable()),
    "sys.exit": _exit,
    "recursion": _recurse,
    "self": _contain_itself,
    "surrogate": lambda: "\ud800",
    "huge": lambda: 10**5000,
}


@pytest.fixture(params=["tool", "resource", "prompt", "completion"])
def offered(request: pytest.FixtureRequest, server: Server) -> tuple[Server, Callable[[Any, str], Any]]:
    """A server whose only function has each fault, offered in each way; and how to call it."""

    def misbehave(fault: str) -> Any:
        return FAULTS[fault]()

    if request.param == "tool":
        server.add_tool(misbehave, name="odd", structured_output=False)
        return server, lambda one, fault: one.tool("odd", fault=fault)
    if request.param == "resource":
        server.add_resource("odd://{fault}", misbehave)
        return server, lambda one, fault: one.call("resources/read", uri=f"odd://{fault}")
    server.add_prompt(misbehave, name="odd")
    if request.param == "prompt":
        return server, lambda one, fault: one.call("prompts/get", name="odd", arguments={"fault": fault})
    server.completion(argument="fault", prompt="odd")(misbehave)
    ref = {"type": "ref/prompt", "name": "odd"}
    return server, lambda one, fault: one.call(
        "completion/complete", ref=ref, argument={"name": "fault", "value": fault}
    )


@pytest.mark.requirement("error:translate")
def test_whatever_a_handler_does_its_request_is_answered_and_nothing_is_betrayed(
    offered: tuple[Server, Callable[[Any, str], Any]], talk: MakeTalk, era: str
) -> None:
    server, call = offered
    one = talk(server, era)
    for fault in FAULTS:
        answer = call(one, fault)
        failed = "error" in answer or answer["result"].get("isError")
        assert failed or fault in ("self", "surrogate", "huge"), (fault, answer)
        words = json.dumps(answer)
        assert SECRET not in words
        assert "Traceback" not in words
    assert server.host.crashes == 0


@pytest.mark.requirement("error:translate")
def test_prints_and_forks_do_no_harm(server: Server, connect: Connect, era: str) -> None:
    @server.tool(structured_output=False)
    def noisy() -> str:
        print("to stdout")  # noqa: T201 - that is the fault
        return _fork_and_exit()

    assert connect(server, era).call_tool("noisy").text == "forked"


def test_a_question_without_a_form_on_the_wire_is_the_handlers_mistake(
    server: Server, connect: Connect, era: str
) -> None:
    @server.tool(structured_output=False)
    def ask(ctx: Context) -> str:
        with pytest.raises(TypeError):
            ctx.elicit("Who?", {"type": object()})
        with pytest.raises(ValueError, match="NaN"):
            ctx.sample("What?", temperature=float("nan"))
        return "went on"

    client = connect(server, era, elicitation_handler=lambda _: None, sampling_handler=lambda _: "x")
    assert client.call_tool("ask").text == "went on"
    assert server.host.crashes == 0


def test_a_handler_that_never_returns_does_not_keep_the_server_from_closing(
    make_server: MakeServer, talk: MakeTalk, era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_actors.server.host._STOP_SECONDS", 0.2)
    server, gate, begun = make_server(), threading.Event(), threading.Event()

    @server.tool()
    def hang() -> None:
        begun.set()
        gate.wait(4 * BOUND)

    one = talk(server, era)
    running = one.ask("tools/call", name="hang")
    assert begun.wait(BOUND)
    with opened_at_the_end(gate):
        in_thread(lambda: server.close(timeout=0.3)).result(BOUND)
        assert one.answer_to(running)["error"]["message"] == "the server was stopped"
        assert one.at_end()


# Clients.


@pytest.mark.requirement("flow:mailbox-bound")
@pytest.mark.parametrize("version", ERAS)
def test_ten_thousand_requests_at_once_are_all_answered_and_never_queued(
    make_server: MakeServer, talk: MakeTalk, version: str
) -> None:
    server, gate = make_server(threads=2, max_running=100), threading.Event()

    @server.tool()
    def wait() -> None:
        gate.wait(BOUND)

    one = talk(server, version)
    with opened_at_the_end(gate):
        sent = [one.ask("tools/call", name="wait") for _ in range(10_000)]
        hands = server.host.hands
        assert hands is not None
        refused = [one.read() for _ in range(9_900)]
        assert {answer["error"]["code"] for answer in refused} == {-32603}
        assert hands.stats().queued <= 100
        gate.set()
        answered = [one.read() for _ in range(100)]
    assert all("result" in answer for answer in answered)
    assert {answer["id"] for answer in refused + answered} == set(sent)


@pytest.mark.requirement("flow:os-pushback")
def test_a_client_is_read_no_further_while_enough_of_its_requests_run(
    make_server: MakeServer, talk: MakeTalk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_actors.server.line._MOST_UNDER_WAY", 4)
    server, gate = make_server(), threading.Event()

    @server.tool()
    def wait() -> None:
        gate.wait(BOUND)

    one, other = talk(server, STATELESS, high_water=4096), talk(server, STATELESS)
    with opened_at_the_end(gate):
        writing = in_thread(lambda: [one.ask("tools/call", name="wait") for _ in range(300)])
        until(lambda: one.end._outgoing.waiting_bytes > 3000)
        assert "result" in other.call("server/discover")
        with pytest.raises(TimeoutError):
            writing.result(0.2)
        gate.set()
        answers = [one.read() for _ in range(300)]
        assert {answer["id"] for answer in answers} == set(writing.result(BOUND))


def test_workers_that_have_too_much_to_do_say_so(
    server: Server, talk: MakeTalk, monkeypatch: pytest.MonkeyPatch, era: str
) -> None:
    server.add_tool(lambda: 1, name="one")
    one = talk(server, era)
    monkeypatch.setattr(server.host, "employ", lambda _jobs, _client=None: 0)
    assert one.tool("one")["error"] == {"code": -32603, "message": "the server is busy"}
    monkeypatch.undo()
    assert "result" in one.tool("one")


def test_an_id_that_is_under_way_is_not_used_twice(server: Server, talk: MakeTalk) -> None:
    gate = threading.Event()

    @server.tool(structured_output=False)
    def wait() -> str:
        return "once" if gate.wait(BOUND) else "late"

    one = talk(server, HANDSHAKE)
    with opened_at_the_end(gate):
        for _ in range(2):
            one.send({"id": "same", "method": "tools/call", "params": {"name": "wait"}})
        refused = one.read()
        assert (refused.get("id"), refused["error"]["code"]) == (None, -32600)
        gate.set()
        assert one.answer_to("same")["result"]["content"][0]["text"] == "once"
    assert server.host.violations == 1


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        (b"{", -32700),
        (b"\xff\xfe", -32700),
        (b"[" * 100_000, -32700),
        (b"[]", -32600),
        (b"7", -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
        (b'{"jsonrpc":"2.0","id":5,"method":"ping","params":[1]}', -32602),
    ],
)
def test_rubbish_is_answered_with_an_error_and_the_next_line_is_served(
    server: Server, talk: MakeTalk, frame: bytes, code: int
) -> None:
    one = talk(server, HANDSHAKE)
    one.write(frame)
    assert one.read()["error"]["code"] == code
    assert one.call("ping")["result"] == {}


def test_answers_to_nothing_are_counted_and_harmless(server: Server, talk: MakeTalk) -> None:
    one = talk(server, HANDSHAKE)
    one.send({"id": 99, "result": {}})
    one.send({"id": "x", "error": {"code": 1, "message": "no"}})
    assert one.call("ping")["result"] == {}
    assert server.host.violations == 2


@pytest.mark.requirement("flow:os-pushback")
def test_a_client_that_does_not_read_holds_up_itself_and_nobody_else(server: Server, talk: MakeTalk) -> None:
    @server.tool(structured_output=False)
    def write(ctx: Context) -> str:
        ctx.info("x" * 1000)
        return "y" * 1000

    slow, quick = talk(server, HANDSHAKE, high_water=8192), talk(server, HANDSHAKE)
    slow.call("logging/setLevel", level="debug")
    line = next(one for one in server.host.lines if isinstance(one, Line))
    sent = [slow.ask("tools/call", name="write") for _ in range(40)]
    until(lambda: line._unsent and line.dropped)
    assert "result" in quick.tool("write")
    answers: list[int] = []
    while len(answers) < len(sent):
        message = slow.read()
        if "result" in message:
            answers.append(message["id"])
    assert sorted(answers) == sent, "news may be left out, answers may not"
    assert slow.call("ping")["result"] == {}


def test_a_client_that_never_reads_does_not_keep_the_server_from_closing(
    make_server: MakeServer, talk: MakeTalk
) -> None:
    server = make_server()
    server.add_tool(lambda: "y" * 1000, name="write")
    one = talk(server, STATELESS, high_water=2048)
    for _ in range(20):
        one.ask("tools/call", name="write")
    line = next(one for one in server.host.lines if isinstance(one, Line))
    until(lambda: line._unsent)
    in_thread(lambda: server.close(timeout=2.0)).result(BOUND)
