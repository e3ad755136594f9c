"""What the server asks of us: handed on if we offered it, refused if not, answered once, or not at all."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_actors.protocol import events as E
from mcp_actors.protocol.actions import Dispatch, Send, Serve, SetTimer, Violation
from mcp_actors.protocol.offer import Offer
from mcp_actors.protocol.states import State
from tests.protocol import toy_server as toy
from tests.protocol.driver import Driver

OLD, NEW = toy.LEGACY[0], toy.MODERN
EVERYTHING = Offer(roots=True, sampling=True, elicitation=("form",))
ANSWER = b'{"jsonrpc":"2.0","id":7,"result":{}}'


def ready(version: str = OLD, offer: Offer = EVERYTHING, **choices: Any) -> Driver:
    return Driver(offer=offer, **choices).to(State.READY, version)


def asked(driver: Driver, id_: Any = 7, method: str = "roots/list") -> list[str]:
    """The server asks; what was handed on."""
    driver.hear(toy.frame(id=id_, method=method, params={}))
    return [action.request.method for action in driver.actions if isinstance(action, Serve)]


@pytest.mark.parametrize(
    ("version", "method", "served"),
    [
        (OLD, "roots/list", True),
        (OLD, "sampling/createMessage", True),
        (OLD, "elicitation/create", True),
        ("2025-06-18", "elicitation/create", True),
        ("2025-03-26", "elicitation/create", False),
        ("2024-11-05", "roots/list", True),
        (OLD, "tasks/get", False),
        (OLD, "no/such/thing", False),
    ],
)
def test_what_was_declared_in_this_revision_is_handed_on_and_nothing_else(
    version: str, method: str, served: bool
) -> None:
    driver = ready(version)
    assert asked(driver, method=method) == ([method] if served else [])
    if not served:
        assert driver.sent()[-1]["error"]["code"] == -32601


def test_what_was_not_offered_is_refused() -> None:
    driver = ready(offer=Offer(sampling=True))
    assert asked(driver) == []
    assert driver.sent()[-1]["error"]["code"] == -32601


def test_in_the_stateless_era_servers_ask_for_nothing_and_get_no_answer() -> None:
    driver = ready(NEW)
    assert asked(driver) == []
    assert driver.sent() == []
    assert driver.all(Violation) == [Violation("server-request", "the server sent roots/list")]


def test_an_answer_goes_out_once() -> None:
    driver = ready()
    asked(driver)
    assert driver.machine.wire is not None
    driver.do(E.Served(driver.machine.wire, 7, ANSWER))
    assert [action.frame for action in driver.actions if isinstance(action, Send)] == [ANSWER]
    assert driver.do(E.Served(driver.machine.wire, 7, ANSWER)) == []


def test_an_answer_for_an_earlier_wire_is_dropped() -> None:
    driver = ready()
    asked(driver)
    wire = driver.machine.wire
    assert wire is not None
    driver.lose()
    driver.do(E.StateExpired())
    driver.open()
    driver.introduce(OLD)
    assert driver.do(E.Served(wire, 7, ANSWER)) == []
    assert driver.machine.wire is not None
    assert driver.do(E.Served(driver.machine.wire, 7, ANSWER)) == []


def test_an_answer_is_offered_until_a_busy_wire_takes_it() -> None:
    driver = ready()
    asked(driver)
    assert driver.machine.wire is not None
    driver.do(E.Served(driver.machine.wire, 7, ANSWER))
    (send,) = driver.all(Send)
    assert isinstance(send, Send)
    assert send.token is not None
    driver.do(E.SendRefused(send.token, ANSWER))
    (timer,) = driver.all(SetTimer)
    assert isinstance(timer, SetTimer)
    driver.do(timer.event)
    assert driver.all(Send) == [send]
    assert driver.do(timer.event) == []


def test_a_request_that_the_server_takes_back_is_not_answered_and_no_call_of_ours_ends() -> None:
    driver = ready()
    id_ = driver.call("ann")
    asked(driver, id_)
    driver.hear(toy.news("notifications/cancelled", requestId=id_))
    assert driver.outcomes() == {}
    assert len(driver.all(Dispatch)) == 1
    assert driver.machine.wire is not None
    assert driver.do(E.Served(driver.machine.wire, id_, ANSWER)) == []
    driver.hear(toy.news("notifications/cancelled", requestId=id_))
    assert set(driver.outcomes()) == {"ann"}


@pytest.mark.parametrize("id_", [None, 1.5, True, [1]])
def test_a_cancellation_of_nothing_does_nothing(id_: Any) -> None:
    driver = ready()
    asked(driver, "1.5")
    driver.hear(toy.news("notifications/cancelled", requestId=id_))
    assert len(driver.machine.conversation.duties) == 1


def test_an_id_that_is_still_open_is_refused() -> None:
    driver = ready()
    asked(driver)
    assert asked(driver) == []
    assert driver.sent()[-1]["error"]["code"] == -32600
    assert len(driver.all(Violation)) == 1
    assert asked(driver, "7") == ["roots/list"]


def test_more_than_so_many_at_once_are_refused_until_one_is_answered() -> None:
    driver = ready(max_duties=2)
    asked(driver, 1)
    asked(driver, 2)
    assert asked(driver, 3) == []
    assert driver.sent()[-1]["error"]["code"] == -32603
    assert driver.machine.wire is not None
    driver.do(E.Served(driver.machine.wire, 1, ANSWER))
    assert asked(driver, 3) == ["roots/list"]


def test_a_server_may_ask_while_everything_is_being_agreed_anew() -> None:
    driver = ready()
    driver.call("ann", "tools/list")
    driver.lose()
    driver.do(E.StateExpired())
    driver.open()
    driver.introduce(OLD)
    assert driver.state is State.INITIALIZING
    assert asked(driver) == ["roots/list"]
    assert driver.machine.wire is not None
    driver.do(E.Served(driver.machine.wire, 7, ANSWER))
    assert len(driver.all(Send)) == 1


def test_before_any_agreement_nothing_but_ping_is_served() -> None:
    driver = Driver(offer=EVERYTHING).to(State.INITIALIZING)
    assert asked(driver) == []
    assert driver.sent()[-1]["error"]["code"] == -32601
    driver.hear(toy.frame(id=8, method="ping"))
    assert driver.sent()[-1] == {"jsonrpc": "2.0", "id": 8, "result": {}}
