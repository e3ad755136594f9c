"""Tools that go on as tasks: those of 2025-11-25, and those of the extension."""

from __future__ import annotations

import logging
import threading
from typing import Any

import pytest

from mcp_actors import Client, NoAnswer, RequestCancelled, Server, errors
from mcp_actors.server.context import Context
from mcp_actors.server.tasks.board import TaskLimits
from tests.client.features.ear import Ear
from tests.client.waiting import BOUND, in_thread, opened_at_the_end, until
from tests.server.conftest import Connect, MakeServer, MakeTalk
from tests.server.features.workshop import DECLARED, Guest, furnish
from tests.server.talk import STATELESS

pytestmark = pytest.mark.requirement("feature:tasks")


@pytest.fixture(autouse=True)
def _look_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_actors.server.tasks.board.TaskLimits", lambda: TaskLimits(poll_interval=10))


@pytest.fixture
def works(server: Server) -> Server:
    return furnish(server)


@pytest.fixture
def client(works: Server, connect: Connect, era: str) -> Client:
    one = connect(works, era, **DECLARED, elicitation_handler=lambda _: {"name": "Ada"})
    one.list_tools()
    return one


def test_a_tool_may_be_started_and_waited_for_later(client: Client) -> None:
    handle = client.start_task("build", {"what": "house"}, ttl=60)
    assert handle.result(BOUND).text == "a house"
    assert handle.status == "completed"
    assert client.get_task(handle.id).result(BOUND).text == "a house"
    assert client.call_tool("dig").text == "a hole"
    assert client.call_tool("look").text == "seen"


def test_a_task_that_fails_fails_like_its_call(client: Client) -> None:
    with pytest.raises(errors.RemoteError, match="no stones") as refused:
        client.start_task("build", {"what": "refused"}).result(BOUND)
    assert refused.value.code == 4711
    failed = client.start_task("build", {"what": "failed"}).result(BOUND)
    assert (failed.is_error, failed.text) == (True, "it fell down")
    with pytest.raises(errors.Cancelled):
        client.start_task("build", {"what": "gave up"}).result(BOUND)


def test_a_task_may_ask_its_client(client: Client) -> None:
    assert client.start_task("host").result(BOUND).text == "welcome, Ada"


def test_what_runs_is_told_when_its_task_is_cancelled(server: Server, connect: Connect, era: str) -> None:
    begun, ended = threading.Event(), Ear()

    @server.tool(task_support="optional")
    def sleep(ctx: Context) -> None:
        begun.set()
        try:
            ctx.sleep(60)
        except RequestCancelled as cancelled:
            ended(str(cancelled))
            raise

    client = connect(server, era, **DECLARED)
    client.list_tools()
    handle = client.start_task("sleep")
    assert begun.wait(BOUND)
    handle.cancel()
    ended.wait_for(1)
    with pytest.raises(errors.Cancelled):
        handle.result(BOUND)


def test_a_task_goes_on_without_its_client(server: Server, connect: Connect, era: str) -> None:
    gate = threading.Event()

    @server.tool(task_support="optional", structured_output=False)
    def outlive() -> str:
        return "lived" if gate.wait(BOUND) else "died"

    with opened_at_the_end(gate):
        first = connect(server, era, **DECLARED)
        first.list_tools()
        handle = first.start_task("outlive")
        first.close()
        gate.set()
        second = connect(server, era, **DECLARED)
        assert second.get_task(handle.id).result(BOUND).text == "lived"


@pytest.mark.parametrize("how", ["asking", "sleeping", "waited for"])
def test_a_server_that_is_closed_does_not_wait_for_its_tasks(
    make_server: MakeServer, connect: Connect, era: str, how: str
) -> None:
    server, begun, ended = make_server(), threading.Event(), Ear()

    @server.tool(task_support="optional")
    def linger(ctx: Context) -> None:
        begun.set()
        try:
            if how == "asking":
                ctx.elicit("Who?", Guest)
            ctx.sleep(60)
        except (NoAnswer, RequestCancelled) as error:
            ended(type(error))
            raise

    client = connect(server, era, **DECLARED, elicitation_handler=lambda _: {"name": "Ada"})
    client.list_tools()
    handle = client.start_task("linger")
    assert begun.wait(BOUND)
    if how == "waited for":
        waiting = in_thread(lambda: handle.result(BOUND / 5))
    server.close()
    ended.wait_for(1)
    if how == "waited for":
        with pytest.raises(errors.McpError):
            waiting.result(BOUND)


@pytest.mark.parametrize("offered", [DECLARED, {}], ids=["offered", "not offered"])
def test_a_tool_may_answer_at_once_and_go_on(
    make_server: MakeServer, connect: Connect, era: str, offered: Any
) -> None:
    server = make_server(**offered)

    @server.tool(structured_output=False)
    def count(ctx: Context, upto: int) -> Any:
        return ctx.as_task(lambda start, *, end: f"{end - start}", 1, end=upto)

    for declared in (DECLARED, {}):
        assert connect(server, era, **declared).call_tool("count", {"upto": 5}).text == "4"


def test_what_goes_on_as_a_task_is_a_task_for_those_who_know_them(
    make_server: MakeServer, talk: MakeTalk
) -> None:
    server = make_server(**DECLARED)

    @server.tool(structured_output=False)
    def later(ctx: Context) -> Any:
        return ctx.as_task(lambda: "late")

    one = talk(server, STATELESS, **DECLARED)
    created = one.tool("later")["result"]
    assert (created["resultType"], created["status"]) == ("task", "working")
    until(lambda: one.call("tasks/get", taskId=created["taskId"])["result"]["status"] == "completed")


def test_what_is_a_task_already_goes_on_as_the_same_task(server: Server, connect: Connect, era: str) -> None:
    @server.tool(structured_output=False, task_support="optional")
    def again(ctx: Context) -> Any:
        return ctx.as_task(lambda: ctx.as_task(lambda: "x"))

    assert connect(server, era).call_tool("again").text == "x"
    knowing = connect(server, era, **DECLARED)
    knowing.list_tools()
    assert knowing.start_task("again").result(BOUND).text == "x"


def test_who_goes_on_as_a_task_cannot_ask_any_more(
    server: Server, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    @server.tool(structured_output=False)
    def again(ctx: Context) -> Any:
        return ctx.as_task(lambda: ctx.elicit("Who?", Guest))

    client = connect(server, STATELESS, elicitation_handler=lambda _: {"name": "Ada"})
    with caplog.at_level(logging.CRITICAL), pytest.raises(errors.RemoteError, match="the server failed"):
        client.call_tool("again")


@pytest.mark.parametrize("heeds", [True, False], ids=["heeded", "not heeded"])
def test_a_task_that_takes_too_long_ends_as_its_call_would(
    server: Server, connect: Connect, era: str, heeds: bool
) -> None:
    gate, told = threading.Event(), threading.Event()

    @server.tool(task_support="optional", timeout=0.05, structured_output=False)
    def dawdle(ctx: Context) -> str:
        if heeds:
            try:
                ctx.sleep(60)
            finally:
                told.set()
        gate.wait(BOUND)
        return "too late"

    with opened_at_the_end(gate):
        client = connect(server, era, **DECLARED)
        client.list_tools()
        result = client.start_task("dawdle").result(BOUND)
        assert (result.is_error, result.text) == (True, "tool 'dawdle' took longer than 0.05 s")
        assert not heeds or told.wait(BOUND)


def test_what_would_go_on_when_its_time_is_over_does_not(server: Server, connect: Connect, era: str) -> None:
    gone_on, asked = Ear(), threading.Event()

    @server.tool(timeout=0.05, structured_output=False)
    def dawdle(ctx: Context) -> Any:
        ctx._call.cancellation.wait(BOUND)
        asked.set()
        return ctx.as_task(gone_on, "on")

    result = connect(server, era, **DECLARED).call_tool("dawdle")
    assert result.text == "tool 'dawdle' took longer than 0.05 s"
    assert asked.wait(BOUND)
    server.close()
    assert gone_on.heard == []
