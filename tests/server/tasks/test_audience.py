"""The audience, at the moments that only threads find by themselves."""

from __future__ import annotations

from typing import Any

from mcp_actors.protocol.serving.questions import Unanswered, Verdict
from mcp_actors.runtime.slot import Slot
from mcp_actors.server.tasks import life
from mcp_actors.server.tasks.audience import Audience, Listener
from mcp_actors.server.tasks.life import TaskRecord
from tests.server.tasks.stage import QUESTION, Stage, text, value
from tests.server.tasks.test_life import record


def audience(*watchers: Any) -> Audience:
    return Audience(lambda _: None, dict(enumerate(watchers)))


def test_a_listener_that_comes_right_after_the_end_is_told_at_once() -> None:
    end, told = life.cancelled(record(), "enough", at="2"), list[TaskRecord | None]()
    crowd = audience()
    crowd.end(end)
    crowd.join(Listener(told.append, lambda *_: told.append(None)))
    assert told == [end]
    crowd.end(None)
    assert told == [end]


def test_news_that_were_overtaken_are_not_told() -> None:
    first = life.described(record(), "one", at="2")
    second = life.described(first, "two", at="3")
    told: list[TaskRecord] = []
    crowd = audience(told.append)
    crowd.change(second)
    crowd.change(first)
    assert told == [second]


def test_a_question_that_was_answered_before_it_could_be_put_is_not_put() -> None:
    crowd, put = audience(), list[str]()
    crowd.slots["k"] = Slot()
    crowd.join(Listener(lambda _: None, lambda key, _: put.append(key)))
    crowd.settle("k", Unanswered("never mind"))
    crowd.ask("k", QUESTION)
    assert put == []


def test_an_answer_for_which_nobody_waits_does_no_harm() -> None:
    crowd = audience()
    crowd.settle("k", Unanswered("never mind"))
    assert crowd.slots == {}


def test_a_question_that_comes_right_after_the_end_is_not_waited_for() -> None:
    stage = Stage()
    task = stage.create()

    class Late(dict[str, Slot[Verdict]]):
        def setdefault(self, key: str, default: Any = None) -> Any:
            stage.board.finish(task.id, text("done"))
            return super().setdefault(key, default)

    stage.board._audiences[task.id].slots = Late()
    assert value(stage.board.ask(task.id, "k", QUESTION)) == "the task has ended"
