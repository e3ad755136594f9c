"""Herald: nothing before the client knows of its task, then everything in order, and nothing twice."""

from __future__ import annotations

import pytest

from mcp_actors.server.tasks.board import TaskFacts
from mcp_actors.server.tasks.herald import Herald
from mcp_actors.server.tasks.life import TaskRecord
from tests.server.tasks.stage import Stage, text

pytestmark = pytest.mark.requirement("feature:tasks")


class Heard:
    """A task with a herald, and what its session was told."""

    def __init__(self) -> None:
        self.stage = Stage()
        self.told: list[TaskRecord] = []
        self.herald = Herald(self.told.append)
        facts = TaskFacts("tools/call", "core", None, lambda _reason: None, self.herald.tell)
        self.task = self.stage.board.create(facts)

    @property
    def statuses(self) -> list[tuple[str, str | None]]:
        return [(record.status, record.status_message) for record in self.told]


def test_what_came_before_the_client_knew_is_told_as_it_is_in_the_end() -> None:
    heard = Heard()
    for words in ("one", "two"):
        heard.stage.board.describe(heard.task.id, words)
    assert heard.told == []
    heard.herald.begin()
    assert heard.statuses == [("working", "two")]
    heard.herald.begin()
    assert heard.statuses == [("working", "two")]


def test_what_comes_afterwards_is_told_one_by_one() -> None:
    heard = Heard()
    heard.herald.begin()
    assert heard.told == []
    heard.stage.board.describe(heard.task.id, "one")
    heard.stage.board.finish(heard.task.id, text("done"))
    heard.stage.board.finish(heard.task.id, text("again"))
    assert heard.statuses == [("working", "one"), ("completed", None)]


def test_a_task_without_a_herald_is_told_to_nobody() -> None:
    stage = Stage()
    task = stage.create()
    assert stage.board.finish(task.id, text("done"))
    assert [record.status for record in stage.told] == ["completed"]
