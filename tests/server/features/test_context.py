"""What a handler can do besides returning a value: facts, logging, progress, cancellation."""

from __future__ import annotations

import logging
import math
import threading
from typing import Any

import pytest

from mcp_actors import Client, Progress, RequestCancelled, Server, errors
from mcp_actors.server.context import Context
from tests.client.features.ear import Ear
from tests.client.waiting import BOUND, in_thread, until
from tests.server.conftest import Connect, MakeServer, MakeTalk
from tests.server.talk import HANDSHAKE, STATELESS, VERSIONS


@pytest.mark.parametrize("version", VERSIONS)
def test_a_handler_knows_whom_it_serves(server: Server, connect: Connect, version: str) -> None:
    seen: list[Context] = []

    @server.tool(structured_output=False)
    def look(ctx: Context) -> str:
        seen.append(ctx)
        return ctx.protocol_version

    info = {"name": "looker", "version": "7"}
    client = connect(server, version, client_info=info, roots=["/tmp"])
    assert client.call_tool("look", meta={"com.example/key": 1}).text == version
    [ctx] = seen
    assert ctx.method == "tools/call"
    assert ctx.client_info == info
    assert "roots" in ctx.client_capabilities
    assert ctx.meta["com.example/key"] == 1
    assert ctx.principal is None
    assert ctx.server is server
    assert isinstance(ctx.request_id, int | str)
    ctx.close_connection()  # a wire in memory has none to let go of


@pytest.mark.requirement("feature:logging")
@pytest.mark.parametrize("version", VERSIONS)
def test_a_client_hears_what_is_at_its_level_or_above(server: Server, connect: Connect, version: str) -> None:
    @server.tool(structured_output=False)
    def chat(ctx: Context) -> str:
        ctx.debug("1")
        ctx.info({"two": 2})
        ctx.warning("3", logger="chatter")
        ctx.error("4")
        ctx.log("emergency", None)
        return "done"

    heard = Ear()
    client = connect(server, version)
    client.on_log(heard)
    client.set_logging_level("warning")
    client.call_tool("chat")
    assert [(one.level, one.data, one.logger) for one in heard.wait_for(3)] == [
        ("warning", "3", "chatter"),
        ("error", "4", None),
        ("emergency", None, None),
    ]


@pytest.mark.requirement("feature:logging")
def test_who_did_not_ask_hears_nothing_or_what_the_server_says_by_default(
    make_server: MakeServer, talk: MakeTalk
) -> None:
    server = make_server(log_level="error")

    @server.tool()
    def chat(ctx: Context) -> None:
        ctx.warning("low")
        ctx.error("high")

    for version, levels in ((STATELESS, []), (HANDSHAKE, ["error"])):
        one = talk(server, version)
        one.tool("chat")
        assert [message["params"]["level"] for message in one.heard] == levels


@pytest.mark.parametrize(
    ("say", "error"),
    [
        (lambda ctx: ctx.log("loud", "x"), ValueError),
        (lambda ctx: ctx.info(math.nan), ValueError),
        (lambda ctx: ctx.info(object()), TypeError),
        (lambda ctx: ctx.report_progress("half"), TypeError),
        (lambda ctx: ctx.report_progress(True), TypeError),
        (lambda ctx: ctx.report_progress(math.nan), ValueError),
        (lambda ctx: ctx.report_progress(1, math.inf), ValueError),
    ],
)
def test_what_cannot_be_said_is_raised_where_it_was_said(
    server: Server, connect: Connect, era: str, say: Any, error: type[Exception]
) -> None:
    @server.tool(structured_output=False)
    def speak(ctx: Context) -> str:
        with pytest.raises(error):
            say(ctx)
        return "still here"

    assert connect(server, era).call_tool("speak").text == "still here"


@pytest.mark.requirement("request:progress")
@pytest.mark.parametrize("version", VERSIONS)
def test_progress_goes_to_whoever_asked_for_it_and_only_forward(
    server: Server, connect: Connect, version: str
) -> None:
    @server.tool(structured_output=False)
    def work(ctx: Context) -> str:
        ctx.report_progress(1)
        ctx.report_progress(0.5, 2)
        ctx.report_progress(2, 2, "nearly")
        return "done"

    heard: list[Progress] = []
    client = connect(server, version)
    assert client.call_tool("work", on_progress=heard.append).text == "done"
    assert [(one.progress, one.total) for one in heard] == [(1, None), (2, 2)]
    assert client.call_tool("work").text == "done"


class Work:
    """A tool that waits until somebody ends it, and what became of it."""

    def __init__(self, server: Server) -> None:
        self.begun = threading.Event()
        self.ended = Ear()
        server.add_tool(self.sleep, name="sleep", structured_output=False)

    def sleep(self, ctx: Context) -> str:
        self.begun.set()
        try:
            ctx.sleep(60)
        except RequestCancelled as cancelled:
            self.ended(str(cancelled), ctx.cancelled)
            raise
        return "slept"


@pytest.fixture
def work(server: Server) -> Work:
    return Work(server)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_future_that_is_cancelled_cancels_the_handler(
    server: Server, connect: Connect, work: Work, version: str, caplog: pytest.LogCaptureFixture
) -> None:
    client = connect(server, version)
    future = client.submit_tool("sleep")
    assert work.begun.wait(BOUND)
    with caplog.at_level(logging.WARNING, "mcp_actors.server"):
        assert future.cancel()
        [(_, cancelled)] = work.ended.wait_for(1)
        assert cancelled
        assert client.list_tools()
    assert caplog.records == [], "a cancelled request is nothing to complain about"


def test_a_call_that_times_out_cancels_the_handler(
    server: Server, connect: Connect, work: Work, era: str
) -> None:
    client = connect(server, era)
    with pytest.raises(errors.RequestTimeout):
        client.call_tool("sleep", timeout=0.05)
    work.ended.wait_for(1)
    assert client.list_tools()


@pytest.mark.parametrize("leave", [lambda one: one.close(), lambda one: one.end.wire.close(None)])
def test_a_client_that_goes_cancels_its_handlers(
    server: Server, talk: MakeTalk, work: Work, era: str, leave: Any
) -> None:
    one = talk(server, era)
    one.ask("tools/call", name="sleep")
    assert work.begun.wait(BOUND)
    leave(one)
    work.ended.wait_for(1)
    until(lambda: len(server.host.lines) == 1)


def test_a_handler_that_does_not_wait_can_look(server: Server, connect: Connect, era: str) -> None:
    begun, seen = threading.Event(), Ear()

    @server.tool()
    def compute(ctx: Context) -> None:
        ctx.check_cancelled()
        begun.set()
        until(lambda: ctx.cancelled)
        try:
            ctx.check_cancelled()
        except RequestCancelled as cancelled:
            seen(str(cancelled))

    client = connect(server, era)
    future = client.submit_tool("compute")
    assert begun.wait(BOUND)
    future.cancel()
    seen.wait_for(1)


def test_a_sleep_that_nobody_disturbs_ends(server: Server, connect: Connect, era: str) -> None:
    @server.tool(structured_output=False)
    def nap(ctx: Context) -> str:
        for _ in range(3):
            ctx.sleep(0.001)
        return "rested"

    assert connect(server, era).call_tool("nap").text == "rested"


def test_a_request_that_was_cancelled_before_it_ran_does_not_run(
    make_server: MakeServer, talk: MakeTalk, era: str
) -> None:
    server = make_server(threads=1)
    gate, begun, ran = threading.Event(), threading.Event(), []

    @server.tool()
    def block() -> None:
        begun.set()
        gate.wait(BOUND)

    @server.tool()
    def run() -> None:
        ran.append(1)

    one = talk(server, era)
    first = one.ask("tools/call", name="block")
    assert begun.wait(BOUND)
    second = one.ask("tools/call", name="run")
    one.tell("notifications/cancelled", requestId=second, reason="changed my mind")
    # Its turn comes after the cancellation.
    one.tell("notifications/cancelled", requestId=second)
    one.tell("notifications/cancelled", requestId="unknown")
    one.tell("notifications/cancelled")
    gate.set()
    assert "result" in one.answer_to(first)
    assert "result" in one.tool("block")
    assert ran == []


def test_a_handler_may_say_itself_that_it_was_cancelled(server: Server, connect: Connect, era: str) -> None:
    @server.tool()
    def give_up() -> None:
        raise RequestCancelled("a secret reason")

    with pytest.raises(errors.RemoteError, match="the request was cancelled") as told:
        connect(server, era).call_tool("give_up")
    assert "secret" not in str(told.value)


def test_a_client_that_is_closed_during_its_calls_leaves_nothing(
    server: Server, work: Work, era: str
) -> None:
    client = Client.memory(server, protocol=era).wait_ready()
    call = in_thread(lambda: client.call_tool("sleep"))
    assert work.begun.wait(BOUND)
    client.close()
    with pytest.raises(errors.ClientClosed):
        call.result(BOUND)
    work.ended.wait_for(1)
