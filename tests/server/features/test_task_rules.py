"""What the protocol says about tasks, message by message."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from mcp_actors import NoAnswer, Server, errors
from mcp_actors.server.context import Context
from mcp_actors.server.task_calls import RunningTasks
from mcp_actors.server.tasks.board import TaskBoard, TaskLimits
from mcp_actors.server.tasks.memory_store import MemoryTaskStore
from tests.client.features.ear import Ear
from tests.client.waiting import BOUND, opened_at_the_end, until
from tests.server.conftest import Connect, MakeServer, MakeTalk
from tests.server.features.workshop import DECLARED, Guest, furnish
from tests.server.talk import HANDSHAKE, STATELESS

pytestmark = pytest.mark.requirement("feature:tasks")


@pytest.fixture(autouse=True)
def _look_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_actors.server.tasks.board.TaskLimits", lambda: TaskLimits(poll_interval=10))


@pytest.fixture
def works(server: Server) -> Server:
    return furnish(server)


def test_the_core_wants_tools_and_calls_to_agree(works: Server, talk: MakeTalk) -> None:
    one = talk(works, HANDSHAKE)
    assert one.call("tools/call", name="look", task={})["error"]["code"] == -32601
    assert one.call("tools/call", name="dig")["error"]["code"] == -32601
    assert one.call("tools/call", name="dig", task=7)["error"]["code"] == -32602
    assert "task" in one.call("tools/call", name="dig", task={"ttl": 5})["result"]


def test_the_extension_wants_a_client_that_declares_it(works: Server, talk: MakeTalk) -> None:
    one = talk(works, STATELESS)
    for answer in (one.tool("dig"), one.call("tasks/get", taskId="x"), one.call("tasks/update", taskId="x")):
        assert answer["error"]["code"] == -32021


def test_a_revision_without_tasks_calls_what_it_can(works: Server, connect: Connect) -> None:
    client = connect(works, "2025-06-18")
    assert client.call_tool("build", {"what": "house"}).text == "a house"
    assert client.call_tool("dig").text == "a hole"


def test_tasks_cannot_be_listed_where_nobody_is_told_apart(works: Server, talk: MakeTalk) -> None:
    one = talk(works, HANDSHAKE)
    assert "list" not in works.profile().capabilities["tasks"]
    assert one.call("tasks/list")["error"]["code"] == -32601
    works.wsgi(authorization=object())  # type: ignore[arg-type]
    assert "list" in works.profile().capabilities["tasks"]
    assert "cannot be told apart" in one.call("tasks/list")["error"]["message"]


@pytest.mark.parametrize("method", ["tasks/get", "tasks/cancel", "tasks/result"])
def test_an_unknown_task_is_a_mistake(works: Server, talk: MakeTalk, method: str) -> None:
    assert talk(works, HANDSHAKE).call(method, taskId="none")["error"]["code"] == -32602


def test_a_full_store_takes_no_more_tasks(make_server: MakeServer, connect: Connect, era: str) -> None:
    server, gate = make_server(task_store=MemoryTaskStore(max_tasks=1)), threading.Event()

    @server.tool(task_support="optional", structured_output=False)
    def wait() -> str:
        return "done" if gate.wait(BOUND) else "late"

    client = connect(server, era, **DECLARED)
    client.list_tools()
    with opened_at_the_end(gate):
        first = client.start_task("wait")
        with pytest.raises(errors.RemoteError, match="no more tasks") as full:
            client.start_task("wait")
        assert full.value.code == -32603
        gate.set()
        assert first.result(BOUND).text == "done"


@pytest.mark.requirement("runtime:pool:bounded")
def test_tasks_leave_workers_for_those_who_look_after_them(make_server: MakeServer, talk: MakeTalk) -> None:
    server, gate, begun = make_server(threads=4), threading.Event(), list[int]()

    @server.tool(task_support="required")
    def wait(number: int) -> str:
        begun.append(number)
        gate.wait()
        return "done"

    @server.tool()
    def quick() -> str:
        return "quick"

    def start(number: int) -> Any:
        answer = one.call("tools/call", name="wait", arguments={"number": number}, task={})
        return answer["result"]["task"]["taskId"]

    with opened_at_the_end(gate):
        one = talk(server, HANDSHAKE)
        ids = [start(number) for number in range(10)]
        assert one.tool("quick")["result"]["content"][0]["text"] == "quick"
        for id_ in ids[1:-1]:
            assert one.call("tasks/cancel", taskId=id_)["result"]["status"] == "cancelled"
        gate.set()
        assert one.call("tasks/result", taskId=ids[-1])["result"]["content"][0]["text"] == "done"
    assert begun == [0, 9], "what was cancelled before its turn must not run"


def test_a_busy_server_takes_no_task(
    make_server: MakeServer, talk: MakeTalk, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = MemoryTaskStore()
    server = furnish(make_server(task_store=store))
    one = talk(server, HANDSHAKE)
    monkeypatch.setattr(server.host, "employ_for_long", lambda _job, _client: False)
    answer = one.call("tools/call", name="dig", task={})
    assert answer["error"] == {"code": -32603, "message": "the server is busy"}
    assert store.next_expiry() is None, "a task that never was is kept"


def test_a_client_that_stops_waiting_for_a_result_leaves_the_task_alone(
    server: Server, talk: MakeTalk
) -> None:
    gate = threading.Event()

    @server.tool(task_support="optional", structured_output=False)
    def wait() -> str:
        return "done" if gate.wait(BOUND) else "late"

    with opened_at_the_end(gate):
        one = talk(server, HANDSHAKE)
        task = one.call("tools/call", name="wait", task={})["result"]["task"]["taskId"]
        waiting = one.ask("tasks/result", taskId=task)
        one.tell("notifications/cancelled", requestId=waiting)
        waiting = one.ask("tasks/result", taskId=task)
        gate.set()
        assert one.answer_to(waiting)["result"]["content"][0]["text"] == "done"


def test_a_question_of_a_task_goes_to_whoever_waits_for_its_result(works: Server, talk: MakeTalk) -> None:
    one = talk(works, HANDSHAKE, elicitation={})
    task = one.call("tools/call", name="host", task={})["result"]["task"]["taskId"]
    first = one.ask("tasks/result", taskId=task)
    question = one.read()
    while question["method"] == "notifications/tasks/status":
        question = one.read()
    unanswered = question
    assert question["params"]["_meta"] == {"io.modelcontextprotocol/related-task": {"taskId": task}}
    one.tell("notifications/cancelled", requestId=first)
    second = one.ask("tasks/result", taskId=task)
    while question.get("method") != "elicitation/create" or question["id"] == unanswered["id"]:
        question = one.read()
    one.send({"id": question["id"], "result": {"action": "accept", "content": {"name": "Bob"}}})
    assert one.answer_to(second)["result"]["content"][0]["text"] == "welcome, Bob"


def test_a_question_that_nobody_answers_in_time_is_no_answer(server: Server, talk: MakeTalk) -> None:
    found = Ear()

    @server.tool(task_support="optional")
    def ask(ctx: Context) -> None:
        try:
            ctx.elicit("Who?", Guest, timeout=0.02)
        except NoAnswer as error:
            found(str(error))

    talk(server, HANDSHAKE, elicitation={}).call("tools/call", name="ask", task={})
    assert found.wait_for(1) == ["the client did not answer 'elicit-1' in time"]


def test_an_answer_that_does_not_fit_is_no_answer_to_a_task(works: Server, talk: MakeTalk) -> None:
    one = talk(works, STATELESS, **DECLARED, elicitation={})
    task = one.tool("host")["result"]["taskId"]
    until(lambda: one.call("tasks/get", taskId=task)["result"]["status"] == "input_required")
    wrong = {"elicit-1": {"action": "accept", "content": {}}}
    assert "result" in one.call("tasks/update", taskId=task, inputResponses=wrong)
    until(lambda: one.call("tasks/get", taskId=task)["result"]["status"] == "completed")
    assert one.call("tasks/get", taskId=task)["result"]["result"]["isError"] is True


def test_streams_hear_of_their_tasks_and_of_no_others(works: Server, talk: MakeTalk) -> None:
    one = talk(works, STATELESS, **DECLARED, elicitation={})
    task = one.tool("host")["result"]["taskId"]
    until(lambda: one.call("tasks/get", taskId=task)["result"]["status"] == "input_required")
    one.ask("subscriptions/listen", notifications={"taskIds": [task, "other"]})
    assert one.read()["params"]["notifications"] == {"taskIds": sorted([task, "other"])}
    done = one.ask("tasks/cancel", taskId=task)
    assert "result" in one.answer_to(done)
    news = list(one.heard)
    while not news or news[-1]["params"]["status"] != "cancelled":
        news.append(one.read())
    assert {(told["method"], told["params"]["taskId"]) for told in news} == {("notifications/tasks", task)}
    # What was seen of it may still be on its way as news when the stream is opened.
    assert [told["params"]["status"] for told in news] in (["cancelled"], ["input_required", "cancelled"])


def test_tasks_are_swept_as_long_as_there_are_any(
    make_server: MakeServer, talk: MakeTalk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_actors.server.task_calls._SWEEP_SECONDS", 0.01)
    store = MemoryTaskStore()
    one = talk(furnish(make_server(task_store=store)), HANDSHAKE)
    kept = one.call("tools/call", name="dig", task={"ttl": 300})["result"]["task"]["taskId"]
    gone = one.call("tools/call", name="dig", task={"ttl": 1})["result"]["task"]["taskId"]
    until(lambda: store.get(gone) is None)
    assert "error" in one.call("tasks/get", taskId=gone)
    until(lambda: store.get(kept) is None)


def test_the_session_that_began_a_task_hears_how_it_goes_and_no_other_does(
    works: Server, talk: MakeTalk
) -> None:
    one, other = talk(works, HANDSHAKE, elicitation={}), talk(works, HANDSHAKE, elicitation={})
    task = one.call("tools/call", name="host", task={})["result"]["task"]
    heard = [one.read()]
    assert heard[0]["params"]["status"] == "input_required"
    waiting = one.ask("tasks/result", taskId=task["taskId"])
    question = one.read()
    assert question["method"] == "elicitation/create"
    one.send({"id": question["id"], "result": {"action": "accept", "content": {"name": "Ada"}}})
    answer = one.answer_to(waiting)
    assert answer["result"]["content"][0]["text"] == "welcome, Ada"
    heard += one.heard
    if len(heard) < 3:
        heard.append(one.read())
    assert [message["method"] for message in heard] == ["notifications/tasks/status"] * 3
    assert [message["params"]["status"] for message in heard] == ["input_required", "working", "completed"]
    assert {message["params"]["taskId"] for message in heard} == {task["taskId"]}
    look = one.call("tasks/get", taskId=task["taskId"])["result"]
    assert heard[-1]["params"] == look
    other.call("ping")
    assert other.heard == []


def test_nothing_is_told_of_a_task_before_its_client_knows_that_there_is_one(
    server: Server, talk: MakeTalk
) -> None:
    ended, gate = threading.Event(), threading.Event()

    @server.tool(task_support="optional", structured_output=False)
    def hurry() -> str:
        return "done"

    @server.middleware
    def hold(_context: Context, _params: object, proceed: Callable[[], Any]) -> Any:
        answer = proceed()
        if "task" in answer:
            until(lambda: board(server)._store.get(answer["task"]["taskId"]).ended)  # type: ignore[union-attr]
            ended.set()
            gate.wait(BOUND)
        return answer

    one = talk(server, HANDSHAKE)
    with opened_at_the_end(gate):
        call = one.ask("tools/call", name="hurry", task={})
        assert ended.wait(BOUND)
        one.call("ping")
        gate.set()
        created = one.answer_to(call)["result"]["task"]
    assert one.heard == []
    told = one.read()
    assert (told["method"], told["params"]["status"]) == ("notifications/tasks/status", "completed")
    assert told["params"]["taskId"] == created["taskId"]


def test_a_task_that_is_cancelled_is_told_as_cancelled(server: Server, connect: Connect) -> None:
    begun = threading.Event()

    @server.tool(task_support="optional")
    def sleep(ctx: Context) -> None:
        begun.set()
        ctx.sleep(60)

    heard = Ear()
    client = connect(server, HANDSHAKE)
    client.on_task_status(heard)
    client.list_tools()
    handle = client.start_task("sleep")
    assert begun.wait(BOUND)
    handle.cancel()
    [told] = heard.wait_for(1)
    assert (told.task_id, told.status) == (handle.id, "cancelled")


def board(server: Server) -> TaskBoard:
    [running] = [one for one in server.host.lines if isinstance(one, RunningTasks)]
    return running._board
