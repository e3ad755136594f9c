"""Requests about tasks that are refused, in both dialects."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_actors.server.faults import Refusal
from mcp_actors.server.tasks import handlers
from mcp_actors.server.tasks.life import Dialect
from tests.server.tasks.stage import Stage
from tests.server.tasks.test_handlers import about, code

ALL: tuple[tuple[Any, Dialect], ...] = (
    (handlers.get, "core"),
    (handlers.get, "extension"),
    (handlers.cancel, "core"),
    (handlers.cancel, "extension"),
    (handlers.result, "core"),
    (handlers.update, "extension"),
)


@pytest.mark.requirement("feature:tasks")
@pytest.mark.parametrize(("handler", "dialect"), ALL)
def test_a_task_of_somebody_else_looks_like_none_at_all(handler: Any, dialect: Dialect) -> None:
    stage = Stage()
    task = stage.create(dialect)
    params = about(task, inputResponses={})
    messages = set()
    for asked, who in [(params, "mallory"), (params, None), ({**params, "taskId": "nobody"}, "alice")]:
        with pytest.raises(Refusal) as caught:
            handler(stage.board, asked, who, dialect)
        messages.add((caught.value.code, caught.value.message))
    assert messages == {(-32602, "no such task")}
    assert stage.status(task) == "working"


@pytest.mark.parametrize("task_id", [None, 5, ["x"]])
def test_a_task_id_is_a_string(task_id: Any) -> None:
    assert code(handlers.get, Stage(), {"taskId": task_id}) == -32602


@pytest.mark.requirement("feature:tasks")
def test_each_dialect_has_its_own_methods() -> None:
    stage = Stage()
    core, extension = stage.create(), stage.create("extension")
    assert code(handlers.result, stage, about(extension), "alice", "extension") == -32601
    assert code(handlers.list_tasks, stage, {}, "alice", "extension") == -32601
    assert code(handlers.update, stage, about(core, inputResponses={})) == -32601
    assert code(handlers.get, stage, about(core), "alice", "extension") == -32602


def test_a_client_that_did_not_declare_the_extension_learns_what_is_missing() -> None:
    refusal = handlers.undeclared()
    required: dict[str, Any] = {"requiredCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}}
    assert (refusal.code, refusal.data) == (-32021, required)


@pytest.mark.parametrize(
    ("task", "ttl"), [({}, None), ({"ttl": 5}, 5), ({"ttl": 0}, 0), ({"ttl": None}, 2**53), ({"x": 1}, None)]
)
def test_a_wished_time_to_live_is_read(task: Any, ttl: int | None) -> None:
    assert handlers.requested_ttl(task) == ttl


@pytest.mark.parametrize("task", [None, 5, [], {"ttl": -1}, {"ttl": "5"}, {"ttl": True}, {"ttl": 1.5}])
def test_a_malformed_wish_is_refused(task: Any) -> None:
    with pytest.raises(Refusal) as caught:
        handlers.requested_ttl(task)
    assert caught.value.code == -32602
