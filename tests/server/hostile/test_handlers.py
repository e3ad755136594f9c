"""Handlers that misbehave: their own request fails, nothing of their secrets is told, others are served."""

from __future__ import annotations

import logging
import os
import threading
from typing import Any

import psutil
import pytest

from mcp_actors import Client, Server
from tests.client.waiting import BOUND, in_thread, opened_at_the_end, until
from tests.server.conftest import MakeTalk
from tests.server.hostile.conftest import MakeTarget, ServeTarget
from tests.server.hostile.messages import described, encoded, request, stateless_headers
from tests.server.hostile.programs.target import PASSWORD, SECRET
from tests.server.hostile.raw_http import RawConnection
from tests.server.hostile.test_frames import PROGRAM, ROOT
from tests.server.talk import ERAS, HANDSHAKE, STATELESS, Talk

LEAKS = ("leak", "leak_in_a_chain", "unspeakable", "leave", "interrupt", "dig")
#: What would give away where the server lives, or how it is made.
TRACES = (PASSWORD, "Traceback", "File \\", "line ", "target.py", os.sep + "tests" + os.sep)

pytestmark = [
    pytest.mark.requirement("error:translate"),
    # What handlers do is logged with all they said: that is where operators look.
    pytest.mark.usefixtures("quiet"),
]


@pytest.fixture
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "mcp_actors")


def _everything(client: Talk, answer: Any) -> str:
    return repr([answer, *client.heard])


@pytest.mark.parametrize("expose", [False, True])
@pytest.mark.parametrize("tool", LEAKS)
@pytest.mark.parametrize("version", ERAS)
def test_a_tool_that_fails_tells_no_secret(
    make_target: MakeTarget, talk: MakeTalk, tool: str, version: str, expose: bool
) -> None:
    client = talk(make_target(expose_errors=expose), version)
    answer = client.tool(tool)
    told = _everything(client, answer)
    assert [trace for trace in TRACES if trace in told] == []
    assert ("error" in answer) or answer["result"]["isError"]
    assert client.tool("add", a=1, b=2)["result"]["content"][0]["text"] == "3"


@pytest.mark.parametrize("version", ERAS)
def test_with_errors_exposed_what_is_no_secret_is_told(
    make_target: MakeTarget, talk: MakeTalk, version: str
) -> None:
    answer = talk(make_target(expose_errors=True), version).tool("leak")
    text = answer["result"]["content"][0]["text"]
    assert text.startswith("tool 'leak' failed: RuntimeError: cannot log in to postgres://")


@pytest.mark.parametrize("expose", [False, True])
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("resources/read", {"uri": "leak:///secret"}),
        ("prompts/get", {"name": "leaking_prompt"}),
    ],
)
@pytest.mark.parametrize("version", ERAS)
def test_whatever_else_fails_says_only_that_it_did(
    make_target: MakeTarget, talk: MakeTalk, method: str, params: Any, version: str, expose: bool
) -> None:
    client = talk(make_target(expose_errors=expose), version)
    answer = client.call(method, **params)
    assert answer["error"] == {"code": -32603, "message": "the server failed"}


def test_a_middleware_that_fails_tells_no_secret(target: Server, talk: MakeTalk) -> None:
    @target.middleware
    def guard(_context: Any, _params: Any, _proceed: Any) -> Any:
        raise RuntimeError(SECRET)

    answer = talk(target, STATELESS).call("tools/list")
    assert answer["error"] == {"code": -32603, "message": "the server failed"}


def test_a_task_that_fails_tells_no_secret(target: Server, talk: MakeTalk) -> None:
    @target.tool(task_support="required")
    def doomed() -> str:
        raise RuntimeError(SECRET)

    client = talk(target, HANDSHAKE)
    task = client.call("tools/call", name="doomed", arguments={}, task={})["result"]["task"]
    result = client.call("tasks/result", taskId=task["taskId"])
    status = client.call("tasks/get", taskId=task["taskId"])
    told = _everything(client, [result, status])
    assert PASSWORD not in told
    assert result["result"]["isError"]


def test_handlers_that_never_return_leave_the_others_their_workers(
    make_target: MakeTarget, talk: MakeTalk
) -> None:
    target, gate = make_target(threads=4), threading.Event()

    @target.tool()
    def stuck() -> None:
        gate.wait()

    with opened_at_the_end(gate):
        bad, good = talk(target, HANDSHAKE), talk(target, HANDSHAKE)
        for _ in range(3):
            bad.ask("tools/call", name="stuck", arguments={})
        until(lambda: target.host.hands is not None and target.host.hands.stats().running == 3)
        for number in range(20):
            assert good.tool("add", a=number, b=0)["result"]["content"][0]["text"] == str(number)


def test_a_server_with_no_worker_left_says_so_and_still_answers_what_needs_none(
    make_target: MakeTarget, talk: MakeTalk
) -> None:
    target, gate = make_target(threads=1, max_running=8), threading.Event()

    @target.tool()
    def stuck() -> None:
        gate.wait()

    with opened_at_the_end(gate):
        client = talk(target, HANDSHAKE)
        stuck_ids = [client.ask("tools/call", name="stuck", arguments={}) for _ in range(8)]
        refused = client.tool("add", a=1, b=2)
        assert refused["error"]["message"] == "too many requests at once"
        assert client.call("ping")["result"] == {}
    for id_ in stuck_ids:
        assert "result" in client.answer_to(id_)
    assert client.tool("add", a=1, b=2)["result"]["content"][0]["text"] == "3"


def test_a_server_is_closed_in_time_though_a_handler_never_returns(
    make_target: MakeTarget, talk: MakeTalk
) -> None:
    target, gate = make_target(), threading.Event()

    @target.tool()
    def stuck() -> None:
        gate.wait()

    with opened_at_the_end(gate):
        client = talk(target, HANDSHAKE)
        id_ = client.ask("tools/call", name="stuck", arguments={})
        until(lambda: target.host.hands is not None and target.host.hands.stats().running == 1)
        in_thread(lambda: target.close(timeout=1.5)).result(3 * BOUND)
        assert client.answer_to(id_)["error"]["code"] == -32603
        assert client.at_end()


@pytest.mark.requirement("transport:stdio")
@pytest.mark.parametrize("version", ERAS)
def test_a_program_keeps_its_wire_whatever_its_handlers_do(version: str) -> None:
    with Client.stdio(
        PROGRAM, cwd=ROOT, inherit_env=True, protocol=version, request_timeout=2 * BOUND
    ) as client:
        assert client.call_tool("shout").text == "shouted"
        assert client.call_tool("abort_in_child").text == "the child left with 7"
        for tool in ("leave", "interrupt", "leak", "dig"):
            assert client.call_tool(tool).is_error
        stuck = [client.submit_tool("hang") for _ in range(8)]
        assert client.call_tool("add", {"a": 1, "b": 2}).text == "3"
        for call in stuck:
            call.cancel()


@pytest.mark.requirement("transport:http")
def test_a_program_over_http_keeps_serving_whatever_its_handlers_do(
    serve_target: ServeTarget,
) -> None:
    served = serve_target(threads=8)
    with (
        Client.http(served.url(), protocol=STATELESS, request_timeout=2 * BOUND) as bad,
        Client.http(served.url(), protocol=HANDSHAKE, request_timeout=2 * BOUND) as good,
    ):
        stuck = [bad.submit_tool("hang") for _ in range(4)]
        assert bad.call_tool("abort_in_child").text == "the child left with 7"
        assert bad.call_tool("shout").text == "shouted"
        for number in range(10):
            assert good.call_tool("add", {"a": number, "b": 1}).text == str(number + 1)
        for call in stuck:
            call.cancel()
    assert served.process.poll() is None


@pytest.mark.requirement("transport:http")
@pytest.mark.requirement("runtime:fork")
@pytest.mark.parametrize("leave", [False, True])
@pytest.mark.parametrize("practised", [False, True])
def test_of_a_handler_that_forks_one_process_answers_and_one_is_left(
    serve_target: ServeTarget, practised: bool, leave: bool
) -> None:
    """Also of a tool that was quick before, and so runs on the thread that writes the answer."""
    served = serve_target(threads=4)
    headers = stateless_headers("tools/call", "split")

    def split(id_: int, **arguments: bool) -> Any:
        params = described({"name": "split", "arguments": arguments})
        line.write("POST", headers, encoded(request(id_, "tools/call", params)))
        answer = line.response().json
        assert answer["id"] == id_
        return answer["result"]

    with RawConnection(served.port) as line:
        for number in range(20 if practised else 0):
            split(number, fork=False)
        assert split(100, leave=leave)["content"][0]["text"] == "whole"
        # The next answer on this connection is that to the next request, and to nothing else.
        for number in range(101, 105):
            assert split(number, fork=False)["content"][0]["text"] == "whole"

    def children() -> list[psutil.Process]:
        found = psutil.Process(served.process.pid).children(recursive=True)
        return [one for one in found if one.status() != psutil.STATUS_ZOMBIE]

    until(lambda: not children())
