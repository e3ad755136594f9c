"""Signs of life: an idle server is asked for one; three misses end the wire, and anything heard is one."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_actors.protocol import events as E
from mcp_actors.protocol import jsonrpc
from mcp_actors.protocol.actions import CloseWire, Unmatched
from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.protocol.states import State
from tests.protocol import toy_server as toy
from tests.protocol.driver import Driver

pytestmark = pytest.mark.requirement("feature:ping")


def pinged(driver: Driver) -> int | None:
    """Time to look: the id of the ping that was sent, if one was."""
    driver.do(E.PulseDue())
    question = driver.question()
    return None if question is None else int(question["id"])


def quiet(**choices: Any) -> Driver:
    """A ready connection over which nothing came since."""
    return Driver(**choices).to(State.READY)


def test_an_idle_server_is_asked_and_its_answer_is_nobodys_surprise() -> None:
    driver = quiet(keep_alive=5.0)
    id_ = pinged(driver)
    assert driver.sent()[-1]["method"] == "ping"
    assert driver.timers() == {E.PulseDue(): 5.0}
    driver.hear(toy.result(id_, {}))
    assert driver.all(Unmatched) == []
    assert pinged(driver) is None
    assert pinged(driver) is not None


def test_three_misses_end_the_wire_and_the_connection_backs_off() -> None:
    driver = quiet()
    ids = [pinged(driver) for _ in range(3)]
    assert None not in ids
    assert len(set(ids)) == 3
    assert pinged(driver) is None
    assert driver.state is State.BACKOFF
    assert driver.all(CloseWire) == [CloseWire(1)]
    assert driver.machine.cause == Ending(EndKind.BROKEN, "the server did not answer 3 pings in 90 s")


def test_an_answer_that_a_caller_fetched_is_a_sign_of_life() -> None:
    driver = quiet()
    frame = toy.result(driver.call("ann"), {})
    assert driver.machine.wire is not None
    driver.do(E.AnswerFetched(driver.machine.wire, frame, jsonrpc.scan(frame)))
    assert pinged(driver) is None
    assert pinged(driver) is not None


def test_anything_the_server_says_is_a_sign_of_life() -> None:
    driver = quiet()
    for _ in range(9):
        assert pinged(driver) is not None
        driver.hear(toy.news("notifications/message", level="info", data=1))
        assert pinged(driver) is None


def test_a_server_at_work_may_be_silent_for_any_time() -> None:
    driver = quiet()
    assert pinged(driver) is not None
    id_ = driver.call()
    for _ in range(9):
        assert pinged(driver) is None
    driver.do(E.RequestExpired(id_))
    for _ in range(3):
        assert pinged(driver) is not None
    pinged(driver)
    assert driver.state is State.BACKOFF


def test_a_new_wire_starts_with_no_misses() -> None:
    driver = quiet()
    for _ in range(3):
        pinged(driver)
    driver.lose()
    driver.do(E.StateExpired())
    driver.open()
    driver.introduce()
    assert driver.timers()[E.PulseDue()] == 30.0
    pinged(driver)
    assert driver.state is State.READY


@pytest.mark.parametrize(("version", "keep_alive"), [(toy.MODERN, 30.0), (toy.LEGACY[0], None)])
def test_without_a_ping_or_without_the_wish_nobody_is_asked(version: str, keep_alive: float | None) -> None:
    driver = Driver(keep_alive=keep_alive).to(State.READY, version)
    assert E.PulseDue() not in driver.timers()
