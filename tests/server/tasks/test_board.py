"""The board: who may see a task, how it ends, what it asks, who is told, and when it is forgotten."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_actors.protocol.codec import decode
from mcp_actors.server.faults import Refusal
from mcp_actors.server.tasks.board import TaskLimits
from mcp_actors.server.tasks.life import Dialect, TaskRecord
from mcp_actors.server.tasks.memory_store import MemoryTaskStore
from mcp_actors.server.tasks.store import RESERVE, TooManyTasks
from tests.server.tasks.stage import Stage, text

DIALECTS: tuple[Dialect, ...] = ("core", "extension")


def failure(stage: Stage, task: TaskRecord) -> Any:
    return decode(stage.kept(task).error or b"null")


# ---- creation and sight


@pytest.mark.requirement("feature:tasks")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_new_task_works_and_is_found_at_once(dialect: Dialect) -> None:
    stage = Stage()
    task = stage.create(dialect)
    assert stage.board.get(task.id, "alice", dialect) == task
    assert (task.status, task.ttl, task.poll_interval, task.revision) == ("working", 600_000, 1000, 0)
    assert task.created_at == task.updated_at


def test_ids_cannot_be_guessed() -> None:
    stage = Stage()
    ids = {stage.create().id for _ in range(100)}
    assert len(ids) == 100
    assert {len(id_) for id_ in ids} == {32}


@pytest.mark.requirement("feature:tasks")
def test_a_task_exists_for_its_owner_only_and_in_its_own_dialect() -> None:
    stage = Stage()
    task, nobodys = stage.create(), stage.create(owner=None)
    assert stage.board.get(task.id, "mallory", "core") is None
    assert stage.board.get(task.id, None, "core") is None
    assert stage.board.get(task.id, "alice", "extension") is None
    assert stage.board.get(nobodys.id, "alice", "core") is None
    assert stage.board.get(nobodys.id, None, "core") == nobodys
    assert [one.id for one in stage.board.list("alice").records] == [task.id]
    assert stage.board.list("mallory").records == []


@pytest.mark.parametrize(
    ("asked", "granted"),
    [(None, 600_000), (5, 5), (0, 0), (-1, 0), (3_600_000, 3_600_000), (2**53, 3_600_000)],
)
def test_a_time_to_live_is_granted_up_to_the_maximum(asked: int | None, granted: int) -> None:
    assert Stage().create(ttl=asked).ttl == granted


def test_the_limits_are_the_servers_to_choose() -> None:
    stage = Stage(limits=TaskLimits(default_ttl=7, max_ttl=9, poll_interval=3))
    assert (stage.create().ttl, stage.create(ttl=50).ttl, stage.create().poll_interval) == (7, 9, 3)


def test_a_full_board_says_so_and_keeps_nothing_of_what_it_refused() -> None:
    stage = Stage(MemoryTaskStore(max_tasks=1))
    task = stage.create()
    with pytest.raises(TooManyTasks):
        stage.create()
    stage.board.close()
    assert stage.stops == ["the server is stopping"]
    assert stage.status(task) == "cancelled"


def test_expired_tasks_make_room_for_new_ones() -> None:
    stage = Stage(MemoryTaskStore(max_tasks=1))
    stage.create(ttl=1000)
    stage.now += 1
    stage.create()
    assert stage.stops == ["the task has expired"]


# ---- ends


@pytest.mark.requirement("feature:tasks")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_finished_task_keeps_its_result_and_never_changes_again(dialect: Dialect) -> None:
    stage = Stage()
    task = stage.create(dialect)
    assert stage.board.finish(task.id, text("done"))
    end = stage.kept(task)
    assert (end.status, decode(end.result or b"")) == ("completed", text("done"))
    assert not stage.board.finish(task.id, text("again"))
    assert not stage.board.fail(task.id, Refusal(-32603, "no"))
    assert not stage.board.describe(task.id, "still here")
    stage.board.update(task.id, {"k": {}})
    change = stage.board.cancel(task.id)
    assert change is not None
    assert not change.ends
    assert stage.kept(task) is end
    assert stage.stops == []


@pytest.mark.parametrize(("dialect", "status"), [("core", "failed"), ("extension", "completed")])
def test_a_tool_error_is_a_result(dialect: Dialect, status: str) -> None:
    stage = Stage()
    task = stage.create(dialect)
    stage.board.finish(task.id, text("oh no", isError=True))
    end = stage.kept(task)
    assert (end.status, end.error, decode(end.result or b"")["isError"]) == (status, None, True)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_error_of_json_rpc_is_a_failure_in_both_dialects(dialect: Dialect) -> None:
    stage = Stage()
    task, plain = stage.create(dialect), stage.create(dialect)
    assert stage.board.fail(task.id, Refusal(-5, "broken", {"why": 1}))
    assert stage.board.fail(plain.id, Refusal(-5, "broken"))
    assert (stage.status(task), stage.kept(task).status_message) == ("failed", "broken")
    assert failure(stage, task) == {"code": -5, "message": "broken", "data": {"why": 1}}
    assert failure(stage, plain) == {"code": -5, "message": "broken"}


def test_a_result_that_is_no_json_fails_its_task() -> None:
    stage = Stage()
    task, other = stage.create(), stage.create()
    stage.board.finish(task.id, {"odd": object()})
    stage.board.fail(other.id, Refusal(-5, "broken", object()))
    assert failure(stage, task)["message"] == "the result cannot be written as JSON"
    assert failure(stage, other)["message"] == "the error cannot be written as JSON"


def test_a_result_without_room_fails_its_task_and_any_error_fits() -> None:
    stage = Stage(MemoryTaskStore(max_bytes=2 * RESERVE))
    task, other = stage.create(), stage.create()
    stage.board.finish(task.id, text("x" * 3 * RESERVE))
    assert "no room for the result of" in failure(stage, task)["message"]
    stage.board.fail(other.id, Refusal(-5, "\x00" * 9999, "x" * 3 * RESERVE))
    assert failure(stage, other) == {"code": -5, "message": "\x00" * 500}


def test_a_working_task_says_what_it_does() -> None:
    stage = Stage()
    task = stage.create()
    assert stage.board.describe(task.id, "half way" + "!" * 999)
    found = stage.kept(task)
    assert (found.status, len(found.status_message or "")) == ("working", 500)
    assert not stage.board.describe("nobody", "?")


@pytest.mark.requirement("feature:tasks")
def test_cancelling_ends_the_task_and_tells_what_runs_once() -> None:
    stage = Stage()
    task = stage.create()
    change = stage.board.cancel(task.id)
    assert change is not None
    assert (change.ends, change.after.status, stage.stops) == (True, "cancelled", ["cancelled by the client"])
    stage.board.cancel(task.id)
    assert not stage.board.finish(task.id, text("too late"))
    assert (stage.status(task), len(stage.stops)) == ("cancelled", 1)
    assert stage.board.cancel("nobody") is None


def test_a_task_that_could_not_start_never_was() -> None:
    stage = Stage()
    task, ends = stage.create(), list[TaskRecord | None]()
    stage.board.when_done(task.id, ends.append)
    stage.board.discard(task.id)
    stage.board.discard(task.id)
    assert (stage.status(task), ends, stage.stops) == (None, [None], [])


# ---- time


@pytest.mark.requirement("feature:tasks")
def test_after_its_time_a_task_is_gone_even_before_anybody_swept() -> None:
    stage = Stage()
    task = stage.create(ttl=1000)
    stage.now += 0.999
    assert stage.board.get(task.id, "alice", "core") == task
    assert len(stage.board.list("alice").records) == 1
    stage.now += 0.001
    assert stage.board.get(task.id, "alice", "core") is None
    assert stage.board.list("alice").records == []


def test_a_sweep_forgets_what_has_expired_and_stops_what_still_runs() -> None:
    stage = Stage()
    running, ended, young = stage.create(ttl=1000), stage.create(ttl=1000), stage.create(ttl=5000)
    stage.board.finish(ended.id, text("done"))
    assert stage.board.next_expiry() == stage.now + 1
    stage.now += 1
    assert (stage.board.sweep(), stage.board.sweep()) == (2, 0)
    assert [stage.status(one) for one in (running, ended, young)] == [None, None, "working"]
    assert stage.stops == ["the task has expired"]
    assert not stage.board.finish(running.id, text("too late"))
    assert stage.board.next_expiry() == stage.now + 4


def test_closing_cancels_what_runs() -> None:
    stage = Stage()
    running, ended = stage.create(), stage.create()
    stage.board.finish(ended.id, text("done"))
    stage.board.close()
    assert (stage.status(running), stage.status(ended)) == ("cancelled", "completed")
    assert stage.stops == ["the server is stopping"]
