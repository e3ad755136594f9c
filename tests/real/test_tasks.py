"""Calls that go on at the server: tasks of 2025-11-25, and those of the extension that came after them."""

from __future__ import annotations

from typing import Any, Final

import pytest

from mcp_actors import errors
from tests.client.waiting import in_thread, until
from tests.real.hearing import Heard
from tests.real.programs import MARKS, PATIENCE, MakeStdio, kill_and_notice

pytestmark = MARKS

RESEARCH: Final = "simulate-research-query"
EXTENSION: Final[dict[str, Any]] = {"extensions": {"io.modelcontextprotocol/tasks": {}}}


@pytest.mark.requirement("feature:tasks")
def test_research_goes_on_in_the_background_and_asks_what_was_meant(
    everything: list[str], make_stdio: MakeStdio
) -> None:
    client = make_stdio(everything, elicitation_handler=lambda _: {"interpretation": "snake"}, **PATIENCE)
    told, steps = Heard(), Heard()
    client.on_task_status(told)
    handle = client.start_task(RESEARCH, {"topic": "python", "ambiguous": True})
    # By the listing this tool only runs as a task, so that an ordinary call becomes one by itself.
    client.list_tools()
    plain = in_thread(lambda: client.call_tool(RESEARCH, {"topic": "tea"}).text)
    assert "Research Report: python (snake)" in handle.result(on_progress=steps).text
    assert (handle.done, handle.status) == (True, "completed")
    assert "Research Report: tea" in plain.result(PATIENCE["request_timeout"])
    assert [one.message for one in steps.news][0] == "Gathering sources..."
    assert {one.task_id for one in told.wait()} >= {handle.id}
    assert handle.id in {one.id for one in client.list_tasks()}
    assert "snake" in client.get_task(handle.id).result().text


@pytest.mark.requirement("feature:tasks")
def test_research_is_cancelled(everything: list[str], make_stdio: MakeStdio) -> None:
    client = make_stdio(everything, **PATIENCE)
    client.list_tools()
    handle = client.start_task(RESEARCH, {"topic": "tea"}, ttl=60)
    handle.cancel()
    assert client.get_task(handle.id).status == "cancelled"
    with pytest.raises(errors.Cancelled):
        handle.result()
    with pytest.raises(errors.CapabilityMissing):
        client.start_task("echo", {"message": "quick"})
    with pytest.raises(errors.RemoteError):
        client.get_task("no such task")


@pytest.mark.requirement("feature:tasks")
def test_fastmcp_runs_calls_as_tasks_of_the_extension(
    fastmcp_server: list[str], make_stdio: MakeStdio
) -> None:
    client = make_stdio(fastmcp_server, elicitation_handler=lambda _: {"amount": 3}, **EXTENSION, **PATIENCE)
    handle = client.start_task("slow_sum", {"a": 2, "b": 40})
    assert handle.id
    assert handle.result().structured_content == {"result": 42}
    assert client.get_task(handle.id).status == "completed"
    assert client.call_tool("slow_sum", {"a": 1, "b": 1}).structured_content == {"result": 2}
    assert client.start_task("order", {"what": "cups"}).result().text == "3 cups ordered"
    assert client.call_tool("order", {"what": "pots"}).text == "3 pots ordered"
    assert client.start_task("broken").result().is_error
    assert client.start_task("add", {"a": 1, "b": 2}).result().structured_content == {"result": 3}


@pytest.mark.requirement("feature:tasks")
@pytest.mark.requirement("connection:recover")
def test_a_task_is_cancelled_and_one_is_lost_with_its_server(
    fastmcp_server: list[str], make_stdio: MakeStdio
) -> None:
    client = make_stdio(fastmcp_server, **EXTENSION, **PATIENCE)
    handle = client.start_task("endless")
    with pytest.raises(errors.RequestTimeout):
        handle.result(timeout=0.2)
    handle.cancel()
    until(lambda: handle.refresh() == "cancelled", otherwise=lambda: repr(handle))
    with pytest.raises(errors.Cancelled):
        handle.result()
    lost = client.start_task("endless")
    kill_and_notice(client, "fastmcp_features.py")
    # This server keeps its tasks in memory; the next one never heard of it.
    with pytest.raises(errors.RemoteError, match="not found"):
        lost.result()
    assert client.start_task("slow_sum", {"a": 1, "b": 2}).result().text == "3"


@pytest.mark.requirement("feature:tasks")
def test_a_client_that_does_not_know_tasks_gets_the_answer_itself(
    fastmcp_server: list[str], make_stdio: MakeStdio
) -> None:
    client = make_stdio(fastmcp_server, **PATIENCE)
    assert client.call_tool("slow_sum", {"a": 1, "b": 2}).text == "3"
    with pytest.raises(errors.CapabilityMissing, match="did not declare"):
        client.start_task("slow_sum", {"a": 1, "b": 2})
