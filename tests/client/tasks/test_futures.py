"""Futures whose calls become tasks: their result is the task's, and whoever cancels them cancels the task."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import CancelledError
from contextvars import ContextVar
from types import SimpleNamespace
from typing import Any

import pytest

from mcp_actors import Client, errors
from mcp_actors.client.futures import CallFuture
from mcp_actors.client.tasks import following
from mcp_actors.client.tasks.following import Follower
from mcp_actors.runtime.deadline import Deadline
from tests.client.features.ear import Ear
from tests.client.tasks.task_host import CORE, EXTENSION, ID, TaskHost
from tests.client.toy_host import form, tool
from tests.client.waiting import BOUND, until

pytestmark = pytest.mark.requirement("feature:tasks")

Ready = Callable[..., Client]
MakeTaskHost = Callable[..., TaskHost]


def followers() -> list[threading.Thread]:
    """The threads that wait for tasks."""
    return [thread for thread in threading.enumerate() if thread.name.startswith("mcp-task-")]


def test_a_future_has_the_result_of_its_task(host: TaskHost, ready: Ready) -> None:
    host.states += [host.state("working"), host.completed()]
    future = ready(host).submit_tool("slow")
    assert future.result(BOUND).text == "done"
    host.await_heard("tasks/get", 2)
    assert host.all_heard("tasks/cancel") == []


def test_calls_of_a_batch_have_the_results_of_their_tasks(host: TaskHost, ready: Ready) -> None:
    host.states = [host.completed()]
    with ready(host).batch() as batch:
        calls = [batch.call_tool("slow") for _ in range(3)]
    assert [call.result(BOUND).text for call in calls] == ["done"] * 3


def test_a_future_that_was_submitted_before_the_client_was_ready_is_followed_too(
    host: TaskHost, ready: Ready, make_client: Callable[..., Client]
) -> None:
    host.states = [host.completed()]
    knowing = ready(host)
    client = make_client(host, extensions={"io.modelcontextprotocol/tasks": {}})
    client._listings.remember(knowing.list_tools())
    assert client.submit_tool("slow").result(BOUND).text == "done"


def test_cancelling_a_future_cancels_its_task_once(host: TaskHost, ready: Ready) -> None:
    client = ready(host)
    future = client.submit_tool("slow")
    host.await_heard("tasks/get")
    for _ in range(3):
        assert future.cancel()
    with pytest.raises(CancelledError):
        future.result(BOUND)
    host.await_heard("tasks/cancel", taskId=ID)
    until(lambda: followers() == [])
    client.ping()
    assert len(host.all_heard("tasks/cancel")) == 1
    assert host.all_heard("notifications/cancelled") == []
    assert client.stats().in_flight == 0


def test_a_future_that_is_cancelled_need_not_wait_for_the_next_look(host: TaskHost, ready: Ready) -> None:
    host.poll_ms = 60_000
    future = ready(host).submit_tool("slow")
    until(lambda: followers() != [])
    assert future.cancel()
    until(lambda: followers() == [])


def test_a_task_of_a_future_that_nobody_wants_any_more_is_cancelled(
    host: TaskHost, ready: Ready, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = Follower.begin

    def late(follower: Follower, future: CallFuture[Any], deadline: Deadline) -> None:
        assert future.cancel()
        usual(follower, future, deadline)

    monkeypatch.setattr(Follower, "begin", late)
    future = ready(host).submit_tool("slow")
    with pytest.raises(CancelledError):
        future.result(BOUND)
    host.await_heard("tasks/cancel", taskId=ID)
    assert followers() == []


def test_a_task_that_fails_or_is_cancelled_fails_its_future(host: TaskHost, ready: Ready) -> None:
    host.states += [host.state("cancelled", "by the cook")]
    error = ready(host).submit_tool("slow").exception(BOUND)
    assert isinstance(error, errors.Cancelled)
    assert "by the cook" in str(error)


def test_a_future_whose_task_takes_too_long_times_out_and_cancels_it(host: TaskHost, ready: Ready) -> None:
    client = ready(host)
    error = client.submit_tool("slow", timeout=0.3).exception(BOUND)
    assert isinstance(error, errors.RequestTimeout)
    assert (error.details["task_id"], error.details["status"]) == (ID, "working")
    host.await_heard("tasks/cancel", taskId=ID)


def test_a_followed_future_needs_one_place_in_flight(host: TaskHost, ready: Ready) -> None:
    client = ready(host, max_in_flight=1)
    future = client.submit_tool("slow")
    host.await_heard("tasks/get", 2)
    with pytest.raises(errors.Backpressure):
        client.submit_tool("slow")
    host.states += [host.completed()]
    assert future.result(BOUND).text == "done"
    second = client.submit_tool("slow", timeout=0.3)
    host.states = [host.state("working")]
    second.exception(BOUND)


def test_closing_the_client_ends_a_followed_future(host: TaskHost, ready: Ready) -> None:
    host.poll_ms = 60_000
    client = ready(host)
    future = client.submit_tool("slow")
    until(lambda: followers() != [])
    client.close()
    with pytest.raises(errors.ClientClosed):
        future.result(BOUND)
    until(lambda: followers() == [])


def test_a_followed_future_outlives_its_connection(host: TaskHost, ready: Ready) -> None:
    future = ready(host).submit_tool("slow")
    host.await_heard("tasks/get")
    host.drop()
    host.await_wires(2)
    host.states += [host.completed()]
    assert future.result(BOUND).text == "done"


def test_progress_of_a_followed_future_is_its_status_message(
    host: TaskHost, ready: Ready, caplog: pytest.LogCaptureFixture
) -> None:
    told = Ear()

    def hear(progress: Any) -> None:
        told(progress.message)
        raise LookupError("planted")

    host.states = [host.state("working", "mixing"), host.state("working", "baking"), host.completed()]
    future = ready(host).submit_tool("slow", on_progress=hear)
    assert future.result(BOUND).text == "done"
    assert told.heard[-1] == "baking"
    assert "the progress handler of <TaskHandle 'task-1'" in caplog.text


def test_what_a_followed_task_asks_is_answered_in_the_context_of_the_submission(
    make_task_host: MakeTaskHost, ready: Ready
) -> None:
    host, user, seen = make_task_host(EXTENSION), ContextVar("user", default="nobody"), Ear()

    def ask(_question: Any) -> dict[str, str]:
        seen(user.get())
        return {"name": "Ada"}

    host.states += [host.state("input_required", inputRequests={"a": form()}), host.completed()]
    client = ready(host, elicitation_handler=ask)
    token = user.set("Ada")
    future = client.submit_tool("slow")
    user.reset(token)
    assert future.result(BOUND).text == "done"
    assert seen.heard == ["Ada"]
    host.await_heard("tasks/update", taskId=ID)


def test_the_result_of_a_followed_task_is_checked_against_the_schema_of_its_tool(
    host: TaskHost, ready: Ready
) -> None:
    promise = {"outputSchema": {"type": "object"}, "execution": {"taskSupport": "required"}}
    host.answers["tools/list"] = lambda _: {"tools": [tool("slow") | promise]}
    host.states = [host.completed()]
    error = ready(host).submit_tool("slow").exception(BOUND)
    assert isinstance(error, errors.InvalidResponse)
    assert "there is no structured content" in str(error)


def test_a_server_that_answers_at_once_is_taken_at_its_word(
    make_task_host: MakeTaskHost, ready: Ready
) -> None:
    host = make_task_host(CORE)
    host.answers["tools/call"] = lambda _: {"content": [{"type": "text", "text": "at once"}]}
    assert ready(host).submit_tool("slow").result(BOUND).text == "at once"
    [asked] = host.all_heard("tools/call")
    assert asked["params"]["task"] == {}


def test_where_no_thread_is_to_be_had_the_task_is_cancelled(
    host: TaskHost, ready: Ready, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_args: Any, **_options: Any) -> Any:
        raise RuntimeError("can't start new thread")

    client = ready(host)
    with monkeypatch.context() as patched:
        patched.setattr(following, "threading", SimpleNamespace(Thread=refuse))
        error = client.submit_tool("slow").exception(BOUND)
    assert isinstance(error, errors.Backpressure)
    host.await_heard("tasks/cancel", taskId=ID)


def test_every_request_about_a_task_carries_the_trace_context(host: TaskHost, ready: Ready) -> None:
    trace = {"traceparent": "00-" + "1" * 32 + "-" + "2" * 16 + "-01"}
    client = ready(host, trace_context=lambda: trace, elicitation_handler=lambda _: {"name": "Ada"})
    if not host.core:
        host.states += [host.state("input_required", inputRequests={"a": form()}), host.completed()]
    else:
        host.states += [host.completed()]
    handle = client.start_task("slow")
    assert handle.result(BOUND).text == "done"
    host.states = [host.state("working")]
    client.start_task("slow").cancel()
    host.states = [host.state("working")]
    client.start_task("slow").withdraw()
    host.await_heard("tasks/cancel", 2)
    if host.core:
        client.list_tasks()
    asked = [one for one in list(host.heard) if one.get("method", "").startswith("tasks/")]
    methods = {"tasks/get", "tasks/cancel"} | (
        {"tasks/result", "tasks/list"} if host.core else {"tasks/update"}
    )
    assert {one["method"] for one in asked} == methods
    assert {one["params"].get("_meta", {}).get("traceparent") for one in asked} == {trace["traceparent"]}
