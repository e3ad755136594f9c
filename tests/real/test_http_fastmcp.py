"""A server made with FastMCP over HTTP, in both eras."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_actors import Progress, errors
from mcp_actors.protocol import types
from tests.client.waiting import BOUND, in_thread
from tests.real.hearing import Heard
from tests.real.programs import ERAS, MARKS
from tests.real.web import Connect, Program, Run, connect, forget_session, run

__all__ = ["connect", "run"]

pytestmark = [*MARKS, pytest.mark.requirement("transport:http")]

both_eras = pytest.mark.parametrize("era", ERAS)


@pytest.fixture
def program(fastmcp_server: list[str], run: Run) -> Program:
    return run([*fastmcp_server, "{port}"], "/mcp")


def answer(form: types.ElicitParams) -> dict[str, object]:
    """A user who fills in every form in the same way."""
    assert isinstance(form, types.ElicitFormParams)
    known = {"name": "Ada", "amount": 3, "value": 4}
    return {name: known[name] for name in form.requested_schema["properties"]}


def muse(request: types.CreateMessageParams) -> types.CreateMessageResult:
    """A model that repeats what it is told."""
    content = types.TextContent(text=request.messages[0].text)
    return types.CreateMessageResult(role="assistant", content=content, model="parrot")


@pytest.mark.requirement("negotiation:era")
def test_the_newer_era_is_found_out(program: Program, connect: Connect) -> None:
    client = connect(program).wait_ready()
    assert client.protocol_version == ERAS[0]


@both_eras
def test_fastmcp_is_used_over_http(era: str, program: Program, connect: Connect) -> None:
    client, logs = connect(program, protocol=era).wait_ready(), Heard()
    assert (client.protocol_version, client.server_info.name) == (era, "fastmcp-features")
    client.on_log(logs)
    client.set_logging_level("warning")
    calls = [in_thread(lambda n=n: client.call_tool("add", {"a": n, "b": 1})) for n in range(10)]  # type: ignore[misc]
    assert [call.result(4 * BOUND).structured_content["result"] for call in calls] == [*range(1, 11)]
    assert client.call_tool("add", {"a": "two", "b": 40}).is_error
    assert client.read_resource("book://faust/3").raw["contents"][0]["text"] == "page 3 of faust"
    assert "about rain" in str(client.get_prompt("poem", {"about": "rain"}).raw)
    steps: list[Progress] = []
    assert client.call_tool("count", {"to": 3}, on_progress=steps.append).text == "3"
    assert [one.progress for one in steps] == [1, 2, 3]
    client.call_tool("chatter")
    assert [(one.level, one.logger) for one in logs.wait(2)] == [("warning", "chatter"), ("error", None)]


def test_a_tool_that_is_hidden_from_a_session_is_announced(program: Program, connect: Connect) -> None:
    client, heard = connect(program, protocol=ERAS[1]), Heard()
    client.on_tools_changed(heard)
    assert "add" in {one.name for one in client.list_tools()}
    client.call_tool("hide_add")
    heard.wait()
    assert "add" not in {one.name for one in client.list_tools()}
    # The newer era has no sessions to hide it from, and this server announces nothing there.
    newer = connect(program, protocol=ERAS[0]).wait_ready()
    newer.on_tools_changed(heard)
    assert newer.call_tool("hide_add").is_error


def test_user_and_model_are_asked_by_requests_before_2026_07_28(program: Program, connect: Connect) -> None:
    client = connect(program, protocol=ERAS[1], elicitation_handler=answer, sampling_handler=muse)
    assert client.call_tool("ask_by_request", {"what": "cups"}).text == "4 cups"
    assert client.call_tool("muse_by_request", {"topic": "tea"}).text == "parrot: tea"


@pytest.mark.requirement("feature:mrtr")
def test_user_and_model_are_asked_by_results_since_2026_07_28(program: Program, connect: Connect) -> None:
    client = connect(program, protocol=ERAS[0], elicitation_handler=answer, sampling_handler=muse)
    assert client.call_tool("ask_by_result", {"what": "cups"}).text == "Ada: 3 cups"
    assert client.call_tool("muse_by_result", {"topic": "tea"}).text == "parrot: tea"


def test_a_stream_that_the_server_closes_on_purpose_is_taken_up_again(
    program: Program, connect: Connect
) -> None:
    client = connect(program, protocol=ERAS[1])
    steps: list[Progress] = []
    assert client.call_tool("hang_up", on_progress=steps.append).text == "after all"
    assert [one.progress for one in steps] == [1, 2]
    assert client.call_tool("hang_up").text == "after all"


@pytest.mark.requirement("connection:recover")
@pytest.mark.requirement("request:lost")
@both_eras
def test_killed_in_the_middle_of_calls_and_started_again(
    era: str, program: Program, connect: Connect
) -> None:
    client, begun = connect(program, protocol=era).wait_ready(), Heard()
    client.list_tools()

    def call(**options: Any) -> Any:
        return client.call_tool("endless_count", **options)

    before = client.call_tool("pid").text
    lost = [in_thread(lambda: call(on_progress=begun)), in_thread(call)]
    begun.wait()
    program.kill()
    for one in lost:
        error = one.exception(BOUND)
        assert isinstance(error, errors.ConnectionLost)
        assert error.outcome == "unknown"
    program.start()
    assert client.call_tool("pid", wait=True).text != before


@pytest.mark.requirement("connection:recover")
def test_a_session_that_the_server_forgot_is_replaced(program: Program, connect: Connect) -> None:
    client = connect(program, protocol=ERAS[1])
    client.list_tools()
    forget_session(program, client)
    assert client.call_tool("add", {"a": 1, "b": 2}, wait=True).text == "3"
    assert client.stats().reconnects == 1
