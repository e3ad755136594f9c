"""The everything server over Streamable HTTP and over HTTP+SSE: all it can do, and all that can befall it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcp_actors import Progress, errors
from mcp_actors.protocol import types
from tests.client.waiting import BOUND, in_thread, until
from tests.real.hearing import Heard
from tests.real.programs import MARKS
from tests.real.web import Connect, Program, Run, connect, forget_session, run

__all__ = ["connect", "run"]

pytestmark = [*MARKS, pytest.mark.requirement("transport:http"), pytest.mark.requirement("transport:sse")]

WAYS = {"streamableHttp": "/mcp", "sse": "/sse"}
RESOURCE = "demo://resource/dynamic/text/1"
LONG = {"duration": 60, "steps": 600}

NodeServer = Callable[[str], list[str]]


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def program(way: str, node_server: NodeServer, run: Run) -> Program:
    return run([*node_server("everything"), way], WAYS[way])


@pytest.fixture
def streamable(node_server: NodeServer, run: Run) -> Program:
    return run([*node_server("everything"), "streamableHttp"], "/mcp")


def test_the_everything_server_is_found_out_and_used(program: Program, connect: Connect) -> None:
    client = connect(program).wait_ready()
    # The older transport has no session, but the same revisions.
    assert client.protocol_version == "2025-11-25"
    assert client.server_info.name == "mcp-servers/everything"
    assert {"echo", "get-sum"} <= {one.name for one in client.list_tools()}
    calls = [
        in_thread(lambda n=n: client.call_tool("get-sum", {"a": n, "b": 1}).text)  # type: ignore[misc]
        for n in range(20)
    ]
    assert [call.result(4 * BOUND) for call in calls] == [
        f"The sum of {n} and 1 is {n + 1}." for n in range(20)
    ]
    futures = [client.submit_tool("echo", {"message": str(n)}) for n in range(20)]
    assert [future.result(4 * BOUND).text for future in futures] == [f"Echo: {n}" for n in range(20)]
    resources = client.list_resources()
    assert client.read_resource(resources[0].uri).raw["contents"][0]["uri"] == resources[0].uri
    assert len(client.list_resource_templates()) == 2
    assert "Paris" in str(client.get_prompt("args-prompt", {"city": "Paris"}).raw)
    assert client.complete("completable-prompt", "department", "S").values == ["Sales", "Support"]
    with pytest.raises(errors.RemoteError):
        client.read_resource("demo://resource/dynamic/text/none")
    client.ping()


def test_progress_is_heard_and_a_call_is_given_up(program: Program, connect: Connect) -> None:
    client = connect(program)
    steps: list[Progress] = []
    arguments = {"duration": 0.2, "steps": 4}
    done = client.call_tool("trigger-long-running-operation", arguments, on_progress=steps.append)
    assert "Duration: 0.2 seconds, Steps: 4" in done.text
    assert [(one.progress, one.total) for one in steps] == [(number, 4) for number in (1, 2, 3, 4)]
    assert client.submit_tool("trigger-long-running-operation", LONG).cancel()
    with pytest.raises(errors.RequestTimeout):
        client.call_tool("trigger-long-running-operation", LONG, timeout=0.2)
    assert client.call_tool("echo", {"message": "usable"}).text == "Echo: usable"
    assert client.stats().reconnects == 0


@pytest.mark.requirement("feature:elicitation")
@pytest.mark.requirement("feature:sampling")
@pytest.mark.requirement("feature:roots")
def test_the_client_is_asked_in_the_middle_of_a_call(
    program: Program, connect: Connect, tmp_path: Path
) -> None:
    def sample(request: types.CreateMessageParams) -> types.CreateMessageResult:
        content = types.TextContent(text=f"{request.max_tokens} tokens")
        return types.CreateMessageResult(role="assistant", content=content, model="toy-1")

    client = connect(
        program, sampling_handler=sample, elicitation_handler=lambda _: {"name": "Ada"}, roots=[tmp_path]
    )
    # It adds tools as soon as it knows what the client offers, and says so before anybody can listen.
    until(lambda: "trigger-elicitation-request" in {one.name for one in client.list_tools()})
    arguments = {"prompt": "tea?", "maxTokens": 7}
    assert "7 tokens" in client.call_tool("trigger-sampling-request", arguments).text
    assert "- Name: Ada" in client.call_tool("trigger-elicitation-request").text
    assert tmp_path.as_uri() in client.call_tool("get-roots-list").text


def test_news_arrive_on_the_stream_that_nobody_asked_on(program: Program, connect: Connect) -> None:
    logs, updates, lists = Heard(), Heard(), Heard()
    client = connect(program, log_handler=logs).wait_ready()
    client.on_resource_updated(updates, RESOURCE)
    client.on_notification(lists, "notifications/resources/list_changed")
    client.set_logging_level("info")

    def told_of_the_subscription() -> bool:
        client.subscribe_resource(RESOURCE)
        return bool(logs.news)

    # What it says before the client's stream of news is open is lost: it keeps nothing for later.
    until(told_of_the_subscription)
    assert RESOURCE in logs.news[0].data
    client.call_tool("toggle-subscriber-updates")
    assert updates.wait() == [RESOURCE]
    client.call_tool("gzip-file-as-resource", {"name": "y.gz", "data": "data:text/plain,y"})
    lists.wait()


@pytest.mark.requirement("connection:recover")
@pytest.mark.requirement("request:lost")
def test_killed_in_the_middle_of_calls_and_started_again(program: Program, connect: Connect) -> None:
    client, begun = connect(program).wait_ready(), Heard()
    client.list_tools()

    def call(options: dict[str, Any]) -> str:
        return client.call_tool("trigger-long-running-operation", LONG, **options).text

    lost = [in_thread(lambda: call({"on_progress": begun})) for _ in range(3)]
    begun.wait(3)
    program.kill()
    for one in lost:
        error = one.exception(BOUND)
        assert isinstance(error, errors.ConnectionLost)
        assert error.outcome == "unknown"
    program.start()
    assert client.call_tool("echo", {"message": "back"}, wait=True).text == "Echo: back"
    assert client.stats().reconnects >= 1


@pytest.mark.requirement("connection:recover")
def test_a_server_that_is_started_anew_gets_its_subscriptions_back_without_a_call(
    program: Program, connect: Connect
) -> None:
    client, updates, gaps = connect(program).wait_ready(), Heard(), Heard()
    client.on_resource_updated(updates, RESOURCE)
    client.on_gap(gaps)
    client.subscribe_resource(RESOURCE)
    program.restart()
    # The broken stream alone tells it.
    # It has to start again first, and we look for it less and less often.
    until(lambda: client.stats().reconnects == 1, time.monotonic() + 6 * BOUND)
    assert gaps.wait()[-1].lost == ()
    client.call_tool("toggle-subscriber-updates", wait=True)
    assert updates.wait() == [RESOURCE]


@pytest.mark.requirement("connection:recover")
def test_a_session_that_the_server_forgot_is_replaced_though_it_answers_400(
    streamable: Program, connect: Connect
) -> None:
    client, updates = connect(streamable).wait_ready(), Heard()
    client.on_resource_updated(updates, RESOURCE)
    client.list_tools()
    client.subscribe_resource(RESOURCE)
    forget_session(streamable, client)
    assert client.call_tool("echo", {"message": "back"}, wait=True).text == "Echo: back"
    client.call_tool("toggle-subscriber-updates")
    assert updates.wait() == [RESOURCE]
    assert client.stats().reconnects == 1
