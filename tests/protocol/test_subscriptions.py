"""Subscriptions: one way for callers to say it, two ways to say it to a server; and what outlives a wire."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from mcp_actors.protocol import events as E
from mcp_actors.protocol.actions import CancelTimer, Missed, Send, SetTimer, Unmatched
from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.protocol.listening import Listening
from mcp_actors.protocol.offer import Offer
from mcp_actors.protocol.outcomes import BadAnswer, Completed, Lost, NotGranted, Rejected, TimedOut, Withdrawn
from mcp_actors.protocol.standing import Interests, Standing
from mcp_actors.protocol.states import State
from tests.protocol import toy_server as toy
from tests.protocol.driver import EOF, Driver

OLD, NEW = toy.LEGACY[0], toy.MODERN
TOOLS = "notifications/tools/list_changed"
DONE = Completed(Raw(b"{}"))

pytestmark = pytest.mark.requirement("feature:subscriptions")


def modern(**settings: Any) -> Driver:
    return Driver(**settings).to(State.READY, NEW)


def subscribed(*uris: str, **settings: Any) -> tuple[Driver, int]:
    """A client with open subscriptions; the id of their stream."""
    driver = modern(**settings)
    id_ = 0
    for uri in uris:
        id_ = driver.call(uri, "resources/subscribe", uri=uri)
        driver.hear(toy.acknowledged(id_, *wanted(driver)["resourceSubscriptions"]))
    return driver, id_


def wanted(driver: Driver) -> dict[str, Any]:
    """What the last stream asked for."""
    question = driver.question()
    assert question is not None
    assert question["method"] == "subscriptions/listen"
    found: dict[str, Any] = question["params"]["notifications"]
    return found


def taken_back(driver: Driver) -> list[int]:
    return [
        message["params"]["requestId"]
        for message in driver.sent()
        if message["method"] == "notifications/cancelled"
    ]


def reconnected(driver: Driver, version: str) -> Driver:
    """Over a loss to the point where everything is to be agreed anew."""
    driver.lose()
    driver.do(E.StateExpired())
    driver.open()
    driver.introduce(version)
    return driver


# Callers.


def test_a_subscription_of_the_stateless_era_is_a_stream_and_done_when_it_is_acknowledged() -> None:
    driver = modern()
    id_ = driver.call("ann", "resources/subscribe", uri="a:1")
    assert wanted(driver) == {"resourceSubscriptions": ["a:1"]}
    assert driver.outcomes() == {}
    driver.hear(toy.acknowledged(id_, "a:1"))
    assert driver.outcomes() == {"ann": DONE}
    assert list(driver.standing.uris) == ["a:1"]


@pytest.mark.parametrize("method", ["resources/subscribe", "resources/unsubscribe"])
def test_in_the_handshake_era_it_is_said_as_it_is(method: str) -> None:
    driver = Driver().to(State.READY, OLD)
    id_ = driver.call("ann", method, uri="a:1")
    assert driver.sent()[-1]["method"] == method
    driver.hear(toy.result(id_, {}))
    assert list(driver.standing.uris) == (["a:1"] if method == "resources/subscribe" else [])


def test_a_refusal_of_the_handshake_era_is_the_callers_and_nothing_lasts() -> None:
    driver = Driver().to(State.READY, OLD)
    driver.hear(toy.error(driver.call("ann", "resources/subscribe", uri="a:1"), -32602))
    assert isinstance(driver.outcomes()["ann"], Rejected)
    assert driver.standing.uris == {}


def test_a_second_subscription_replaces_the_stream_once_it_is_acknowledged() -> None:
    driver, first = subscribed("a:1")
    second = driver.call("bob", "resources/subscribe", uri="a:2")
    assert wanted(driver) == {"resourceSubscriptions": ["a:1", "a:2"]}
    assert taken_back(driver) == []
    driver.hear(toy.acknowledged(second, "a:1", "a:2"))
    assert driver.outcomes() == {"bob": DONE}
    assert taken_back(driver) == [first]


def test_who_subscribes_at_the_same_time_is_served_by_the_newest_stream() -> None:
    driver = modern()
    first = driver.call("ann", "resources/subscribe", uri="a:1")
    second = driver.call("bob", "resources/subscribe", uri="a:2")
    assert wanted(driver) == {"resourceSubscriptions": ["a:1", "a:2"]}
    driver.hear(toy.acknowledged(second, "a:1", "a:2"))
    assert driver.outcomes() == {"ann": DONE, "bob": DONE}
    assert taken_back(driver) == [first]
    driver.hear(toy.acknowledged(first, "a:1"))
    assert driver.outcomes() == {}


def test_what_was_not_granted_is_an_error_of_that_caller_alone() -> None:
    driver = modern()
    driver.call("ann", "resources/subscribe", uri="a:1")
    second = driver.call("bob", "resources/subscribe", uri="a:2")
    driver.hear(toy.acknowledged(second, "a:1"))
    assert driver.outcomes()["ann"] == DONE
    assert driver.outcomes()["bob"] == NotGranted("a:2")
    assert list(driver.standing.uris) == ["a:1"]


def test_an_acknowledgement_that_says_nothing_grants_everything() -> None:
    driver = modern()
    id_ = driver.call("ann", "resources/subscribe", uri="a:1")
    meta = {"io.modelcontextprotocol/subscriptionId": id_}
    driver.hear(toy.news("notifications/subscriptions/acknowledged", _meta=meta))
    assert driver.outcomes() == {"ann": DONE}


@pytest.mark.parametrize("meta", [None, {}, {"io.modelcontextprotocol/subscriptionId": "2"}])
def test_an_acknowledgement_of_nothing_we_asked_for_is_only_news(meta: Any) -> None:
    driver = modern()
    driver.call("ann", "resources/subscribe", uri="a:1")
    driver.hear(toy.news("notifications/subscriptions/acknowledged", _meta=meta, notifications={}))
    assert driver.outcomes() == {}


def test_subscribing_twice_costs_nothing() -> None:
    driver, _ = subscribed("a:1")
    driver.do(E.Called("bob", "resources/subscribe", b'{"uri":"a:1"}', b"{}", 9.0))
    assert driver.sent() == []
    assert driver.outcomes() == {"bob": DONE}


def test_the_last_to_unsubscribe_ends_the_stream_without_a_new_one() -> None:
    driver, id_ = subscribed("a:1")
    driver.do(E.Called("bob", "resources/unsubscribe", b'{"uri":"a:1"}', b"{}", 9.0))
    assert taken_back(driver) == [id_]
    assert driver.outcomes() == {"bob": DONE}
    assert driver.standing.uris == {}


def test_unsubscribing_from_one_of_two_narrows_the_stream() -> None:
    driver, first = subscribed("a:1", "a:2")
    second = driver.call("bob", "resources/unsubscribe", uri="a:1")
    assert wanted(driver) == {"resourceSubscriptions": ["a:2"]}
    driver.hear(toy.acknowledged(second, "a:2"))
    assert driver.outcomes() == {"bob": DONE}
    assert taken_back(driver) == [first]
    assert list(driver.standing.uris) == ["a:2"]


def test_a_refused_subscription_leaves_everything_as_it_was() -> None:
    driver, _ = subscribed("a:1")
    id_ = driver.call("bob", "resources/subscribe", uri="a:2")
    driver.hear(toy.error(id_, -32602))
    assert isinstance(driver.outcomes()["bob"], Rejected)
    driver.call("cid", "resources/subscribe", uri="a:3")
    assert wanted(driver) == {"resourceSubscriptions": ["a:1", "a:3"]}


def test_a_refused_unsubscription_leaves_the_subscription() -> None:
    driver, _ = subscribed("a:1", "a:2")
    id_ = driver.call("bob", "resources/unsubscribe", uri="a:2")
    driver.hear(toy.error(id_, -32603))
    driver.call("cid", "resources/subscribe", uri="a:3")
    assert wanted(driver) == {"resourceSubscriptions": ["a:1", "a:2", "a:3"]}


def test_a_result_without_an_acknowledgement_is_no_subscription() -> None:
    driver = modern()
    id_ = driver.call("ann", "resources/subscribe", uri="a:1")
    driver.hear(toy.result(id_, {}))
    assert isinstance(driver.outcomes()["ann"], BadAnswer)
    assert driver.standing.uris == {}


def test_a_subscription_that_is_never_acknowledged_times_out_and_is_taken_back() -> None:
    driver = modern()
    id_ = driver.call("ann", "resources/subscribe", uri="a:1")
    driver.do(E.RequestExpired(id_))
    assert driver.outcomes() == {"ann": TimedOut(9.0)}
    assert taken_back(driver) == [id_]
    driver.call("bob", "resources/subscribe", uri="a:2")
    assert wanted(driver) == {"resourceSubscriptions": ["a:2"]}


def test_a_caller_may_give_up() -> None:
    driver = modern()
    driver.call("ann", "resources/subscribe", uri="a:1")
    driver.do(E.CancelAsked("ann", "enough"))
    assert driver.outcomes() == {"ann": Withdrawn("caller", "enough")}


def test_a_loss_ends_what_was_not_acknowledged() -> None:
    driver = modern()
    driver.call("ann", "resources/subscribe", uri="a:1")
    driver.lose()
    assert driver.outcomes() == {"ann": Lost(EOF, "unknown")}
    assert driver.standing.uris == {}


def test_a_server_that_offers_no_subscriptions_is_asked_as_it_was_said() -> None:
    driver = Driver().to(State.INITIALIZING)
    answer = {"supportedVersions": [NEW], "capabilities": {"resources": {}}}
    driver.hear(toy.result(1, answer))
    driver.call("ann", "resources/subscribe", uri="a:1")
    assert driver.sent()[-1]["method"] == "resources/subscribe"


# Listeners.


def test_a_listener_for_lists_makes_a_stream_and_waits_for_it_before_anything_else() -> None:
    driver = Driver(listens=[TOOLS]).to(State.READY, NEW)
    assert driver.is_in(State.INITIALIZING)
    assert wanted(driver) == {"toolsListChanged": True}
    question = driver.question()
    assert question is not None
    driver.hear(toy.acknowledged(question["id"], toolsListChanged=True))
    assert driver.is_in(State.READY)


def test_a_stream_that_is_never_acknowledged_does_not_hold_up_the_connection() -> None:
    driver = Driver(listens=[TOOLS]).to(State.READY, NEW)
    assert driver.timers()[E.ProbeExpired()] == 3.0
    driver.do(E.ProbeExpired())
    assert driver.is_in(State.READY)
    assert CancelTimer(E.ProbeExpired()) in driver.actions


def test_a_stream_that_is_refused_does_not_hold_up_the_connection_either() -> None:
    driver = Driver(listens=[TOOLS]).to(State.READY, NEW)
    question = driver.question()
    assert question is not None
    driver.hear(toy.news("notifications/message", level="info", data="hello"))
    assert driver.is_in(State.INITIALIZING)
    driver.hear(toy.error(question["id"], -32601))
    assert driver.is_in(State.READY)
    assert driver.all(Unmatched) == []


def test_what_the_server_does_not_offer_is_not_listened_for() -> None:
    driver = Driver(listens=["notifications/prompts/list_changed", "notifications/message"])
    assert driver.to(State.READY, NEW).state is State.READY


def test_in_the_handshake_era_nobody_has_to_listen() -> None:
    driver = Driver(listens=[TOOLS]).to(State.READY, OLD)
    assert driver.is_in(State.READY)
    assert driver.do(E.NewsWanted()) == []


def test_a_listener_who_comes_later_is_heard_at_once_and_one_who_leaves_too() -> None:
    driver = modern()
    driver.listens.append(TOOLS)
    driver.do(E.NewsWanted())
    assert wanted(driver) == {"toolsListChanged": True}
    (send,) = driver.all(Send)
    assert isinstance(send, Send)
    id_ = json.loads(send.frame)["id"]
    assert driver.do(E.NewsWanted()) == []
    driver.hear(toy.acknowledged(id_, toolsListChanged=True))
    driver.listens.clear()
    driver.do(E.NewsWanted())
    assert taken_back(driver) == [id_]


def test_a_stream_that_a_busy_wire_refused_is_offered_again_until_it_is_taken() -> None:
    driver = modern()
    driver.listens.append(TOOLS)
    driver.do(E.NewsWanted())
    (send,) = driver.all(Send)
    assert isinstance(send, Send)
    assert send.token is not None
    for _ in range(5):
        driver.do(E.SendRefused(send.token, send.frame))
        (timer,) = driver.all(SetTimer)
        assert isinstance(timer, SetTimer)
        driver.do(timer.event)
        assert driver.all(Send) == [send]
    driver.do(E.SendRefused(send.token, send.frame))
    driver.lose()
    assert CancelTimer(E.RetryDue(send.token)) in driver.actions
    assert driver.do(E.RetryDue(send.token)) == []


# Ends.


@pytest.mark.parametrize("how", ["result", "error", "cancelled"])
def test_a_stream_that_the_server_ends_is_opened_again_after_a_while_and_listeners_are_told(how: str) -> None:
    driver, id_ = subscribed("a:1")
    ways = {
        "result": toy.result(id_, {"resultType": "complete"}),
        "error": toy.error(id_, -32603),
        "cancelled": toy.news("notifications/cancelled", requestId=id_),
    }
    driver.hear(ways[how])
    assert driver.all(Missed) == [Missed("the server ended the subscription")]
    assert driver.timers() == {E.ListenDue(): 1.0}
    assert driver.all(Unmatched) == []
    driver.do(E.ListenDue())
    assert wanted(driver) == {"resourceSubscriptions": ["a:1"]}
    question = driver.question()
    assert question is not None
    driver.hear(toy.acknowledged(question["id"], "a:1"))
    assert driver.all(Missed) == [Missed("the subscription began anew")]
    driver.call("bob", "resources/subscribe", uri="a:2")
    driver.hear(toy.acknowledged(driver.sent()[-1]["id"], "a:1", "a:2"))
    assert driver.all(Missed) == []


def test_a_server_that_keeps_ending_streams_is_asked_less_and_less_often() -> None:
    driver, id_ = subscribed("a:1")
    delays = []
    for _ in range(4):
        driver.hear(toy.result(id_, {}))
        delays.append(driver.timers()[E.ListenDue()])
        driver.do(E.ListenDue())
        question = driver.question()
        assert question is not None
        id_ = question["id"]
        driver.hear(toy.acknowledged(id_, "a:1"))
    assert delays == [1.0, 2.0, 4.0, 8.0]


def test_the_end_of_a_stream_that_was_taken_back_is_a_late_answer() -> None:
    driver, first = subscribed("a:1")
    second = driver.call("bob", "resources/subscribe", uri="a:2")
    driver.hear(toy.acknowledged(second, "a:1", "a:2"))
    driver.hear(toy.result(first, {}))
    assert driver.all(Unmatched) == [Unmatched(first, late=True)]
    assert driver.all(Missed) == []


# What outlives the wire.


@pytest.mark.requirement("connection:recover")
def test_after_a_loss_everything_is_subscribed_to_again_before_the_connection_is_ready_stateless() -> None:
    driver, _ = subscribed("a:1", "a:2")
    reconnected(driver, NEW)
    assert driver.is_in(State.INITIALIZING)
    assert wanted(driver) == {"resourceSubscriptions": ["a:1", "a:2"]}
    question = driver.question()
    assert question is not None
    driver.hear(toy.acknowledged(question["id"], "a:1", "a:2"))
    assert driver.is_in(State.READY)
    assert driver.all(Missed) == [Missed("the connection was lost")]


@pytest.mark.requirement("connection:recover")
def test_after_a_loss_level_and_subscriptions_are_renewed_before_the_connection_is_ready_handshake() -> None:
    driver = Driver().to(State.READY, OLD)
    for method, params in (("resources/subscribe", {"uri": "a:1"}), ("logging/setLevel", {"level": "info"})):
        driver.hear(toy.result(driver.call("ann", method, **params), {}))
    reconnected(driver, OLD)
    asked = []
    while driver.is_in(State.INITIALIZING):
        question = driver.question()
        assert question is not None
        asked.append((question["method"], question["params"]))
        driver.hear(toy.result(question["id"], {}))
    assert asked == [("logging/setLevel", {"level": "info"}), ("resources/subscribe", {"uri": "a:1"})]
    assert driver.all(Missed) == [Missed("the connection was lost")]


@pytest.mark.requirement("connection:recover")
def test_a_subscription_that_cannot_be_renewed_is_said_to_be_lost() -> None:
    driver = Driver().to(State.READY, OLD)
    driver.hear(toy.result(driver.call("ann", "resources/subscribe", uri="a:1"), {}))
    driver.hear(toy.result(driver.call("ann", "logging/setLevel", level="info"), {}))
    reconnected(driver, OLD)
    for _ in range(2):
        question = driver.question()
        assert question is not None
        driver.hear(toy.error(question["id"], -32603))
    assert driver.is_in(State.READY)
    assert driver.all(Missed) == [Missed("the connection was lost", ("a:1",))]
    assert driver.standing.uris == {}


@pytest.mark.requirement("connection:recover")
def test_a_server_that_comes_back_in_the_other_era_is_asked_in_its_way() -> None:
    driver, _ = subscribed("a:1")
    driver.lose()
    driver.do(E.StateExpired())
    driver.open()
    while (question := driver.question()) and question["method"] in ("server/discover", "initialize"):
        driver.hear(toy.introductions(question["id"], question["method"], OLD)[0])
    assert question is not None
    assert (question["method"], question["params"]) == ("resources/subscribe", {"uri": "a:1"})


@pytest.mark.requirement("connection:recover")
@pytest.mark.parametrize(("offer", "told"), [(Offer(roots=True), True), (Offer(), False)])
def test_after_a_loss_the_server_is_told_to_look_at_the_roots_again(offer: Offer, told: bool) -> None:
    driver = Driver(offer=offer).to(State.READY, OLD)
    first = [message["method"] for message in driver.sent()]
    assert "notifications/roots/list_changed" not in first
    reconnected(driver, OLD)
    assert driver.is_in(State.READY)
    assert ("notifications/roots/list_changed" in [m["method"] for m in driver.sent()]) is told


def test_the_first_connection_misses_nothing() -> None:
    assert Driver().to(State.READY, OLD).all(Missed) == []
    assert modern().all(Missed) == []


@pytest.mark.requirement("connection:recover")
def test_a_server_that_no_longer_offers_something_is_not_asked_for_it() -> None:
    driver = Driver().to(State.READY, OLD)
    driver.hear(toy.result(driver.call("ann", "resources/subscribe", uri="a:1"), {}))
    driver.hear(toy.result(driver.call("ann", "logging/setLevel", level="info"), {}))
    driver.lose()
    driver.do(E.StateExpired())
    driver.open()
    question = driver.question()
    assert question is not None
    driver.hear(
        toy.result(question["id"], {"protocolVersion": OLD, "capabilities": {}, "serverInfo": {"name": "x"}})
    )
    assert driver.is_in(State.READY)


# The streams by themselves.


STEPS = st.sampled_from(("propose", "acknowledge", "end", "refuse", "close"))


@given(st.lists(st.tuples(STEPS, st.integers(0, 5))))
def test_at_most_one_stream_is_open_and_every_other_is_taken_back_or_proposed(
    steps: list[tuple[str, int]],
) -> None:
    listening = Listening(Standing())
    listening.begin()
    asked = 0
    gone: set[int] = set()
    for step, n in steps:
        proposed = [id_ for id_ in range(1, asked + 1) if listening.proposes(id_)]
        pick = proposed[n % len(proposed)] if proposed else 0
        if step == "propose":
            asked += 1
            listening.propose(asked, Interests(uris=(str(asked),)))
        elif step == "acknowledge" and pick:
            gone |= set(listening.acknowledge(pick))
            assert pick in listening.streams
            assert all(other >= pick for other in listening.streams)
        elif step == "end":
            open_ = [id_ for id_ in listening.streams if not listening.proposes(id_)]
            gone |= set(open_)
            assert listening.end(open_[0]) if open_ else not listening.end(n)
        elif step == "refuse" and pick:
            listening.refuse(pick)
            gone.add(pick)
        elif step == "close":
            gone |= set(listening.close())
            assert listening.newest == Interests()
        assert set(listening.streams) == set(range(1, asked + 1)) - gone
        assert len([id_ for id_ in listening.streams if not listening.proposes(id_)]) <= 1


def test_interests_know_whether_there_are_any() -> None:
    assert not Interests()
    assert Interests(frozenset({"toolsListChanged"}))
    both = Interests(frozenset({"toolsListChanged"}), ("a",))
    assert json.loads(both.params) == {
        "notifications": {"toolsListChanged": True, "resourceSubscriptions": ["a"]}
    }


def test_an_ending_that_is_no_streams_is_not_ours() -> None:
    driver, _ = subscribed("a:1")
    driver.hear(toy.result(True, {}))
    assert driver.all(Missed) == []
    driver.lose(Ending(EndKind.EXIT, "gone"))
    assert CancelTimer(E.ListenDue()) in driver.actions


@pytest.mark.requirement("feature:logging")
def test_a_chosen_level_goes_along_with_each_request_or_is_told_to_an_older_server() -> None:
    driver = modern()
    driver.standing.choose_level("alert")
    driver.call()
    meta = driver.sent()[-1]["params"]["_meta"]
    assert meta["io.modelcontextprotocol/logLevel"] == "alert"
    driver.do(E.Called("bob", "tools/call", b"{}", b"{}", 9.0, session=True))
    assert driver.sent()[-1]["params"]["_meta"]["session_id"] == driver.machine.wire
