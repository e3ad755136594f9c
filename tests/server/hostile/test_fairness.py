"""One client that takes all it can get, and others that are served all the same."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from mcp_actors import Client
from tests.client.waiting import BOUND
from tests.server.hostile.conftest import ServeTarget
from tests.server.hostile.messages import INITIALIZED, call, described, encoded, request, stateless_headers
from tests.server.hostile.raw_http import RawConnection, Response
from tests.server.talk import HANDSHAKE
from tests.servers.serving import Served

pytestmark = [
    pytest.mark.real,
    pytest.mark.requirement("security:limits"),
    pytest.mark.requirement("transport:http"),
]

#: Of eight threads one is kept free, and one client has three quarters of the others.
THREADS, SHARE = 8, 5
GREED = 24
WORKERS = 32
HELLO = request(
    "hello",
    "initialize",
    {
        "protocolVersion": HANDSHAKE,
        "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "greedy", "version": "1"},
    },
)


class Greedy:
    """A client that has many requests under way, each over a connection of its own."""

    def __init__(self, served: Served, stack: ExitStack) -> None:
        self._served = served
        self._stack = stack
        self.session = ""
        self.lines: list[RawConnection] = []

    def hello(self) -> None:
        with RawConnection(self._served.port) as line:
            self.session = line.post(HELLO).headers["mcp-session-id"]
            assert line.post(INITIALIZED, Mcp_Session_Id=self.session).status == 202

    def send(self, message: Any, headers: dict[str, str]) -> None:
        line = self._stack.enter_context(RawConnection(self._served.port))
        line.write("POST", headers, encoded(message))
        self.lines.append(line)

    def refusals(self, count: int) -> list[Response]:
        """The responses of so many that are refused; those that are served stay silent, or stream."""
        found: list[Response] = []
        silent = list(self.lines)
        end = time.monotonic() + 2 * BOUND
        while len(found) < count:
            assert time.monotonic() < end, f"{len(found)} of {count} are refused"
            for line in silent:
                line.line.settimeout(0.05)
                try:
                    answer = line.response()
                except TimeoutError:
                    continue
                silent.remove(line)
                if not answer.streams:
                    found.append(answer)
                break
        return found


@pytest.fixture
def served(serve_target: ServeTarget) -> Served:
    return serve_target(threads=THREADS)


@pytest.fixture
def greedy(served: Served) -> Iterator[Greedy]:
    with ExitStack() as stack:
        yield Greedy(served, stack)


def others_are_served(served: Served) -> None:
    options: Any = {"protocol": HANDSHAKE, "request_timeout": BOUND, "proxies": {}}
    with Client.http(served.url(), **options) as other:
        for number in range(20):
            assert other.call_tool("add", {"a": number, "b": 1}).text == str(number + 1)
        other.ping()
    with RawConnection(served.port, timeout=BOUND) as line:
        line.send(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert line.response().json["status"] == "ok"
        discover = request(1, "server/discover", described({}))
        line.write("POST", stateless_headers("server/discover"), encoded(discover))
        assert "result" in line.response().json


@pytest.mark.parametrize("tool", ["hang", "agree"])
def test_slow_calls_and_unanswered_questions_of_a_session_leave_threads_for_others(
    served: Served, greedy: Greedy, tool: str
) -> None:
    greedy.hello()
    arguments = {"what": "sure"} if tool == "agree" else {}
    for number in range(GREED):
        greedy.send(call(number, tool, **arguments), {"Mcp-Session-Id": greedy.session})
    refused = greedy.refusals(GREED - SHARE)
    assert {answer.status for answer in refused} == {503}
    assert {answer.headers["retry-after"] for answer in refused} == {"1"}
    assert all(answer.json["error"]["code"] == -32603 for answer in refused)
    others_are_served(served)
    with RawConnection(served.port, timeout=BOUND) as line:
        # A client with nothing left can still say that it is there, and take back what it wanted.
        assert line.post(request("p", "ping"), Mcp_Session_Id=greedy.session).json["result"] == {}
        again = line.post(call("again", "add", a=1, b=2), Mcp_Session_Id=greedy.session)
        assert (again.status, again.json["id"]) == (503, "again")
        ids = {answer.json["id"] for answer in refused}
        for number in set(range(GREED)) - ids:
            cancel = {"method": "notifications/cancelled", "params": {"requestId": number}}
            assert line.post({"jsonrpc": "2.0", **cancel}, Mcp_Session_Id=greedy.session).status == 202
        for number in range(10):
            answer = line.post(call(f"after {number}", "add", a=1, b=2), Mcp_Session_Id=greedy.session)
            assert answer.json["result"]["content"][0]["text"] == "3"


def test_slow_calls_without_a_session_leave_threads_for_others(served: Served, greedy: Greedy) -> None:
    params = described({"name": "hang", "arguments": {}})
    for number in range(GREED):
        greedy.send(request(number, "tools/call", params), stateless_headers("tools/call", "hang"))
    refused = greedy.refusals(GREED - SHARE)
    assert {answer.status for answer in refused} == {503}
    others_are_served(served)


def test_a_tool_that_is_quick_until_it_is_relied_on_leaves_threads_for_others(
    served: Served, greedy: Greedy
) -> None:
    """A tool that was short often enough runs on the thread that serves it, and cannot be told to stop."""

    def params(seconds: float) -> Any:
        return described({"name": "nap", "arguments": {"seconds": seconds}})

    headers = stateless_headers("tools/call", "nap")
    with RawConnection(served.port) as line:
        for number in range(20):
            line.write("POST", headers, encoded(request(number, "tools/call", params(0.0))))
            assert "result" in line.response().json
    for number in range(GREED):
        greedy.send(request(number, "tools/call", params(600.0)), headers)
    assert len(greedy.refusals(GREED - SHARE)) == GREED - SHARE
    others_are_served(served)


def test_tasks_of_one_client_leave_workers_for_others(served: Served, greedy: Greedy) -> None:
    greedy.hello()
    begin = call(0, "work", seconds=600.0)
    begin["params"]["task"] = {}
    with RawConnection(served.port) as line:
        for number in range(2 * WORKERS):
            answer = line.post({**begin, "id": number}, Mcp_Session_Id=greedy.session).json
            assert answer["result"]["task"]["status"] == "working"
        others_are_served(served)
        # Its own calls wait for its tasks; what needs no worker does not.
        assert line.post(request("p", "ping"), Mcp_Session_Id=greedy.session).json["result"] == {}


def test_calls_that_hold_no_thread_leave_workers_for_others(served: Served) -> None:
    """Over HTTP+SSE each POST is over at once; what it asked for has a worker, of which there are 32."""
    with RawConnection(served.port) as stream, RawConnection(served.port) as line:
        stream.send(b"GET /sse HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n")
        assert stream.response().status == 200
        stream.until(b"data: ")
        address = stream.until(b"\n").strip().decode()
        for number in range(2 * WORKERS):
            body = encoded(call(number, "hang")) if number else encoded(HELLO)
            head = f"POST {address} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            line.send(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            assert line.response().status == 202
        others_are_served(served)
