"""Callers who contradict each other, and messages that meet on the way: everybody gets the truth, once."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcp_actors.protocol import events as E
from mcp_actors.protocol.actions import Missed, Send, Serve, SetTimer, Unmatched
from mcp_actors.protocol.offer import Offer
from mcp_actors.protocol.outcomes import Completed, NotGranted, Rejected, TimedOut, Withdrawn
from mcp_actors.protocol.states import State
from tests.protocol import toy_server as toy
from tests.protocol.driver import EOF, Driver

OLD, NEW = toy.LEGACY[0], toy.MODERN
TOOLS = "notifications/tools/list_changed"
SUBSCRIBE, UNSUBSCRIBE = "resources/subscribe", "resources/unsubscribe"
ANSWER = b'{"jsonrpc":"2.0","id":7,"result":{}}'


def called(caller: str, method: str, **params: Any) -> E.Called:
    return E.Called(caller, method, json.dumps(params).encode(), b"{}", 9.0)


def modern(*uris: str, listens: tuple[str, ...] = (), **choices: Any) -> Driver:
    """A ready client of the stateless era with these subscriptions."""
    driver = Driver(**choices).to(State.READY, NEW)
    driver.listens.extend(listens)
    for uri in uris:
        id_ = driver.call(uri, SUBSCRIBE, uri=uri)
        driver.hear(toy.acknowledged(id_, *wanted(driver)))
    return driver


def wanted(driver: Driver) -> list[str]:
    """The resources of the last stream that was asked for."""
    question = driver.question()
    assert question is not None
    assert question["method"] == "subscriptions/listen"
    found: list[str] = question["params"]["notifications"].get("resourceSubscriptions", [])
    return found


def stream(driver: Driver) -> int:
    question = driver.question()
    assert question is not None
    return int(question["id"])


def taken_back(driver: Driver) -> list[int]:
    return [m["params"]["requestId"] for m in driver.sent() if m["method"] == "notifications/cancelled"]


def reconnecting(driver: Driver, version: str) -> Driver:
    """Over a loss to the point where everything is to be agreed anew."""
    driver.lose()
    driver.do(E.StateExpired())
    driver.open()
    driver.introduce(version)
    return driver


# Callers who contradict each other.


@pytest.mark.requirement("request:one-outcome")
def test_who_subscribes_is_answered_when_somebody_else_unsubscribes_from_the_same() -> None:
    driver = modern()
    id_ = driver.call("ann", SUBSCRIBE, uri="a:1")
    driver.do(called("bob", UNSUBSCRIBE, uri="a:1"))
    assert {caller: type(outcome) for caller, outcome in driver.outcomes().items()} == {
        "ann": Completed,
        "bob": Completed,
    }
    assert taken_back(driver) == [id_]
    assert driver.standing.uris == {}
    assert driver.do(E.RequestExpired(id_)) == []


@pytest.mark.requirement("request:one-outcome")
def test_who_unsubscribes_is_answered_when_the_last_listener_leaves() -> None:
    driver = modern("a:1", listens=(TOOLS,))
    id_ = driver.call("ann", UNSUBSCRIBE, uri="a:1")
    driver.listens.clear()
    driver.do(E.NewsWanted())
    assert list(driver.outcomes()) == ["ann"]
    assert id_ in taken_back(driver)
    assert driver.standing.uris == {}


def test_what_another_caller_still_asks_for_survives_a_refusal() -> None:
    driver = modern()
    first = driver.call("ann", SUBSCRIBE, uri="a:1")
    second = driver.call("bob", SUBSCRIBE, uri="a:1")
    driver.hear(toy.error(first, -32603))
    driver.hear(toy.acknowledged(second, "a:1"))
    assert list(driver.standing.uris) == ["a:1"]
    driver.call("cid", SUBSCRIBE, uri="a:2")
    assert wanted(driver) == ["a:1", "a:2"]


def test_what_was_not_granted_once_is_asked_for_again() -> None:
    driver = modern("a:1")
    driver.hear(toy.acknowledged(driver.call("bob", SUBSCRIBE, uri="a:2"), "a:1"))
    assert driver.outcomes()["bob"] == NotGranted("a:2")
    driver.call("bob", SUBSCRIBE, uri="a:2")
    assert wanted(driver) == ["a:1", "a:2"]
    assert driver.outcomes() == {}


def test_a_stream_that_is_taken_back_in_the_same_breath_is_asked_for_first() -> None:
    driver = modern()
    driver.do(E.CalledTogether((called("ann", SUBSCRIBE, uri="a:1"), called("bob", UNSUBSCRIBE, uri="a:1"))))
    assert [message["method"] for message in driver.sent()] == [
        "subscriptions/listen",
        "notifications/cancelled",
    ]


@pytest.mark.parametrize("version", [OLD, NEW])
def test_a_subscription_to_nothing_is_the_servers_to_judge(version: str) -> None:
    driver = Driver().to(State.READY, version)
    id_ = driver.call("ann", SUBSCRIBE, url="a:1")
    assert driver.sent()[-1]["method"] == SUBSCRIBE
    driver.hear(toy.result(id_, {}))
    assert driver.standing.uris == {}


# Streams that come to nothing.


@pytest.mark.requirement("request:server-cancelled")
def test_a_server_that_cancels_a_stream_before_it_began_ends_the_call() -> None:
    driver = modern()
    id_ = driver.call("ann", SUBSCRIBE, uri="a:1")
    driver.hear(toy.news("notifications/cancelled", requestId=id_, reason="full"))
    assert driver.outcomes() == {"ann": Withdrawn("server", "full")}
    assert driver.standing.uris == {}


@pytest.mark.parametrize("end", ["refused", "late"])
def test_what_depended_on_a_callers_stream_is_asked_for_again_when_that_came_to_nothing(end: str) -> None:
    driver = modern("a:1")
    driver.hear(toy.result(2, {}))
    assert driver.all(Missed) == [Missed("the server ended the subscription")]
    id_ = driver.call("bob", SUBSCRIBE, uri="a:2")
    assert driver.do(E.ListenDue()) == []
    if end == "refused":
        driver.hear(toy.error(id_, -32603))
        assert isinstance(driver.outcomes()["bob"], Rejected)
    else:
        driver.do(E.RequestExpired(id_))
        assert isinstance(driver.outcomes()["bob"], TimedOut)
    assert E.ListenDue() in driver.timers()
    driver.do(E.ListenDue())
    assert wanted(driver) == ["a:1"]


@pytest.mark.parametrize("ready", [True, False])
def test_a_stream_whose_exchange_broke_is_asked_for_again_and_nothing_is_lost(ready: bool) -> None:
    driver = reconnecting(modern("a:1"), NEW)
    id_ = stream(driver)
    if ready:
        driver.do(E.ProbeExpired())
    assert driver.machine.wire is not None
    driver.do(E.ExchangeLost(driver.machine.wire, id_, EOF, "not_sent"))
    assert driver.state is State.READY
    assert [action.lost for action in driver.actions if isinstance(action, Missed)] == ([] if ready else [()])
    assert E.ListenDue() in driver.timers()
    driver.do(E.ListenDue())
    assert wanted(driver) == ["a:1"]


@pytest.mark.requirement("connection:recover")
def test_what_a_server_grants_no_longer_is_said_to_be_lost() -> None:
    driver = modern("a:1", "a:2")
    driver.hear(toy.acknowledged(driver.call("bob", SUBSCRIBE, uri="a:3"), "a:1", "a:3"))
    assert driver.all(Missed) == [Missed("the server did not grant it again", ("a:2",))]
    assert list(driver.standing.uris) == ["a:1", "a:3"]


@pytest.mark.requirement("connection:recover")
@pytest.mark.parametrize("how", ["partly", "error", "cancelled"])
def test_what_a_server_does_not_grant_after_a_loss_is_said_to_be_lost(how: str) -> None:
    driver = reconnecting(modern("a:1", "a:2"), NEW)
    id_ = stream(driver)
    ways = {
        "partly": toy.acknowledged(id_),
        "error": toy.error(id_, -32603),
        "cancelled": toy.news("notifications/cancelled", requestId=id_),
    }
    driver.hear(ways[how])
    assert driver.state is State.READY
    lost = [action.lost for action in driver.actions if isinstance(action, Missed)]
    assert lost == [("a:1", "a:2")]
    assert driver.standing.uris == {}


def test_a_wider_stream_that_is_refused_leaves_the_narrower_one() -> None:
    driver = modern("a:1")
    driver.listens.append(TOOLS)
    driver.do(E.NewsWanted())
    driver.hear(toy.error(stream(driver), -32603))
    assert driver.all(Missed) == []
    assert list(driver.standing.uris) == ["a:1"]


@pytest.mark.requirement("connection:recover")
def test_a_refusal_is_still_said_when_the_wire_is_lost_before_the_rest_was_asked() -> None:
    driver = Driver().to(State.READY, OLD)
    for uri in ("a:1", "a:2"):
        driver.hear(toy.result(driver.call("ann", SUBSCRIBE, uri=uri), {}))
    reconnecting(driver, OLD)
    driver.hear(toy.error(stream(driver), -32603))
    reconnecting(driver, OLD)
    for _ in range(2):
        driver.hear(toy.error(stream(driver), -32603))
    assert driver.all(Missed) == [Missed("the connection was lost", ("a:1", "a:2"))]
    assert driver.standing.uris == {}


@pytest.mark.requirement("connection:recover")
def test_a_listener_who_comes_while_everything_is_agreed_anew_is_heard() -> None:
    driver = reconnecting(modern("a:1"), NEW)
    id_ = stream(driver)
    driver.listens.append(TOOLS)
    driver.do(E.NewsWanted())
    driver.hear(toy.acknowledged(id_, "a:1"))
    assert driver.state is State.READY
    question = driver.question()
    assert question is not None
    assert question["params"]["notifications"] == {"toolsListChanged": True, "resourceSubscriptions": ["a:1"]}


# A busy wire.


def busy(driver: Driver) -> None:
    """The wire refuses everything that the last event sent and that may be refused."""
    for action in driver.all(Send):
        assert isinstance(action, Send)
        if action.token is not None:
            driver.do(E.SendRefused(action.token, action.frame))


def test_a_stream_is_taken_back_after_it_was_asked_for_also_over_a_busy_wire() -> None:
    driver = modern()
    driver.listens.append(TOOLS)
    driver.do(E.NewsWanted())
    busy(driver)
    driver.listens.clear()
    driver.do(E.NewsWanted())
    assert driver.sent() == []
    (retry,) = {timer for timer in (E.RetryDue(-1),)}
    driver.do(retry)
    assert [message["method"] for message in driver.sent()] == [
        "subscriptions/listen",
        "notifications/cancelled",
    ]


def test_a_stream_that_was_never_written_is_not_taken_back() -> None:
    driver = modern()
    first = driver.call("ann", SUBSCRIBE, uri="a:1")
    busy(driver)
    second = driver.call("bob", SUBSCRIBE, uri="a:2")
    driver.hear(toy.acknowledged(second, "a:1", "a:2"))
    assert set(driver.outcomes()) == {"ann", "bob"}
    assert taken_back(driver) == []
    assert driver.do(E.RetryDue(first)) == []


def test_taking_a_stream_back_is_insisted_on() -> None:
    driver = modern("a:1")
    driver.do(called("bob", UNSUBSCRIBE, uri="a:1"))
    (send,) = driver.all(Send)
    busy(driver)
    driver.do(E.RetryDue(-1))
    assert driver.all(Send) == [send]


def test_answers_that_a_busy_wire_did_not_take_count_as_open_requests() -> None:
    driver = Driver(offer=Offer(roots=True), max_duties=1).to(State.READY, OLD)
    driver.hear(toy.frame(id=7, method="roots/list"))
    assert driver.machine.wire is not None
    driver.do(E.Served(driver.machine.wire, 7, ANSWER))
    busy(driver)
    driver.hear(toy.frame(id=8, method="roots/list"))
    assert driver.all(Serve) == []
    driver.do(E.RetryDue(-1))
    driver.hear(toy.frame(id=9, method="roots/list"))
    assert len(driver.all(Serve)) == 1


# Messages that meet on the way.


def test_an_answer_for_an_earlier_wire_is_not_the_answer_to_its_namesake_on_the_next() -> None:
    driver = Driver(offer=Offer(roots=True)).to(State.READY, OLD)
    driver.hear(toy.frame(id=7, method="roots/list"))
    first = driver.machine.wire
    assert first is not None
    reconnecting(driver, OLD)
    driver.hear(toy.frame(id=7, method="roots/list"))
    assert driver.do(E.Served(first, 7, ANSWER)) == []
    assert len(driver.machine.conversation.duties) == 1


@pytest.mark.parametrize("method", ["roots/list", "no/such", "ping"])
def test_a_request_that_is_taken_back_too_late_ends_no_call_of_ours(method: str) -> None:
    driver = Driver(offer=Offer(roots=True)).to(State.READY, OLD)
    id_ = driver.call("ann")
    driver.hear(toy.frame(id=id_, method=method))
    assert driver.machine.wire is not None
    driver.do(E.Served(driver.machine.wire, id_, ANSWER))
    driver.hear(toy.news("notifications/cancelled", requestId=id_))
    assert driver.outcomes() == {}


def test_ids_of_the_servers_requests_match_by_type() -> None:
    driver = Driver(offer=Offer(roots=True)).to(State.READY, OLD)
    driver.hear(toy.frame(id=1, method="roots/list"))
    driver.hear(toy.news("notifications/cancelled", requestId=True))
    assert len(driver.machine.conversation.duties) == 1


@pytest.mark.requirement("request:tombstones")
def test_the_end_of_a_stream_of_our_own_that_was_taken_back_is_a_late_answer() -> None:
    driver = modern()
    driver.listens.append(TOOLS)
    driver.do(E.NewsWanted())
    id_ = stream(driver)
    driver.hear(toy.acknowledged(id_, toolsListChanged=True))
    driver.listens.clear()
    driver.do(E.NewsWanted())
    driver.hear(toy.result(id_, {}))
    assert driver.all(Unmatched) == [Unmatched(id_, late=True)]


# Signs of life.


@pytest.mark.requirement("feature:ping")
def test_a_server_that_we_do_not_listen_to_is_not_called_silent() -> None:
    driver = Driver(block=True).to(State.READY)
    driver.do(E.LaneFilled())
    driver.hear(toy.news("notifications/message"))
    states = []
    events: list[E.Event] = [*[E.PulseDue()] * 9, E.LaneEased(), *[E.PulseDue()] * 4]
    for event in events:
        driver.do(event)
        states.append(driver.state)
    assert states == [State.READY] * 13 + [State.BACKOFF]


@pytest.mark.requirement("request:no-leak")
def test_a_server_that_never_answers_pings_does_not_make_us_remember_them_all() -> None:
    driver = Driver().to(State.READY)
    first = last = 0
    for _ in range(500):
        driver.do(E.PulseDue())
        last = stream(driver)
        first = first or last
        driver.hear(toy.news("notifications/message"))
        driver.do(E.PulseDue())
    driver.hear(toy.result(last, {}))
    assert driver.all(Unmatched) == []
    driver.hear(toy.result(first, {}))
    assert len(driver.all(Unmatched)) == 1


def test_a_retry_is_set_once_for_all_that_waits() -> None:
    driver = modern("a:1")
    driver.do(called("bob", UNSUBSCRIBE, uri="a:1"))
    busy(driver)
    assert [a.event for a in driver.actions if isinstance(a, SetTimer)] == [E.RetryDue(-1)]
