"""How a session ends: in good order, when its time is over, or because the client is gone."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_actors.protocol import jsonrpc
from mcp_actors.protocol.serving import events as E
from mcp_actors.protocol.serving.actions import (
    Attend,
    CancelJob,
    CancelTimer,
    End,
    Send,
    SetTimer,
    Transition,
)
from mcp_actors.protocol.serving.states import Phase
from tests.protocol.serving.talk import (
    Talk,
    closing,
    frame,
    greeted,
    only,
    ready,
    sent,
    the_answer,
)

STOPPED = End("the server was stopped")


@pytest.mark.parametrize("make", [Talk, greeted, ready])
def test_a_session_with_nothing_to_do_closes_at_once(make: Any) -> None:
    talk = make()
    before = talk.phase
    actions = talk.feed(E.StopAsked(5.0))
    assert only(actions, End) == [STOPPED]
    assert not only(actions, SetTimer)
    assert only(actions, Transition) == [Transition(before, Phase.CLOSED)]


def test_a_session_that_stops_lets_what_runs_end() -> None:
    talk = ready()
    talk.request(1, "tools/call", _meta={"progressToken": 1})
    talk.request(2, "tools/call")
    actions = talk.feed(E.StopAsked(7.0))
    assert only(actions, SetTimer) == [SetTimer(E.GraceOver(), 7.0)]
    assert only(actions, Attend) == [Attend(False)]
    assert not only(actions, End)
    assert sent(talk.say(1, "progress", progress=1))
    the_answer(talk.conclude(1), 1)
    actions = talk.conclude(2)
    the_answer(actions, 2)
    assert actions[-3:] == [CancelTimer(E.GraceOver()), STOPPED, Transition(Phase.CLOSING, Phase.CLOSED)]


def test_a_second_stop_changes_nothing() -> None:
    assert closing().feed(E.StopAsked(1.0)) == []


@pytest.mark.parametrize("modern", [False, True])
def test_a_session_that_stops_takes_no_more_requests(modern: bool) -> None:
    talk = closing()
    actions = (talk.modern if modern else talk.request)(1, "tools/list")
    assert the_answer(actions, 1)["code"] == jsonrpc.INTERNAL_ERROR
    assert the_answer(talk.request(2, "ping"), 2)["code"] == jsonrpc.INTERNAL_ERROR
    assert the_answer(talk.listen(3), 3)["code"] == jsonrpc.INTERNAL_ERROR
    assert talk.phase is Phase.CLOSING


def test_what_runs_too_long_is_broken_off_and_its_client_told() -> None:
    talk = closing()
    actions = talk.feed(E.GraceOver())
    assert actions[0] == CancelJob("last", "the server was stopped")
    error = the_answer(actions, "last")
    assert error == {"code": jsonrpc.INTERNAL_ERROR, "message": "the server was stopped"}
    assert actions[-2:] == [STOPPED, Transition(Phase.CLOSING, Phase.CLOSED)]
    assert not talk.machine.busy


@pytest.mark.parametrize("make", [Talk, greeted, ready])
def test_the_end_of_a_grace_that_was_not_given_is_nothing(make: Any) -> None:
    assert make().feed(E.GraceOver()) == []


@pytest.mark.requirement("request:lost")
def test_a_client_that_is_gone_gets_nothing_and_its_jobs_are_told() -> None:
    talk = ready()
    talk.request(1, "tools/call")
    talk.modern("b", "tools/call")
    talk.listen("c", toolsListChanged=True)
    actions = talk.feed(E.Gone("it hung up"))
    assert only(actions, CancelJob) == [CancelJob(1, "it hung up"), CancelJob("b", "it hung up")]
    assert not only(actions, Send)
    assert not only(actions, End)
    assert only(actions, Attend) == [Attend(False)]
    assert not talk.machine.busy
    assert talk.conclude(1) == []


@pytest.mark.parametrize(
    ("make", "timer"), [(greeted, E.PhaseExpired()), (closing, E.GraceOver()), (ready, None)]
)
def test_a_client_that_is_gone_leaves_no_timer(make: Any, timer: E.TimerEvent | None) -> None:
    cancelled = only(make().feed(E.Gone("it hung up")), CancelTimer)
    assert cancelled == ([] if timer is None else [CancelTimer(timer)])


def test_a_client_can_be_gone_only_once() -> None:
    talk = ready()
    talk.feed(E.Gone("it hung up"))
    assert talk.feed(E.Gone("again")) == []


def test_stopping_in_the_middle_of_the_handshake_ends_its_timer() -> None:
    talk = greeted()
    talk.modern(1, "tools/list")
    actions = talk.feed(E.StopAsked(5.0))
    assert only(actions, CancelTimer) == [CancelTimer(E.PhaseExpired())]
    assert talk.phase is Phase.CLOSING
    assert talk.notify("notifications/initialized")
    assert talk.phase is Phase.CLOSING


def test_what_a_client_says_to_a_closing_session_is_still_understood() -> None:
    talk = ready(roots={})
    talk.request(1, "tools/call")
    talk.ask("ann", about=1)
    talk.feed(E.StopAsked(5.0))
    assert len(talk.hear(frame(id=1, result={}))) == 2
    assert sent(talk.hear(b"{"))[0]["error"]["code"] == jsonrpc.PARSE_ERROR
