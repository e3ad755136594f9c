"""Several calls at once: an array where the revision has them, one after the other elsewhere."""

from __future__ import annotations

import pytest

from mcp_actors.protocol import events as E
from mcp_actors.protocol.actions import Send, SendTogether, SetTimer
from mcp_actors.protocol.outcomes import Completed, NotReady, Stopped
from mcp_actors.protocol.states import State
from tests.protocol import toy_server as toy
from tests.protocol.driver import Driver

pytestmark = pytest.mark.requirement("request:batch")


def together(*callers: str) -> E.CalledTogether:
    return E.CalledTogether(tuple(E.Called(caller, "tools/call", b"{}", b"{}", 9.0) for caller in callers))


def test_with_arrays_they_go_out_as_one_and_each_has_its_deadline() -> None:
    driver = Driver().to(State.READY, "2025-03-26")
    driver.do(together("ann", "bob"))
    (sent,) = driver.all(SendTogether)
    assert isinstance(sent, SendTogether)
    ids = [id_ for id_, _ in sent.frames]
    assert [action.event for action in driver.actions if isinstance(action, SetTimer)] == [
        E.RequestExpired(id_) for id_ in ids
    ]
    assert driver.all(Send) == []
    driver.hear(b"[" + toy.result(ids[1], {"n": 2}) + b"," + toy.result(ids[0], {"n": 1}) + b"]")
    assert {caller: type(outcome) for caller, outcome in driver.outcomes().items()} == {
        "ann": Completed,
        "bob": Completed,
    }


@pytest.mark.parametrize("version", [toy.MODERN, "2025-11-25", "2025-06-18", "2024-11-05"])
def test_without_arrays_they_go_out_one_after_the_other(version: str) -> None:
    driver = Driver().to(State.READY, version)
    driver.do(together("ann", "bob"))
    assert driver.all(SendTogether) == []
    assert len(driver.all(Send)) == 2


def test_one_alone_is_no_array() -> None:
    driver = Driver().to(State.READY, "2025-03-26")
    driver.do(together("ann"))
    assert len(driver.all(Send)) == 1


def test_what_a_busy_wire_refuses_is_retried_one_by_one() -> None:
    driver = Driver().to(State.READY, "2025-03-26")
    driver.do(together("ann", "bob"))
    (sent,) = driver.all(SendTogether)
    assert isinstance(sent, SendTogether)
    for id_, frame in sent.frames:
        driver.do(E.SendRefused(id_, frame))
        driver.do(E.RetryDue(id_))
        assert driver.all(Send) == [Send(frame, id_)]


def test_while_not_ready_each_is_told() -> None:
    driver = Driver().to(State.BACKOFF)
    driver.do(together("ann", "bob"))
    assert {type(outcome) for outcome in driver.outcomes().values()} == {NotReady}
    closing = Driver().to(State.CLOSING)
    closing.do(together("ann", "bob"))
    assert closing.outcomes() == {"ann": Stopped(), "bob": Stopped()}


@pytest.mark.requirement("connection:recover")
def test_an_answer_in_an_array_also_counts_while_everything_is_agreed_anew() -> None:
    driver = Driver().to(State.READY, "2025-03-26")
    driver.call("ann", "tools/list")
    driver.lose()
    driver.do(E.StateExpired())
    driver.open()
    driver.introduce("2025-03-26")
    question = driver.question()
    assert question is not None
    assert question["method"] == "tools/list"
    driver.hear(
        b"[" + toy.news("notifications/message") + b"," + toy.result(question["id"], {"tools": []}) + b"]"
    )
    assert driver.state is State.READY


def test_an_array_that_ends_the_handshake_ends_it() -> None:
    driver = Driver().to(State.READY, "2025-03-26")
    driver.lose()
    driver.do(E.StateExpired())
    driver.open()
    question = driver.question()
    assert question is not None
    refusal = toy.error(question["id"], -32603)
    driver.hear(b"[" + refusal + b"," + toy.news("notifications/message") + b"]")
    assert driver.state is State.BACKOFF
