"""Requests that fail one by one, where each has its own exchange: nobody else is touched."""

from __future__ import annotations

import pytest

from mcp_actors.protocol import events as E
from mcp_actors.protocol.actions import Missed, Unmatched
from mcp_actors.protocol.outcomes import Lost
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
