"""The board: what a task asks, and who is told of its end and its changes."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from msgspec import Raw

from mcp_actors.protocol.serving.questions import Declined, Unaskable
from mcp_actors.server.faults import Refusal
from mcp_actors.server.tasks.life import KeyUsed, TaskRecord
from mcp_actors.server.tasks.memory_store import MemoryTaskStore
from mcp_actors.server.tasks.store import RESERVE, TooManyTasks
from tests.server.tasks.stage import QUESTION, Stage, text, value


def finish_by(stage: Stage, task: TaskRecord, end: str) -> None:
    match end:
        case "finish":
            stage.board.finish(task.id, text("done"))
        case "fail":
            stage.board.fail(task.id, Refusal(-5, "no"))
        case "cancel":
            stage.board.cancel(task.id)
        case "discard":
            stage.board.discard(task.id)
        case _:
            stage.now += 1
            assert stage.board.sweep() == 1


# ---- questions


@pytest.mark.requirement("feature:tasks")
def test_a_question_is_shown_until_it_is_answered() -> None:
    stage = Stage()
    task = stage.create("extension")
    one, two = (stage.board.ask(task.id, key, QUESTION) for key in "ab")
    assert stage.kept(task).status == "input_required"
    assert list(stage.kept(task).input_requests) == ["a", "b"]
    stage.board.update(task.id, {"a": {"action": "accept"}, "unknown": {}})
    assert value(one) == {"action": "accept"}
    assert not two.is_set
    assert stage.kept(task).status == "input_required"
    stage.board.update(task.id, {"a": {"action": "decline"}, "b": {"action": "cancel"}})
    assert (value(one), value(two)) == ({"action": "accept"}, {"action": "cancel"})
    assert stage.kept(task).status == "working"


def test_a_key_is_asked_once() -> None:
    stage = Stage()
    task = stage.create()
    first = stage.board.ask(task.id, "k", QUESTION)
    with pytest.raises(KeyUsed):
        stage.board.ask(task.id, "k", QUESTION)
    stage.board.update(task.id, {"k": {}})
    with pytest.raises(KeyUsed):
        stage.board.ask(task.id, "k", QUESTION)
    assert value(first) == {}


def test_a_question_that_cannot_be_kept_is_not_asked() -> None:
    stage = Stage(MemoryTaskStore(max_bytes=RESERVE))
    task = stage.create()
    with pytest.raises(TooManyTasks):
        stage.board.ask(task.id, "k", {"method": "x" * 2 * RESERVE})
    with pytest.raises(TypeError):
        stage.board.ask(task.id, "k", {"method": object()})
    assert not stage.board.ask(task.id, "k", QUESTION).is_set


@pytest.mark.parametrize("end", ["finish", "fail", "cancel", "expire", "discard"])
def test_whoever_waits_for_an_answer_is_woken_by_the_end_of_the_task(end: str) -> None:
    stage = Stage()
    task = stage.create(ttl=1000)
    slot = stage.board.ask(task.id, "k", QUESTION)
    finish_by(stage, task, end)
    assert value(slot).startswith("the task is ")
    late = stage.board.ask(task.id, "late", QUESTION)
    assert value(late) == "the task has ended"


@pytest.mark.requirement("feature:tasks")
def test_a_question_waits_for_a_listener_that_can_put_it() -> None:
    stage = Stage()
    task, put = stage.create(), list[Any]()
    early = stage.board.ask(task.id, "early", QUESTION)
    stage.board.when_done(task.id, lambda _: None)
    assert put == []
    stage.board.when_done(task.id, lambda _: None, lambda *asked: put.append(asked))
    stage.board.ask(task.id, "later", QUESTION)
    assert put == [("early", QUESTION), ("later", QUESTION)]
    stage.board.answer(task.id, "early", Declined(Raw(b'{"code":-1}')))
    stage.board.answer(task.id, "later", Unaskable("it cannot"))
    assert value(early) == {"code": -1}
    assert stage.kept(task).status == "working"


def test_a_question_is_put_by_one_listener_and_by_the_next_when_that_leaves() -> None:
    stage = Stage()
    task, put = stage.create(), list[str]()
    leave = stage.board.when_done(task.id, lambda _: None, lambda key, _: put.append(f"first {key}"))
    stage.board.when_done(task.id, lambda _: None, lambda key, _: put.append(f"second {key}"))
    for key in "ab":
        stage.board.ask(task.id, key, QUESTION)
    stage.board.update(task.id, {"a": {}})
    leave()
    leave()
    assert put == ["first a", "first b", "second b"]


# ---- listeners and watchers


@pytest.mark.requirement("feature:tasks")
@pytest.mark.parametrize("end", ["finish", "fail", "cancel", "expire", "discard"])
def test_each_listener_is_told_the_end_once_unless_it_left(end: str) -> None:
    stage = Stage()
    task, ends, left = stage.create(ttl=1000), list[TaskRecord | None](), list[Any]()
    stage.board.when_done(task.id, ends.append)
    stage.board.when_done(task.id, ends.append)
    stage.board.when_done(task.id, left.append)()
    assert ends == []
    finish_by(stage, task, end)
    stage.board.when_done(task.id, ends.append)()
    assert ends == [stage.store.get(task.id)] * 3
    assert left == []


def test_a_listener_that_fails_harms_nobody_else(caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage()
    task, ends = stage.create(), list[Any]()
    stage.board.when_done(task.id, lambda _: 1 / 0)
    stage.board.when_done(task.id, ends.append)
    with caplog.at_level(logging.ERROR):
        stage.board.finish(task.id, text("done"))
    assert len(ends) == 1
    assert "a listener of a task failed" in caplog.text


def test_an_interrupt_in_a_listener_leaves_nobody_waiting() -> None:
    stage = Stage()
    task, ends = stage.create(), list[Any]()

    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    stage.board.when_done(task.id, interrupted)
    stage.board.when_done(task.id, ends.append)
    with pytest.raises(KeyboardInterrupt):
        stage.board.finish(task.id, text("done"))
    assert len(ends) == 1


def test_an_interrupt_before_the_end_leaves_the_audience_at_work() -> None:
    stage = Stage()
    task, ends = stage.create(), list[Any]()

    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    forget = stage.board.on_status(interrupted)
    stage.board.when_done(task.id, ends.append)
    with pytest.raises(KeyboardInterrupt):
        stage.board.describe(task.id, "working on it")
    forget()
    assert ends == []
    stage.board.finish(task.id, text("done"))
    assert len(ends) == 1


@pytest.mark.requirement("feature:tasks")
def test_watchers_hear_of_every_change_until_they_stop_listening() -> None:
    stage = Stage()
    task, more = stage.create(), list[str]()
    forget = stage.board.on_status(lambda record: more.append(record.status))
    stage.board.describe(task.id, "begun")
    stage.board.ask(task.id, "k", QUESTION)
    forget()
    forget()
    stage.board.update(task.id, {"k": {}})
    stage.board.finish(task.id, text("done"))
    assert [one.status for one in stage.told] == ["working", "input_required", "working", "completed"]
    assert more == ["working", "input_required"]


def test_a_task_of_another_process_is_shown_but_not_waited_for() -> None:
    here = Stage()
    there = Stage(here.store)
    task, ends = there.create(), list[TaskRecord | None]()
    assert here.board.get(task.id, "alice", "core") == task
    here.board.when_done(task.id, ends.append)
    assert ends == [task]
    there.board.ask(task.id, "k", QUESTION)
    here.board.update(task.id, {"k": {}})
    here.board.cancel(task.id)
    assert (there.status(task), here.stops, there.stops) == ("cancelled", [], [])
