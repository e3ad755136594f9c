"""Records change along the arrows, and not at all once they have ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from mcp_actors.protocol.serving.questions import Answered, Declined, Unanswered
from mcp_actors.server.tasks import life
from mcp_actors.server.tasks.life import ARROWS, Dialect, KeyUsed, Status, TaskRecord

YES = Answered(Raw(b'{"action":"accept"}'))


def record(dialect: Dialect = "core") -> TaskRecord:
    return TaskRecord(
        id="t",
        owner=None,
        dialect=dialect,
        method="tools/call",
        created_at="1",
        updated_at="1",
        ttl=60_000,
        expires_at=60.0,
        poll_interval=1000,
    )


STEPS: dict[str, Callable[[TaskRecord], TaskRecord]] = {
    "described": lambda task: life.described(task, "half way", at="2"),
    "asked": lambda task: life.asked(task, f"k{task.revision}", b"{}", at="3"),
    "answered": lambda task: life.answered(task, dict.fromkeys(task.input_requests, YES), at="4"),
    "answered in part": lambda task: life.answered(
        task, dict.fromkeys(list(task.input_requests)[:1], YES), at="4"
    ),
    "answered for nothing": lambda task: life.answered(task, {"odd": YES}, at="4"),
    "completed": lambda task: life.completed(task, b"{}", is_error=False, at="5"),
    "completed with an error": lambda task: life.completed(task, b"{}", is_error=True, at="5"),
    "failed": lambda task: life.failed(task, b"{}", "no", at="6"),
    "cancelled": lambda task: life.cancelled(task, "enough", at="7"),
}


@pytest.mark.requirement("feature:tasks")
@given(
    st.sampled_from(["core", "extension"]),
    st.lists(st.sampled_from([*sorted(STEPS), *["asked", "answered in part"] * 4]), min_size=4, max_size=12),
)
def test_any_steps_follow_the_arrows_and_the_end_is_final(dialect: Dialect, names: list[str]) -> None:
    task = record(dialect)
    for name in names:
        before, task = task, STEPS[name](task)
        if before.ended:
            assert task is before
        elif task is not before:
            assert task.status in ARROWS[before.status]
            assert task.revision == before.revision + 1
            assert task.updated_at != "1"
        assert (task.status == "input_required") == bool(task.input_requests)
        assert (task.status in ("completed", "failed")) == (task.result is not None or task.error is not None)
        assert task.result is None or task.error is None
        assert (task.id, task.created_at, task.expires_at) == ("t", "1", 60.0)


def test_every_state_has_its_arrows_and_none_leads_out_of_the_end() -> None:
    assert set(ARROWS) == set(get_args(Status))
    assert {status for status in ARROWS if not ARROWS[status]} == {"completed", "failed", "cancelled"}


def test_a_key_is_used_once_in_a_life() -> None:
    task = life.asked(record(), "k", b"{}", at="2")
    with pytest.raises(KeyUsed, match="'k'"):
        life.asked(task, "k", b"{}", at="3")
    with pytest.raises(KeyUsed):
        life.asked(life.answered(task, {"k": YES}, at="3"), "k", b"{}", at="4")


def test_a_task_works_on_when_its_last_question_is_answered() -> None:
    task = life.asked(life.asked(record(), "a", b"{}", at="2"), "b", b"{}", at="3")
    part = life.answered(task, {"b": YES, "unknown": YES}, at="4")
    assert (part.status, list(part.input_requests), part.answers) == ("input_required", ["a"], {"b": YES})
    assert life.answered(part, {"b": Declined(Raw(b"{}"))}, at="5") is part
    assert life.answered(part, {"a": YES}, at="5").status == "working"


@pytest.mark.parametrize(("dialect", "status"), [("core", "failed"), ("extension", "completed")])
def test_a_tool_that_reports_an_error_fails_in_the_core_only(dialect: Dialect, status: str) -> None:
    assert life.completed(record(dialect), b"{}", is_error=True, at="2").status == status
    assert life.completed(record(dialect), b"{}", is_error=False, at="2").status == "completed"


def test_a_record_knows_its_size() -> None:
    task = life.asked(life.asked(record(), "a", b"12345", at="2"), "b", b"123", at="2")
    assert task.size == 1 + 5 + 1 + 3
    assert life.answered(task, {"a": Answered(Raw(b"1234567"))}, at="3").size == 1 + 7 + 1 + 3
    assert life.answered(task, {"a": Declined(Raw(b"12"))}, at="3").size == 1 + 2 + 1 + 3
    assert life.answered(task, {"a": Unanswered("late")}, at="3").size == 1 + 4 + 1 + 3
    assert life.failed(task, b"123", "why", at="4").size == 3 + 3
    assert life.completed(task, b"12", is_error=False, at="4").size == 2
