"""What goes over the wire about tasks, in both dialects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from mcp_actors.protocol.serving.questions import Answered
from mcp_actors.protocol.types.tasks import CreateTaskResult, ExtensionTask, ListTasksResult, Task
from mcp_actors.server.faults import Refusal
from mcp_actors.server.tasks import handlers, wire
from mcp_actors.server.tasks.handlers import Deferred
from mcp_actors.server.tasks.life import TaskRecord
from mcp_actors.server.tasks.memory_store import MemoryTaskStore
from mcp_actors.server.tasks.store import RESERVE
from tests.server.tasks.stage import QUESTION, Stage, text, value

SCHEMA = Path(__file__).parents[4] / "shared" / "protocol" / "schema" / "2025-11-25.json"


def about(task: TaskRecord, **more: Any) -> dict[str, Any]:
    return {"taskId": task.id, **more}


def get(stage: Stage, task: TaskRecord) -> dict[str, Any]:
    return handlers.get(stage.board, about(task), "alice", task.dialect)


def code(handler: Any, stage: Stage, params: dict[str, Any], *who: Any) -> int:
    with pytest.raises(Refusal) as caught:
        handler(stage.board, params, *(who or ("alice", "core")))
    return caught.value.code


# ---- the shapes


@pytest.mark.requirement("feature:tasks")
def test_a_core_task_travels_inside_its_first_answer_and_flat_afterwards() -> None:
    stage = Stage()
    task = stage.create(ttl=60_000)
    shape = {
        "taskId": task.id,
        "status": "working",
        "createdAt": task.created_at,
        "lastUpdatedAt": task.updated_at,
        "ttl": 60_000,
        "pollInterval": 1000,
    }
    assert wire.created(task) == {"task": shape}
    assert get(stage, task) == shape
    assert wire.notification(task) == ("notifications/tasks/status", shape)
    assert CreateTaskResult.from_wire(wire.created(task)).task.task_id == task.id


@pytest.mark.requirement("feature:tasks")
def test_an_extension_task_is_always_flat_and_names_the_kind_of_each_answer() -> None:
    stage = Stage()
    task = stage.create("extension", ttl=60_000)
    shape = {
        "taskId": task.id,
        "status": "working",
        "createdAt": task.created_at,
        "lastUpdatedAt": task.updated_at,
        "ttlMs": 60_000,
        "pollIntervalMs": 1000,
    }
    assert wire.created(task) == {"resultType": "task", **shape}
    assert get(stage, task) == {"resultType": "complete", **shape}
    assert wire.notification(task) == ("notifications/tasks", shape)
    assert ExtensionTask.from_wire(wire.created(task)).result_type == "task"


@pytest.mark.requirement("feature:tasks")
def test_the_extension_shows_questions_result_and_error_where_they_belong() -> None:
    stage = Stage()
    asking, done, broken, stopped = (stage.create("extension") for _ in range(4))
    stage.board.ask(asking.id, "k", QUESTION)
    stage.board.finish(done.id, text("oh no", isError=True))
    stage.board.fail(broken.id, Refusal(-5, "broken"))
    stage.board.cancel(stopped.id)
    looks = [get(stage, one) for one in (asking, done, broken, stopped)]
    assert [look["status"] for look in looks] == ["input_required", "completed", "failed", "cancelled"]
    assert looks[0]["inputRequests"] == {"k": QUESTION}
    assert looks[1]["result"] == {"resultType": "complete", **text("oh no", isError=True)}
    assert (looks[2]["error"], looks[2]["statusMessage"]) == ({"code": -5, "message": "broken"}, "broken")
    assert [sorted({"inputRequests", "result", "error"} & look.keys()) for look in looks] == [
        ["inputRequests"],
        ["result"],
        ["error"],
        [],
    ]


def test_the_core_shows_neither_questions_nor_results() -> None:
    stage = Stage()
    asking, done = stage.create(), stage.create()
    stage.board.ask(asking.id, "k", QUESTION)
    stage.board.finish(done.id, text("oh no", isError=True))
    assert (get(stage, asking)["status"], get(stage, done)["status"]) == ("input_required", "failed")
    assert not {"inputRequests", "result", "error", "_meta"} & (
        get(stage, asking).keys() | get(stage, done).keys()
    )


@pytest.mark.skipif(not SCHEMA.exists(), reason="the schemas are not part of this repository")
def test_core_shapes_fit_the_schema() -> None:
    import jsonschema_rs

    stage = Stage()
    task = stage.create()
    stage.board.describe(task.id, "begun")
    defs = json.loads(SCHEMA.read_text())["$defs"]
    shapes = {
        "CreateTaskResult": wire.created(task),
        "GetTaskResult": get(stage, task),
        "ListTasksResult": handlers.list_tasks(stage.board, {}, "alice", "core"),
        "TaskStatusNotificationParams": wire.notification(task)[1],
        "CancelTaskResult": handlers.cancel(stage.board, about(task), "alice", "core"),
    }
    for name, shape in shapes.items():
        jsonschema_rs.validator_for({"$ref": f"#/$defs/{name}", "$defs": defs}).validate(shape)


# ---- tasks/result


@pytest.mark.requirement("feature:tasks")
def test_the_result_is_that_of_the_request_and_names_its_task() -> None:
    stage = Stage()
    task = stage.create()
    stage.board.finish(task.id, text("done", _meta={"mine": 1}))
    answer = handlers.result(stage.board, about(task), "alice", "core")
    meta = {"mine": 1, "io.modelcontextprotocol/related-task": {"taskId": task.id}}
    assert answer == text("done", _meta=meta)


def test_the_result_of_a_failed_request_is_its_error() -> None:
    stage = Stage()
    task, stopped = stage.create(), stage.create()
    stage.board.fail(task.id, Refusal(-5, "broken", {"why": 1}))
    stage.board.cancel(stopped.id)
    with pytest.raises(Refusal) as caught:
        handlers.result(stage.board, about(task), "alice", "core")
    assert (caught.value.code, caught.value.message, caught.value.data) == (-5, "broken", {"why": 1})
    with pytest.raises(Refusal, match="no result: cancelled by the client") as caught:
        handlers.result(stage.board, about(stopped), "alice", "core")
    assert caught.value.code == -32602


class Waiting:
    """Somebody who called ``tasks/result``."""

    def __init__(self, stage: Stage, task: TaskRecord) -> None:
        self.results: list[dict[str, Any]] = []
        self.refusals: list[tuple[int, str]] = []
        self.asked: list[tuple[str, str, dict[str, Any]]] = []
        later = handlers.result(stage.board, about(task), "alice", "core")
        assert isinstance(later, Deferred)
        self.leave = later.begin(
            self.results.append,
            lambda refusal: self.refusals.append((refusal.code, refusal.message)),
            lambda *question: self.asked.append(question),
        )


@pytest.mark.requirement("feature:tasks")
def test_a_result_is_waited_for_until_the_task_has_ended() -> None:
    stage = Stage()
    task = stage.create()
    waiting, gone = Waiting(stage, task), Waiting(stage, task)
    gone.leave()
    assert (waiting.results, waiting.refusals) == ([], [])
    stage.board.finish(task.id, text("done"))
    assert waiting.results == [wire.related(text("done"), task.id)]
    assert (gone.results, gone.refusals, waiting.refusals) == ([], [], [])


def test_a_wait_ends_with_the_error_of_the_task_or_with_the_task_itself() -> None:
    stage = Stage()
    broken, stopped, expired = stage.create(), stage.create(), stage.create(ttl=1000)
    waits = [Waiting(stage, one) for one in (broken, stopped, expired)]
    stage.board.fail(broken.id, Refusal(-5, "broken"))
    stage.board.cancel(stopped.id)
    stage.now += 1
    stage.board.sweep()
    assert [wait.refusals for wait in waits] == [
        [(-5, "broken")],
        [(-32602, "the task has no result: cancelled by the client")],
        [(-32602, "no such task")],
    ]


@pytest.mark.requirement("feature:tasks")
def test_a_core_task_asks_on_the_stream_of_its_result() -> None:
    stage = Stage()
    task = stage.create()
    slot = stage.board.ask(task.id, "k", {"method": "roots/list"})
    waiting = Waiting(stage, task)
    stage.board.ask(task.id, "l", QUESTION)
    meta = {"io.modelcontextprotocol/related-task": {"taskId": task.id}}
    assert waiting.asked == [
        ("k", "roots/list", {"_meta": meta}),
        ("l", "elicitation/create", {"message": "Sure?", "_meta": meta}),
    ]
    stage.board.answer(task.id, "k", Answered(Raw(b'{"roots":[]}')))
    assert value(slot) == {"roots": []}


def test_who_waits_without_a_stream_for_questions_is_asked_nothing() -> None:
    stage = Stage()
    task, results = stage.create(), list[Any]()
    later = handlers.result(stage.board, about(task), "alice", "core")
    assert isinstance(later, Deferred)
    later.begin(results.append, results.append)
    slot = stage.board.ask(task.id, "k", QUESTION)
    assert not slot.is_set
    stage.board.finish(task.id, text("done"))
    assert len(results) == 1


def test_the_result_of_a_task_in_another_process_is_refused_not_waited_for() -> None:
    here = Stage()
    task = Stage(here.store).create()
    waiting = Waiting(here, task)
    assert [code_ for code_, _ in waiting.refusals] == [-32603]


# ---- tasks/list, tasks/cancel, tasks/update


def test_a_list_shows_core_tasks_page_by_page() -> None:
    stage = Stage(MemoryTaskStore(page_size=2))
    tasks = [stage.create(), stage.create("extension"), stage.create()]
    first = handlers.list_tasks(stage.board, {}, "alice", "core")
    assert [one["taskId"] for one in first["tasks"]] == [tasks[0].id]
    second = handlers.list_tasks(stage.board, {"cursor": first["nextCursor"]}, "alice", "core")
    assert [one["taskId"] for one in second["tasks"]] == [tasks[2].id]
    assert "nextCursor" not in second
    assert ListTasksResult.from_wire(first).tasks[0] == Task.from_wire(get(stage, tasks[0]))


def test_nobody_lists_the_tasks_of_those_without_a_name() -> None:
    assert code(handlers.list_tasks, Stage(), {}, None, "core") == -32601


@pytest.mark.parametrize("cursor", ["odd", 5])
def test_a_bad_cursor_is_refused(cursor: Any) -> None:
    assert code(handlers.list_tasks, Stage(), {"cursor": cursor}) == -32602


@pytest.mark.requirement("feature:tasks")
def test_cancelling_answers_with_the_cancelled_task_in_the_core_and_refuses_an_ended_one() -> None:
    stage = Stage()
    task = stage.create()
    assert handlers.cancel(stage.board, about(task), "alice", "core")["status"] == "cancelled"
    assert code(handlers.cancel, stage, about(task)) == -32602


@pytest.mark.requirement("feature:tasks")
def test_cancelling_is_acknowledged_in_the_extension_however_often() -> None:
    stage = Stage()
    task = stage.create("extension")
    for _ in range(2):
        ack = handlers.cancel(stage.board, about(task), "alice", "extension")
        assert ack == {"resultType": "complete"}
    assert (stage.status(task), len(stage.stops)) == ("cancelled", 1)


def test_a_core_task_that_goes_while_it_is_cancelled_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage()
    task = stage.create()
    monkeypatch.setattr(stage.board, "cancel", lambda _: None)
    assert code(handlers.cancel, stage, about(task)) == -32602


@pytest.mark.requirement("feature:tasks")
def test_an_update_answers_questions_and_is_acknowledged() -> None:
    stage = Stage()
    task = stage.create("extension")
    slot = stage.board.ask(task.id, "k", QUESTION)
    params = about(task, inputResponses={"k": {"action": "decline"}, "odd": {}})
    assert handlers.update(stage.board, params, "alice", "extension") == {"resultType": "complete"}
    assert value(slot) == {"action": "decline"}
    assert "inputRequests" not in get(stage, task)


@pytest.mark.parametrize("responses", [None, [], {"k": 1}, {"k": None}])
def test_a_malformed_update_changes_nothing(responses: Any) -> None:
    stage = Stage()
    task = stage.create("extension")
    stage.board.ask(task.id, "k", QUESTION)
    params = about(task, inputResponses=responses)
    assert code(handlers.update, stage, params, "alice", "extension") == -32602
    assert stage.status(task) == "input_required"


def test_answers_without_room_are_refused_and_may_be_sent_again() -> None:
    stage = Stage(MemoryTaskStore(max_bytes=RESERVE))
    task = stage.create("extension")
    stage.board.ask(task.id, "k", QUESTION)
    params = about(task, inputResponses={"k": {"x": "x" * RESERVE}})
    assert code(handlers.update, stage, params, "alice", "extension") == -32603
    assert stage.status(task) == "input_required"
