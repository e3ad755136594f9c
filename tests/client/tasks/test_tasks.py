"""Tasks of both kinds: calls that outlive their answer, waited for like any other."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from mcp_actors import Client, Progress, errors
from mcp_actors.client.gate import TASKS_EXTENSION
from mcp_actors.client.tasks.snapshot import poll_seconds
from mcp_actors.runtime import slot
from tests.client.relay import over_both_wires
from tests.client.tasks.task_host import CORE, EXTENSION, ID, RELATED, TaskHost, long_tool, silent
from tests.client.test_interrupts import _one_interrupt_for_each_test, interrupt_when  # noqa: F401
from tests.client.toy_host import Refusal, asking, form, text
from tests.client.waiting import BOUND, in_thread, until

Ready = Callable[..., Client]
MakeTaskHost = Callable[..., TaskHost]


def refuse(code: int, message: str, data: Any = None) -> Any:
    """Answer with a JSON-RPC error."""
    raise Refusal(code, message, data)


@pytest.mark.requirement("feature:tasks")
@over_both_wires
def test_a_call_that_becomes_a_task_blocks_until_its_end(host: TaskHost, ready: Ready) -> None:
    host.states += [host.state("working"), host.completed()]
    assert ready(host).call_tool("slow").text == "done"
    assert len(host.all_heard("tools/call")) == 1
    assert len(host.all_heard("tasks/get", taskId=ID)) == 2
    assert len(host.all_heard("tasks/result", taskId=ID)) == (1 if host.core else 0)
    assert host.all_heard("tasks/cancel") == []


@pytest.mark.requirement("feature:tasks")
@over_both_wires
def test_a_handle_knows_its_task(host: TaskHost, ready: Ready) -> None:
    host.states = [host.state("working", "warming up")]
    handle = ready(host).start_task("slow", ttl=60)
    assert (handle.id, handle.status, handle.done) == (ID, "working", False)
    assert (handle.status_message, handle.created_at) == ("warming up", "2026-01-01T00:00:00Z")
    assert handle.raw["odd"] == 1
    assert repr(handle) == "<TaskHandle 'task-1' (working)>"
    params = host.await_heard("tools/call")["params"]
    assert params.get("task") == ({"ttl": 60_000} if host.core else None)
    host.states += [host.state("working", "half way")]
    assert handle.refresh() == "working"
    assert handle.status_message == "half way"
    host.states += [host.completed()]
    assert handle.result().text == "done"
    assert (handle.done, handle.refresh(), handle.status) == (True, "completed", "completed")
    heard = len(host.heard)
    assert handle.result().text == "done"
    handle.cancel()
    assert len(host.heard) == heard


@pytest.mark.requirement("feature:tasks")
@over_both_wires
def test_a_task_is_found_again_by_its_id(host: TaskHost, ready: Ready) -> None:
    host.states = [host.state("working"), host.completed("later")]
    host.result = lambda: text("later")
    client = ready(host)
    handle = client.get_task(ID)
    assert handle.result().text == "later"
    with pytest.raises(errors.RemoteError) as caught:
        client.get_task("lost")
    assert caught.value.code == -32602
    with pytest.raises(TypeError, match="task_id must be a string"):
        client.get_task(5)  # type: ignore[arg-type]


def test_a_change_of_the_status_message_is_progress(host: TaskHost, ready: Ready) -> None:
    host.states = [
        host.state("working", "one"),
        host.state("working", "one"),
        host.state("working"),
        host.state("working", "two"),
        host.completed(),
    ]
    heard: list[tuple[Progress, str]] = []
    ready(host).call_tool(
        "slow", on_progress=lambda news: heard.append((news, threading.current_thread().name))
    )
    me = threading.current_thread().name
    assert heard == [(Progress(1.0, message="one"), me), (Progress(2.0, message="two"), me)]


def test_a_callback_that_raises_ends_the_wait_and_the_task(host: TaskHost, ready: Ready) -> None:
    def fail(_: Progress) -> None:
        raise LookupError("mine")

    host.states = [host.state("working", "one")]
    with pytest.raises(LookupError, match="mine"):
        ready(host).call_tool("slow", on_progress=fail)
    host.await_heard("tasks/cancel", taskId=ID)
    with pytest.raises(TypeError, match="on_progress must be callable"):
        ready(host).start_task("slow").result(on_progress=5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "how", [lambda client: client.call_tool("slow"), lambda client: client.start_task("slow").result()]
)
def test_a_task_that_failed_raises_its_error(
    how: Callable[[Client], Any], host: TaskHost, ready: Ready
) -> None:
    error = {"code": -32000, "message": "disk full", "data": {"free": 0}}
    host.states += [host.state("failed") | ({} if host.core else {"error": error})]
    host.result = lambda: refuse(-32000, "disk full", {"free": 0})
    client = ready(host)
    with pytest.raises(errors.RemoteError, match="disk full") as caught:
        how(client)
    assert (caught.value.code, caught.value.data) == (-32000, {"free": 0})
    client.ping()
    assert host.all_heard("tasks/cancel") == []


def test_a_tool_that_failed_is_a_result(host: TaskHost, ready: Ready) -> None:
    failed = text("disk full") | {"isError": True}
    # MCP 2025-11-25 calls such a task failed, the extension completed.
    host.states += [host.state("failed") if host.core else host.state("completed", result=failed)]
    host.result = lambda: failed
    result = ready(host).call_tool("slow")
    assert (result.is_error, result.text) == (True, "disk full")


def test_a_task_that_was_cancelled_raises_cancelled(host: TaskHost, ready: Ready) -> None:
    host.states += [host.state("cancelled", "by the night watch")]
    client = ready(host)
    with pytest.raises(errors.Cancelled) as caught:
        client.call_tool("slow")
    assert str(caught.value) == "tools/call 'slow' (task 'task-1') was cancelled: by the night watch"
    client.ping()
    assert host.all_heard("tasks/cancel") == []


def test_a_handle_can_cancel_its_task(host: TaskHost, ready: Ready) -> None:
    handle = ready(host).start_task("slow")
    handle.cancel()
    assert handle.status == ("cancelled" if host.core else "working")
    assert handle.refresh() == "cancelled"
    with pytest.raises(errors.Cancelled, match="as you wish"):
        handle.result()
    assert len(host.all_heard("tasks/cancel")) == 1


def test_a_call_at_its_deadline_cancels_its_task_once(host: TaskHost, ready: Ready) -> None:
    client = ready(host)
    with pytest.raises(errors.RequestTimeout) as caught:
        client.call_tool("slow", timeout=0.3)
    assert str(caught.value).splitlines()[0] == (
        "tools/call 'slow' (task 'task-1') did not end within 0.3 s (status: working)"
    )
    assert caught.value.details == {"seconds": 0.3, "task_id": ID, "status": "working"}
    host.await_heard("tasks/cancel", taskId=ID)
    client.ping()
    assert len(host.all_heard("tasks/cancel")) == 1
    assert host.all_heard("notifications/cancelled") == []


def test_a_look_that_is_not_answered_is_a_timeout_too(host: TaskHost, ready: Ready) -> None:
    host.answers["tasks/get"] = silent
    with pytest.raises(errors.RequestTimeout, match=r"\(task 'task-1'\) did not end within 0.3 s"):
        ready(host).call_tool("slow", timeout=0.3)
    host.await_heard("tasks/cancel", taskId=ID)


def test_waiting_for_a_handle_in_vain_leaves_the_task_running(host: TaskHost, ready: Ready) -> None:
    client = ready(host)
    handle = client.start_task("slow")
    with pytest.raises(errors.RequestTimeout, match=r"'task-1'\) did not end within 0.1 s"):
        handle.result(timeout=0.1)
    host.states += [host.completed()]
    assert handle.result().text == "done"
    assert host.all_heard("tasks/cancel") == []


def test_ctrl_c_in_a_call_cancels_its_task_once(host: TaskHost, ready: Ready) -> None:
    client = ready(host)
    interrupt_when(lambda: host.await_heard("tasks/get", 2))
    with pytest.raises(KeyboardInterrupt):
        client.call_tool("slow")
    host.await_heard("tasks/cancel", taskId=ID)
    client.ping()
    assert len(host.all_heard("tasks/cancel")) == 1
    until(lambda: client.stats().in_flight == 0)


def test_closing_ends_a_wait_for_a_task(host: TaskHost, ready: Ready) -> None:
    host.poll_ms = 60_000
    client = ready(host)
    handle = client.start_task("slow")
    waiting = in_thread(lambda: handle.result(timeout=60))
    calling = in_thread(lambda: client.call_tool("slow", timeout=60))
    host.await_heard("tools/call", 2)
    client.close()
    assert isinstance(waiting.exception(BOUND), errors.ClientClosed)
    assert isinstance(calling.exception(BOUND), errors.ClientClosed)
    with pytest.raises(errors.ClientClosed):
        handle.refresh()


def test_a_task_outlives_its_connection(host: TaskHost, ready: Ready) -> None:
    usual = host.answers["tasks/get"]

    def die_once(request: dict[str, Any]) -> Any:
        host.answers["tasks/get"] = usual
        host.drop()
        return silent(request)

    host.answers["tasks/get"] = die_once
    host.states += [host.completed()]
    assert ready(host).call_tool("slow").text == "done"
    assert host.wires == 2
    assert len(host.all_heard("tools/call")) == 1


@pytest.mark.parametrize("poll_ms", [60_000, None])
def test_a_task_is_looked_at_before_the_deadline_however_seldom_it_wants_to_be(
    poll_ms: int | None, host: TaskHost, ready: Ready
) -> None:
    host.poll_ms = poll_ms
    client = ready(host)
    with pytest.raises(errors.RequestTimeout):
        client.call_tool("slow", timeout=0.3)
    host.await_heard("tasks/cancel")
    assert len(host.all_heard("tasks/get")) == 1
    client.ping()
    host.states = [host.state("working"), host.completed()]
    assert client.call_tool("slow", timeout=0.5).text == "done"


@pytest.mark.parametrize(
    ("milliseconds", "seconds"),
    [(None, 1.0), (-5, 0.05), (0, 0.05), (50, 0.05), (700, 0.7), (60_000, 60.0), (10**12, 60.0)],
)
def test_servers_suggest_how_often_to_look_within_bounds(milliseconds: int | None, seconds: float) -> None:
    assert poll_seconds(milliseconds) == seconds


def test_a_server_that_answers_at_once_leaves_a_handle_that_is_done(host: TaskHost, ready: Ready) -> None:
    host.answers["tools/call"] = lambda _: text("quick")
    client = ready(host)
    handle = client.start_task("slow")
    assert (handle.id, handle.done, handle.status, handle.refresh()) == ("", True, "completed", "completed")
    assert handle.result().text == "quick"
    assert handle.raw == text("quick")
    host.answers["tools/call"] = lambda _: text("bad") | {"isError": True}
    assert client.start_task("slow").status == "failed"
    assert client.call_tool("slow").is_error
    handle.cancel()
    assert host.all_heard("tasks/get") == host.all_heard("tasks/cancel") == []


@pytest.mark.requirement("feature:tasks")
@over_both_wires
def test_a_call_waits_for_the_first_connection_and_starts_the_client(
    host: TaskHost, make_client: Ready
) -> None:
    host.states += [host.completed()]
    client = make_client(host, extensions={TASKS_EXTENSION: {}})
    assert client.start_task("slow").result().text == "done"


@pytest.mark.parametrize("version", [CORE, EXTENSION])
def test_what_is_no_task_is_an_invalid_response(
    version: str, make_task_host: MakeTaskHost, ready: Ready
) -> None:
    host = make_task_host(version)
    client = ready(host)
    handle = client.start_task("slow")
    host.answers["tasks/get"] = lambda _: {"taskId": 5}
    with pytest.raises(errors.InvalidResponse, match="tasks/get 'task-1' got an answer that does not fit"):
        handle.refresh()
    host.answers["tasks/get"] = lambda _: asking(None, "s")
    with pytest.raises(errors.InvalidResponse, match="tasks/get 'task-1' got a result of type"):
        handle.refresh()
    host.answers["tools/call"] = lambda _: asking()
    with pytest.raises(errors.InvalidResponse, match="tools/call 'slow'"):
        client.start_task("slow")
    host.answers["tools/call"] = lambda _: {"neither": 1}
    with pytest.raises(errors.InvalidResponse, match="tools/call 'slow'"):
        client.start_task("slow")


@pytest.mark.requirement("runtime:fork")
def test_a_forked_child_neither_waits_for_its_parents_task_nor_cancels_it(
    host: TaskHost, ready: Ready, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = ready(host)
    host.states = [host.state("working", "one")]
    with monkeypatch.context() as child, pytest.raises(errors.ForkedClient):
        client.call_tool("slow", on_progress=lambda _: child.setattr(slot._Process, "pid", -1))
    client.ping()
    assert host.all_heard("tasks/cancel") == []


# 2025-11-25 alone.


def test_the_result_of_another_task_is_refused(make_task_host: MakeTaskHost, ready: Ready) -> None:
    host = make_task_host(CORE)
    host.states += [host.completed()]
    host.result = lambda: text("x") | {"_meta": {"io.modelcontextprotocol/related-task": {"taskId": "b"}}}
    with pytest.raises(errors.InvalidResponse, match="got the result of task 'b'"):
        ready(host).call_tool("slow")
    for meta in ({}, {"_meta": {"io.modelcontextprotocol/related-task": 5}}, RELATED):
        host.result = lambda meta=meta: text("x") | meta  # type: ignore[misc]
        assert ready(host).call_tool("slow").text == "x"


def test_a_task_that_needs_input_is_asked_for_its_result(make_task_host: MakeTaskHost, ready: Ready) -> None:
    host = make_task_host(CORE)
    host.states += [host.state("input_required")]
    host.answers["tasks/result"] = silent
    client = ready(host, elicitation_handler=lambda _: {"name": "Ada"})
    calling = in_thread(lambda: client.call_tool("slow"))
    waiting = host.await_heard("tasks/result", taskId=ID)
    host.say({"jsonrpc": "2.0", "id": "q"} | form())
    answer = host.await_answer("q")
    assert answer["result"] == {"action": "accept", "content": {"name": "Ada"}}
    host.reply(waiting, text("hello Ada"))
    assert calling.result(BOUND).text == "hello Ada"


def test_a_task_that_is_cancelled_while_it_needs_input(make_task_host: MakeTaskHost, ready: Ready) -> None:
    host = make_task_host(CORE)
    host.states += [host.state("input_required"), host.state("cancelled")]
    host.result = lambda: refuse(-32603, "gone")
    client = ready(host)
    with pytest.raises(errors.Cancelled, match="was cancelled"):
        client.call_tool("slow")
    client.ping()
    assert host.all_heard("tasks/cancel") == []
    host.states = [host.state("working"), host.state("input_required")]
    with pytest.raises(errors.RemoteError, match="gone"):
        client.call_tool("slow")


def test_a_tool_that_must_run_as_a_task_is_called_plainly_where_tasks_are_not_offered(
    make_task_host: MakeTaskHost, ready: Ready
) -> None:
    host = make_task_host(CORE, capabilities={"tools": {}})
    assert ready(host).call_tool("slow").text == "no task"


def test_tools_that_need_not_run_as_tasks_are_called_plainly(
    make_task_host: MakeTaskHost, ready: Ready
) -> None:
    host = make_task_host(CORE)
    client = ready(host)
    assert client.call_tool("both").text == "no task"
    assert client.call_tool("unheard of").text == "no task"
    host.states += [host.completed()]
    assert client.start_task("both").result().text == "done"
    assert client.start_task("unheard of").id == ID


def test_all_tasks_are_listed(make_task_host: MakeTaskHost, ready: Ready) -> None:
    host = make_task_host(CORE)
    pages = iter([{"tasks": [host.task()], "nextCursor": "2"}, {"tasks": [host.task() | {"taskId": "b"}]}])
    host.answers["tasks/list"] = lambda _: next(pages)
    listed = ready(host).list_tasks()
    assert [one.id for one in listed] == [ID, "b"]
    assert listed[0].status == "working"


def test_a_lost_start_is_not_repeated(host: TaskHost, ready: Ready) -> None:
    client = ready(host)

    def die(request: dict[str, Any]) -> Any:
        host.drop()
        return silent(request)

    host.answers["tools/call"] = die
    with pytest.raises(errors.ConnectionLost):
        client.start_task("slow", wait=True)
    client.wait_ready()
    assert len(host.all_heard("tools/call")) == 1


@pytest.mark.requirement("feature:tools")
def test_the_result_of_a_task_is_held_to_its_output_schema(host: TaskHost, ready: Ready) -> None:
    promised = long_tool("slow", "required") | {"outputSchema": {"type": "object"}}
    host.answers["tools/list"] = lambda _: {"tools": [promised]}
    host.states = [host.state("working"), host.completed()]
    handle = ready(host).start_task("slow")
    with pytest.raises(errors.InvalidResponse, match="there is no structured content") as caught:
        handle.result()
    assert caught.value.details["result"]["content"][0]["text"] == "done"
