"""Tasks of the extension: everything is in the look, questions too."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from mcp_actors import Client, errors
from mcp_actors.client.gate import TASKS_EXTENSION
from tests.client.relay import over_both_wires
from tests.client.tasks.task_host import EXTENSION, ID, TaskHost
from tests.client.toy_host import Refusal, asking, form, sample, text
from tests.client.waiting import BOUND, in_thread, opened_at_the_end

Ready = Callable[..., Client]
MakeTaskHost = Callable[..., TaskHost]


@pytest.fixture
def host(make_task_host: MakeTaskHost) -> TaskHost:
    return make_task_host(EXTENSION)


def answers_heard(host: TaskHost) -> list[dict[str, Any]]:
    """What tasks were answered, one by one."""
    return [one["params"]["inputResponses"] for one in host.all_heard("tasks/update", taskId=ID)]


@pytest.mark.requirement("feature:tasks")
@over_both_wires
def test_a_question_is_answered_once_however_often_it_is_seen(host: TaskHost, ready: Ready) -> None:
    host.states += [
        host.state("input_required", inputRequests={"a": form()}),
        host.state("input_required", inputRequests={"a": form()}),
        host.state("input_required", inputRequests={"a": form(), "b": form(), "c": sample()}),
        host.state("working"),
        host.completed(),
    ]
    asked = []

    def ask(question: Any) -> dict[str, str]:
        asked.append(question.message)
        return {"name": "Ada"}

    client = ready(host, elicitation_handler=ask, sampling_handler=lambda _: "hi")
    assert client.call_tool("slow").text == "done"
    assert len(asked) == 2
    accepted = {"action": "accept", "content": {"name": "Ada"}}
    first, second = answers_heard(host)
    assert first == {"a": accepted}
    assert second["b"] == accepted
    assert list(second) == ["b", "c"]


def test_two_who_wait_for_one_task_answer_each_question_once(host: TaskHost, ready: Ready) -> None:
    gate, thinking, asked = threading.Event(), threading.Event(), []

    def think(_: object) -> bool:
        asked.append(1)
        thinking.set()
        return gate.wait(BOUND)

    host.states = [host.state("input_required", inputRequests={"a": form()})]
    handle = ready(host, elicitation_handler=think).start_task("slow")
    with opened_at_the_end(gate):
        both = [in_thread(handle.result) for _ in range(2)]
        assert thinking.wait(BOUND)
        host.await_heard("tasks/get", 3)
        gate.set()
        host.await_heard("tasks/update")
        host.states += [host.completed()]
        assert [one.result(BOUND).text for one in both] == ["done", "done"]
    assert len(asked) == len(answers_heard(host)) == 1


@pytest.mark.parametrize(
    "how", [lambda client: client.call_tool("slow"), lambda client: client.start_task("slow").result()]
)
def test_a_question_that_has_no_answer_cancels_the_task_once(
    how: Callable[[Client], Any], host: TaskHost, ready: Ready
) -> None:
    host.states += [host.state("input_required", inputRequests={"a": sample()})]
    client = ready(host, sampling_handler=lambda _: None)
    with pytest.raises(errors.Cancelled, match="given up: sampling/createMessage has no answer: User reject"):
        how(client)
    host.await_heard("tasks/cancel", taskId=ID)
    client.ping()
    assert len(host.all_heard("tasks/cancel")) == 1
    assert answers_heard(host) == []


def test_what_was_not_offered_may_not_be_asked_by_a_task_either(host: TaskHost, ready: Ready) -> None:
    host.states += [host.state("input_required", inputRequests={"a": sample()})]
    with pytest.raises(errors.InvalidResponse, match="did not offer"):
        ready(host).call_tool("slow")
    host.await_heard("tasks/cancel", taskId=ID)


def test_a_question_that_came_too_late_can_be_answered_another_time(host: TaskHost, ready: Ready) -> None:
    gate = threading.Event()
    host.states += [host.state("input_required", inputRequests={"a": form()})]
    handle = ready(host, elicitation_handler=lambda _: gate.wait(BOUND)).start_task("slow")
    with opened_at_the_end(gate):
        with pytest.raises(errors.RequestTimeout, match="did not end within 0.3 s"):
            handle.result(timeout=0.3)
        assert answers_heard(host) == []
    waiting = in_thread(handle.result)
    host.await_heard("tasks/update")
    host.states += [host.completed()]
    assert waiting.result(BOUND).text == "done"
    assert host.all_heard("tasks/cancel") == []


def test_an_update_that_is_refused_is_told(host: TaskHost, ready: Ready) -> None:
    def refuse(_: Any) -> Any:
        raise Refusal(-32602, "no such task")

    host.answers["tasks/update"] = refuse
    host.states += [host.state("input_required", inputRequests={"a": form()})]
    handle = ready(host, elicitation_handler=lambda _: True).start_task("slow")
    with pytest.raises(errors.RemoteError, match="tasks/update 'task-1' failed: no such task"):
        handle.result()


def test_questions_come_before_the_task_too(host: TaskHost, ready: Ready) -> None:
    usual = host.answers["tools/call"]
    host.answers["tools/call"] = lambda request: (
        usual(request) if "requestState" in request["params"] else asking({"a": form()}, "s")
    )
    host.states += [host.completed()]
    client = ready(host, elicitation_handler=lambda _: True)
    assert client.call_tool("slow").text == "done"
    assert client.start_task("slow").result().text == "done"


def test_a_look_may_call_itself_a_task(host: TaskHost, ready: Ready) -> None:
    host.states += [host.completed()]
    usual = host.answers["tasks/get"]
    host.answers["tasks/get"] = lambda request: usual(request) | {"resultType": "task"}
    assert ready(host).call_tool("slow").text == "done"


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        ({"status": "completed"}, "the result of tools/call 'slow' .* does not fit"),
        ({"status": "completed", "result": text("x") | {"resultType": "task"}}, "result of type 'task'"),
        ({"status": "failed"}, "failed without saying why"),
        ({"status": "failed", "error": {"code": "x"}}, "failed without saying why"),
    ],
)
def test_an_end_without_its_outcome_is_an_invalid_response(
    end: dict[str, Any], reason: str, host: TaskHost, ready: Ready
) -> None:
    host.states += [end]
    with pytest.raises(errors.InvalidResponse, match=reason):
        ready(host).call_tool("slow")


def test_a_task_that_nobody_offered_to_follow_is_an_invalid_response(
    host: TaskHost, make_task_host: MakeTaskHost, ready: Ready
) -> None:
    client = ready(host, extensions=None)
    with pytest.raises(errors.InvalidResponse, match="result of type 'task', which this client did not"):
        client.call_tool("slow")
    legacy = make_task_host("2025-06-18")
    legacy.answers["tools/call"] = lambda _: {"resultType": "task"} | host.task()
    with pytest.raises(errors.InvalidResponse, match="result of type 'task', which this client did not"):
        ready(legacy).call_tool("slow")


def test_an_unknown_status_is_no_end(host: TaskHost, ready: Ready) -> None:
    host.states += [host.state("dreaming", "of sheep"), host.completed()]
    assert ready(host).call_tool("slow").text == "done"


def test_the_id_of_the_extension_is_the_one_that_servers_know() -> None:
    assert TASKS_EXTENSION == "io.modelcontextprotocol/tasks"
