"""Requests that have an exchange each: they fail one by one, and their callers may fetch the answers."""

from __future__ import annotations

import pytest
from msgspec import Raw

from mcp_actors.protocol import events as E
from mcp_actors.protocol import jsonrpc
from mcp_actors.protocol.actions import (
    CancelTimer,
    Missed,
    Permit,
    Reply,
    Scan,
    SetTimer,
    Underway,
    Unmatched,
    Violation,
)
from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.protocol.outcomes import BadAnswer, Completed, Lost, Rejected, Stopped
from mcp_actors.protocol.states import State
from tests.protocol import toy_server as toy
from tests.protocol.driver import EOF, Driver

pytestmark = pytest.mark.requirement("transport:http")


def lose(driver: Driver, id_: int | str, outcome: str = "unknown", wire: int | None = None) -> None:
    number = driver.machine.wire if wire is None else wire
    assert number is not None
    driver.do(E.ExchangeLost(number, id_, EOF, outcome))  # type: ignore[arg-type]


@pytest.mark.parametrize("outcome", ["unknown", "not_sent"])
def test_one_lost_exchange_is_one_lost_call(outcome: str) -> None:
    driver = Driver().to(State.READY)
    first, second = driver.call("ann"), driver.call("bob")
    lose(driver, first, outcome)
    assert driver.outcomes() == {"ann": Lost(EOF, outcome)}  # type: ignore[arg-type]
    assert driver.is_in(State.READY)
    driver.hear(toy.result(first, {}), toy.result(second, {}))
    assert set(driver.outcomes()) == {"bob"}
    assert driver.all(Unmatched) == [Unmatched(first, late=outcome == "unknown")]


def test_of_an_earlier_wire_or_of_nobody_it_does_nothing() -> None:
    driver = Driver().to(State.READY)
    id_ = driver.call("ann")
    lose(driver, id_, wire=99)
    assert driver.actions == []
    for other in (77, "1", True):
        lose(driver, other)
        assert driver.actions == []


def test_a_lost_question_of_the_handshake_is_a_failed_start() -> None:
    driver = Driver().to(State.INITIALIZING)
    lose(driver, 1)
    assert driver.is_in(State.BACKOFF)
    assert driver.machine.cause == EOF


def test_a_lost_sign_of_life_is_a_miss_like_any_other() -> None:
    driver = Driver().to(State.READY)
    driver.do(E.PulseDue())
    question = driver.question()
    assert question is not None
    lose(driver, question["id"])
    assert driver.is_in(State.READY)
    driver.hear(toy.result(question["id"], {}))
    assert driver.all(Unmatched) == [Unmatched(question["id"], late=False)]


def test_a_lost_stream_of_news_is_opened_again() -> None:
    driver = Driver().to(State.READY, toy.MODERN)
    id_ = driver.call("ann", "resources/subscribe", uri="a:1")
    driver.hear(toy.acknowledged(id_, "a:1"))
    lose(driver, id_)
    assert len(driver.all(Missed)) == 1
    assert E.ListenDue() in driver.timers()


def test_a_stream_that_is_lost_before_it_began_does_not_hold_up_the_connection() -> None:
    driver = Driver(listens=["notifications/tools/list_changed"]).to(State.READY, toy.MODERN)
    assert driver.is_in(State.INITIALIZING)
    question = driver.question()
    assert question is not None
    lose(driver, question["id"])
    assert driver.is_in(State.READY)


def test_an_answer_that_breaks_the_protocol_is_no_loss() -> None:
    driver = Driver().to(State.READY)
    id_ = driver.call("ann")
    assert driver.machine.wire is not None
    ending = Ending(EndKind.BREACH, "no answer in HTTP 202 with nothing")
    driver.do(E.ExchangeLost(driver.machine.wire, id_, ending, "unknown"))
    assert driver.outcomes() == {"ann": BadAnswer("no answer in HTTP 202 with nothing")}
    assert driver.is_in(State.READY)


# Answers that callers fetch themselves.


def fetch(driver: Driver, frame: bytes, wire: int | None = None) -> None:
    number = driver.machine.wire if wire is None else wire
    assert number is not None
    driver.do(E.AnswerFetched(number, frame, jsonrpc.scan(frame)))


def test_a_fetched_answer_ends_the_call_and_needs_no_permit() -> None:
    driver = Driver().to(State.READY)
    id_ = driver.call("ann")
    fetch(driver, toy.result(id_, {}))
    assert driver.actions == [
        CancelTimer(E.RequestExpired(id_)),
        Reply("ann", Completed(Raw(b"{}"))),
    ]
    assert driver.all(Permit) == []
    assert driver.machine.flow.outstanding == driver.policy.window


def test_a_fetched_error_is_the_callers() -> None:
    driver = Driver().to(State.READY)
    fetch(driver, toy.error(driver.call("ann"), -32603))
    assert isinstance(driver.outcomes()["ann"], Rejected)


def test_a_fetched_answer_that_is_none_is_judged_like_any_other() -> None:
    driver = Driver().to(State.READY)
    fetch(driver, toy.frame(id=driver.call("ann"), result={}, error={}))
    assert isinstance(driver.outcomes()["ann"], BadAnswer)
    assert len(driver.all(Violation)) == 1


def test_a_fetched_answer_that_comes_too_late_is_late() -> None:
    driver = Driver().to(State.READY)
    id_ = driver.call("ann")
    driver.do(E.RequestExpired(id_))
    fetch(driver, toy.result(id_, {}))
    assert driver.actions == [Unmatched(id_, late=True)]


def test_an_answer_that_was_fetched_over_an_earlier_wire_does_nothing() -> None:
    driver = Driver().to(State.READY)
    id_ = driver.call("ann")
    fetch(driver, toy.result(id_, {}), wire=99)
    assert driver.actions == []


def test_a_fetched_answer_does_not_wait_for_a_large_frame() -> None:
    driver = Driver(scan_above=400).to(State.READY)
    id_ = driver.call("ann")
    driver.hear(toy.news("notifications/message", data="x" * 500))
    assert len(driver.all(Scan)) == 1
    fetch(driver, toy.result(id_, {}))
    assert set(driver.outcomes()) == {"ann"}


@pytest.mark.parametrize("state", [State.STARTING, State.INITIALIZING, State.BACKOFF, State.CLOSING])
def test_where_nobody_calls_nothing_is_fetched(state: State) -> None:
    driver = Driver().to(state)
    fetch(driver, toy.result(1, {}), wire=driver.machine.wire or 1)
    assert driver.actions == []


# Requests that callers send themselves.


def depart(driver: Driver, wire: int | None = None, method: str = "tools/call") -> None:
    number = driver.machine.wire if wire is None else wire
    assert number is not None
    driver.do(E.Departed("ann", 77, number, method, b"{}", 9.0, 1.5))


def test_a_request_that_its_caller_sends_is_pending_like_any_other() -> None:
    driver = Driver().to(State.READY)
    depart(driver)
    assert driver.actions == [SetTimer(E.RequestExpired(77), 9.0), Underway(b"{}", 77, 1.5)]
    fetch(driver, toy.result(77, {}))
    assert driver.actions == [CancelTimer(E.RequestExpired(77)), Reply("ann", Completed(Raw(b"{}")))]


def test_it_can_be_taken_back_like_any_other() -> None:
    driver = Driver().to(State.READY)
    depart(driver)
    driver.do(E.RequestExpired(77))
    (taken_back,) = driver.sent()
    assert taken_back["params"] == {"requestId": 77, "reason": "timeout"}


@pytest.mark.parametrize(("id_", "outcome"), [(77, "not_sent"), (78, "unknown")])
def test_whose_wire_has_ended_meanwhile_is_told_what_its_end_says(id_: int, outcome: str) -> None:
    driver = Driver().to(State.READY)
    wire, ending = driver.machine.wire, Ending(EndKind.EOF, "it hung up", unsent=frozenset({id_}))
    driver.lose(ending)
    depart(driver, wire)
    assert driver.outcomes() == {"ann": Lost(ending, outcome)}  # type: ignore[arg-type]


@pytest.mark.parametrize("state", [State.STARTING, State.INITIALIZING, State.READY])
def test_whose_wire_has_been_replaced_meanwhile_has_lost_its_request(state: State) -> None:
    driver = Driver().to(state)
    depart(driver, 99)
    (outcome,) = driver.outcomes().values()
    assert isinstance(outcome, Lost)
    assert outcome.outcome == "unknown"
    assert driver.is_in(state)


def test_who_sends_a_request_while_the_client_is_closed_is_told_so() -> None:
    driver = Driver().to(State.READY)
    wire = driver.machine.wire
    driver.do(E.StopAsked())
    depart(driver, wire)
    assert driver.outcomes() == {"ann": Stopped()}
