"""A server's questions to its client: each is answered exactly once, whatever happens."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Raw

from mcp_actors.protocol.jsonrpc import Malformed
from mcp_actors.protocol.serving import events as E
from mcp_actors.protocol.serving.actions import (
    CancelJob,
    CancelTimer,
    Resolve,
    Send,
    SetTimer,
    Violation,
)
from mcp_actors.protocol.serving.questions import (
    Answered,
    Declined,
    Unanswered,
    Unaskable,
    Unreadable,
    Verdict,
)
from tests.protocol.serving.talk import (
    LEGACY,
    MODERN,
    OBLIGING,
    Talk,
    closed,
    closing,
    frame,
    meta,
    only,
    ready,
    sent,
)

METHODS = {"roots/list": "roots", "sampling/createMessage": "sampling", "elicitation/create": "elicitation"}


def asked(caller: object = "ann", **choices: Any) -> Talk:
    """A session with one question open, which is number 1 and about request ``"job"``."""
    talk = ready(**OBLIGING)
    talk.request("job", "tools/call")
    talk.ask(caller, about="job", **choices)
    assert len(talk.machine.asking.questions) == 1
    return talk


def verdicts(actions: list[Any]) -> list[tuple[object, Verdict]]:
    return [(action.caller, action.verdict) for action in only(actions, Resolve)]


def taken_back(actions: list[Any]) -> list[Any]:
    return [said["params"]["requestId"] for said in sent(actions) if said and "requestId" in str(said)]


@pytest.mark.requirement("feature:roots")
@pytest.mark.requirement("feature:sampling")
@pytest.mark.requirement("feature:elicitation")
@pytest.mark.parametrize("method", METHODS)
def test_a_question_is_sent_with_its_timer_on_the_stream_of_its_request(method: str) -> None:
    talk = ready(**OBLIGING)
    talk.request("job", "tools/call")
    actions = talk.ask("ann", method, about="job", a=1)
    assert actions == [
        Send(frames := only(actions, Send)[0].frame, "job"),
        SetTimer(E.QuestionExpired(1), 9.0),
    ]
    assert frames == b'{"jsonrpc":"2.0","id":1,"method":"%s","params":{"a":1}}' % method.encode()


def test_a_question_may_stand_alone() -> None:
    talk = ready(**OBLIGING)
    (send,) = only(talk.ask(about=None), Send)
    assert send.about is None


@pytest.mark.requirement("feature:ping")
def test_a_ping_needs_no_capability() -> None:
    assert len(sent(ready().ask(method="ping"))) == 1


@pytest.mark.requirement("negotiation:capabilities")
@pytest.mark.parametrize(("method", "capability"), METHODS.items())
def test_a_client_is_not_asked_what_it_does_not_offer(method: str, capability: str) -> None:
    talk = ready(**{key: value for key, value in OBLIGING.items() if key != capability})
    talk.request("job", "tools/call")
    actions = talk.ask("ann", method, about="job")
    assert actions == [Resolve("ann", Unaskable(f"the client does not offer {capability}", capability))]


@pytest.mark.requirement("negotiation:degrade")
def test_a_client_is_not_asked_what_its_revision_does_not_have() -> None:
    talk = ready("2025-03-26", **OBLIGING)
    (resolve,) = only(talk.ask("ann", "elicitation/create"), Resolve)
    assert resolve == Resolve("ann", Unaskable("elicitation/create does not exist in revision 2025-03-26"))


@pytest.mark.requirement("negotiation:era")
@pytest.mark.parametrize("method", [*METHODS, "ping"])
@pytest.mark.parametrize("make", [Talk, lambda: ready(**OBLIGING)])
def test_a_client_of_2026_07_28_is_never_sent_a_request(method: str, make: Any) -> None:
    talk = make()
    talk.modern("job", "tools/call", _meta=meta(capabilities=OBLIGING))
    actions = talk.ask("ann", method, about="job")
    assert actions == [Resolve("ann", Unaskable(f"{method} does not exist in revision {MODERN}"))]


def test_before_a_handshake_nobody_is_asked() -> None:
    (resolve,) = Talk().ask()
    assert resolve == Resolve("ann", Unaskable("a client without a session cannot be asked"))


@pytest.mark.requirement("request:one-outcome")
def test_an_answer_goes_to_whoever_asked() -> None:
    talk = asked()
    talk.ask("bob", about="job")
    actions = talk.hear(frame(id=2, result={"b": 1}))
    assert actions == [CancelTimer(E.QuestionExpired(2)), Resolve("bob", Answered(Raw(b'{"b": 1}')))]
    actions = talk.hear(frame(id=1, result={"a": 1}))
    assert actions == [CancelTimer(E.QuestionExpired(1)), Resolve("ann", Answered(Raw(b'{"a": 1}')))]
    assert len(talk.machine.asking.questions) == 0


@pytest.mark.requirement("request:one-outcome")
def test_an_error_is_an_answer() -> None:
    actions = asked().hear(frame(id=1, error={"code": -1, "message": "no"}))
    assert actions == [
        CancelTimer(E.QuestionExpired(1)),
        Resolve("ann", Declined(Raw(b'{"code": -1, "message": "no"}'))),
    ]


@pytest.mark.requirement("request:unknown-id")
@pytest.mark.parametrize("id_", [2, 0, -1, "1"])
@pytest.mark.parametrize("member", ["result", "error"])
def test_an_answer_that_nobody_waits_for_is_a_violation(id_: Any, member: str) -> None:
    talk = asked()
    (violation,) = talk.hear(frame(id=id_, **{member: {}}))
    assert isinstance(violation, Violation)
    assert violation.kind == "unknown-answer"
    assert len(talk.machine.asking.questions) == 1


@pytest.mark.requirement("request:unknown-id")
def test_an_error_without_an_id_is_a_violation() -> None:
    (violation,) = asked().hear(frame(error={"code": -1, "message": "no"}))
    assert isinstance(violation, Violation)


@pytest.mark.requirement("request:ids")
@pytest.mark.parametrize("id_", [True, 1.0])
def test_true_is_not_one(id_: Any) -> None:
    talk = asked()
    actions = talk.hear(frame(id=id_, result={}))
    assert not only(actions, Resolve)
    assert len(talk.machine.asking.questions) == 1


def test_who_was_told_that_a_message_is_malformed_is_not_told_again() -> None:
    talk = asked()
    actions = talk.feed(E.Received(Malformed("odd", 1, told=True)))
    assert verdicts(actions) == [("ann", Unreadable("odd"))]
    assert not only(actions, Send)


@pytest.mark.requirement("request:one-outcome")
def test_a_second_answer_is_nobodys() -> None:
    talk = asked()
    talk.hear(frame(id=1, result={}))
    assert not only(talk.hear(frame(id=1, result={})), Resolve)


@pytest.mark.parametrize("data", [frame(id=1), frame(id=1, result={}, error={}), b'{"id":1,"result":{}}'])
def test_an_answer_that_cannot_be_read_ends_the_question(data: bytes) -> None:
    actions = asked().hear(data)
    ((caller, verdict),) = verdicts(actions)
    assert caller == "ann"
    assert isinstance(verdict, Unreadable)
    assert only(actions, CancelTimer) == [CancelTimer(E.QuestionExpired(1))]


@pytest.mark.requirement("request:ids")
def test_a_number_is_never_used_again() -> None:
    talk = asked()
    talk.hear(frame(id=1, result={}))
    (said,) = sent(talk.ask(about="job"))
    assert said["id"] == 2


@pytest.mark.requirement("request:timeout")
def test_a_client_that_takes_too_long_may_stop_thinking() -> None:
    talk = asked()
    actions = talk.feed(E.QuestionExpired(1))
    ((caller, verdict),) = verdicts(actions)
    assert (caller, verdict) == ("ann", Unanswered("the client did not answer in time", expired=True))
    assert taken_back(actions) == [1]
    assert [send.about for send in only(actions, Send)] == ["job"]
    assert talk.feed(E.QuestionExpired(1)) == []
    assert not only(talk.hear(frame(id=1, result={})), Resolve)


@pytest.mark.requirement("request:cancel-caller")
def test_whoever_goes_away_is_told_nothing_but_the_client_is() -> None:
    talk = asked("ann")
    talk.ask("bob", about="job")
    actions = talk.feed(E.Forgone("ann"))
    assert verdicts(actions) == []
    assert taken_back(actions) == [1]
    assert only(actions, CancelTimer) == [CancelTimer(E.QuestionExpired(1))]
    assert talk.feed(E.Forgone("ann")) == []
    assert len(talk.machine.asking.questions) == 1


def test_callers_are_told_apart_by_identity() -> None:
    ann: list[int] = []
    talk = asked(ann)
    assert talk.feed(E.Forgone([])) == []
    assert taken_back(talk.feed(E.Forgone(ann))) == [1]


@pytest.mark.parametrize("how", ["answered", "cancelled", "dismissed"])
def test_a_question_ends_with_the_request_that_it_came_from(how: str) -> None:
    talk = asked()
    talk.request("other", "tools/call")
    talk.ask("bob", about="other")
    ways = {
        "answered": lambda: talk.conclude("job"),
        "cancelled": lambda: talk.cancel("job"),
        "dismissed": lambda: talk.feed(E.Dismissed("job", "it hung up")),
    }
    actions = ways[how]()
    ((caller, verdict),) = verdicts(actions)
    assert caller == "ann"
    assert isinstance(verdict, Unanswered)
    assert taken_back(actions) == [1]
    assert only(actions, CancelTimer) == [CancelTimer(E.QuestionExpired(1))]
    # Nothing about a request follows its last word.
    finals = [send.final for send in only(actions, Send)]
    assert finals == ([False] if how == "dismissed" else [False, True])
    assert len(talk.machine.asking.questions) == 1


def test_a_number_and_its_digits_are_two_requests() -> None:
    talk = ready(**OBLIGING)
    for id_ in (1, "1"):
        talk.request(id_, "tools/call")
        talk.ask(id_, about=id_)
    assert [caller for caller, _ in verdicts(talk.conclude("1"))] == ["1"]
    assert [caller for caller, _ in verdicts(talk.conclude(1))] == [1]


def test_a_job_that_is_over_asks_nothing_any_more() -> None:
    talk = asked()
    talk.cancel("job")
    assert talk.ask("bob", about="job") == [Resolve("bob", Unanswered("its request is over"))]
    assert talk.ask("bob", about="never") == [Resolve("bob", Unanswered("its request is over"))]


@pytest.mark.requirement("request:lost")
def test_all_questions_end_with_the_session_and_nobody_is_told_of_it() -> None:
    talk = asked()
    talk.ask("bob")
    actions = talk.feed(E.Gone("it hung up"))
    assert verdicts(actions) == [("ann", Unanswered("it hung up")), ("bob", Unanswered("it hung up"))]
    assert not only(actions, Send)
    assert only(actions, CancelTimer) == [CancelTimer(E.QuestionExpired(n)) for n in (1, 2)]
    assert only(actions, CancelJob) == [CancelJob("job", "it hung up")]


@pytest.mark.requirement("request:lost")
def test_a_client_that_is_gone_is_not_asked() -> None:
    assert closed().ask() == [Resolve("ann", Unanswered("the client is gone"))]


def test_a_job_may_still_ask_while_the_session_closes() -> None:
    talk = closing()
    (resolve,) = talk.ask("ann", about="last")
    assert resolve == Resolve("ann", Unaskable("the client does not offer roots", "roots"))


def test_a_question_without_a_request_ends_when_the_server_stops() -> None:
    talk = ready(**OBLIGING)
    talk.ask("ann")
    assert verdicts(talk.feed(E.StopAsked(5.0))) == [("ann", Unanswered("the server was stopped"))]


@pytest.mark.requirement("feature:tasks")
@pytest.mark.parametrize("version", LEGACY)
def test_a_client_that_hosts_tasks_can_be_asked_about_them(version: str) -> None:
    actions = ready(version, **OBLIGING).ask("ann", "tasks/list")
    assert bool(sent(actions)) == (version == "2025-11-25")
