"""Getting to know a server: what is remembered of its era, and the listings asked again after a loss."""

from __future__ import annotations

import pytest

from mcp_actors.protocol import events as E
from mcp_actors.protocol.actions import Agreed, CancelTimer, Open, Relisted, Transition, Unmatched
from mcp_actors.protocol.outcomes import Parked
from mcp_actors.protocol.states import State
from tests.protocol import toy_server as toy
from tests.protocol.driver import EOF, Driver

OLD, NEW = toy.LEGACY[0], toy.MODERN


def method(driver: Driver) -> str:
    question = driver.question()
    return question["method"] if question is not None else ""


def reopened(driver: Driver) -> Driver:
    """Over the backoff to the next open wire."""
    driver.do(E.StateExpired())
    driver.open()
    return driver


# Eras.


@pytest.mark.requirement("negotiation:era")
def test_a_silent_server_is_initialized_and_its_late_answer_dropped() -> None:
    driver = Driver().to(State.INITIALIZING)
    driver.do(E.ProbeExpired())
    assert [message["method"] for message in driver.sent()] == ["initialize"]
    driver.hear(toy.discovered(1, NEW))
    assert Unmatched(1, late=True) in driver.actions
    driver.hear(toy.initialized(2, OLD))
    assert driver.state is State.READY
    (agreed,) = driver.all(Agreed)
    assert isinstance(agreed, Agreed)
    assert agreed.agreement.revision.version == OLD


@pytest.mark.requirement("negotiation:era")
def test_an_answer_stops_the_probes_timer() -> None:
    driver = Driver().to(State.INITIALIZING)
    driver.hear(toy.error(1, -32601))
    assert driver.actions[0] == CancelTimer(E.ProbeExpired())
    assert method(driver) == "initialize"


def test_a_probes_timer_that_comes_too_late_does_nothing() -> None:
    opening = Driver(ever_ready=True).to(State.BACKOFF)
    opening.do(E.StateExpired())
    assert opening.do(E.ProbeExpired()) == []
    asking = Driver().to(State.INITIALIZING)
    asking.do(E.ProbeExpired())
    assert asking.do(E.ProbeExpired()) == []
    relisting = Driver().to(State.READY)
    relisting.call(method="tools/list")
    relisting.lose()
    reopened(relisting).introduce()
    assert relisting.do(E.ProbeExpired()) == []


@pytest.mark.requirement("negotiation:era")
def test_a_server_that_dies_on_the_probe_is_opened_again_at_once_and_initialized() -> None:
    driver = Driver().to(State.INITIALIZING)
    driver.lose()
    assert driver.all(Transition) == []
    assert driver.all(Open) == [Open(2)]
    assert driver.timers()[E.StateExpired()] == 10.0
    driver.open()
    assert method(driver) == "initialize"
    assert E.ProbeExpired() not in driver.timers()
    driver.introduce()
    assert driver.state is State.READY


@pytest.mark.requirement("negotiation:era")
def test_where_every_question_is_answered_silence_and_hanging_up_tell_nothing_about_the_era() -> None:
    silent = Driver(silence_tells_era=False).to(State.INITIALIZING)
    assert E.ProbeExpired() not in silent.timers()
    assert silent.do(E.ProbeExpired()) == []
    silent.do(E.StateExpired())
    gone = Driver(silence_tells_era=False).to(State.INITIALIZING)
    gone.lose()
    for driver in (silent, gone):
        assert driver.state is State.BACKOFF
        assert method(reopened(driver)) == "server/discover"


@pytest.mark.requirement("connection:park")
def test_a_server_that_dies_on_everything_is_parked() -> None:
    driver = Driver(max_failed_starts=1).to(State.INITIALIZING)
    driver.do(E.Awaited("ann", 9.0))
    driver.lose()
    assert driver.state is State.BACKOFF
    assert driver.outcomes() == {"ann": Parked(1, EOF)}
    assert driver.timers().keys() <= {E.SweepDue()}


def test_a_server_that_dies_on_initialize_too_backs_off_and_is_probed_again() -> None:
    driver = Driver().to(State.INITIALIZING)
    driver.lose()
    driver.open()
    driver.lose()
    assert driver.state is State.BACKOFF
    assert method(reopened(driver)) == "server/discover"


@pytest.mark.parametrize("protocol", [OLD, NEW])
def test_a_client_of_one_revision_backs_off_when_the_server_dies_on_its_question(protocol: str) -> None:
    driver = Driver(protocol=protocol).to(State.INITIALIZING)
    driver.lose()
    assert driver.state is State.BACKOFF


@pytest.mark.requirement("negotiation:era")
@pytest.mark.parametrize(("version", "first"), [(OLD, "initialize"), (NEW, "server/discover")])
def test_the_era_is_remembered_for_the_next_wire(version: str, first: str) -> None:
    driver = Driver().to(State.READY, version)
    driver.lose()
    assert method(reopened(driver)) == first


@pytest.mark.requirement("negotiation:era")
def test_an_era_that_no_longer_fits_is_forgotten() -> None:
    driver = Driver().to(State.READY, OLD)
    driver.lose()
    reopened(driver).lose()
    assert method(reopened(driver)) == "server/discover"


def test_a_known_modern_server_that_dies_on_the_probe_backs_off() -> None:
    driver = Driver().to(State.READY, NEW)
    driver.lose()
    reopened(driver).lose()
    assert driver.state is State.BACKOFF


@pytest.mark.requirement("negotiation:versions")
@pytest.mark.parametrize("version", [NEW, *toy.LEGACY])
def test_every_revision_can_be_agreed_on(version: str) -> None:
    driver = Driver().to(State.READY, version)
    assert driver.state is State.READY
    assert driver.machine.conversation.agreement is not None
    assert driver.machine.conversation.agreement.revision.version == version


# Listings.


def relisting() -> Driver:
    """A client that had listed tools and prompts, on its second wire."""
    driver = Driver().to(State.READY)
    driver.call("ann", "tools/list")
    driver.call("bob", "prompts/list")
    driver.lose()
    reopened(driver).introduce()
    return driver


@pytest.mark.requirement("connection:recover")
def test_after_a_loss_listings_are_asked_again_before_the_connection_is_ready() -> None:
    driver = relisting()
    methods = []
    while driver.state is State.INITIALIZING:
        question = driver.question()
        assert question is not None
        methods.append(question["method"])
        driver.hear(toy.result(question["id"], {}))
        (page,) = driver.all(Relisted)
        assert isinstance(page, Relisted)
        assert page.method == methods[-1]
    assert driver.state is State.READY
    assert methods == ["prompts/list", "tools/list"]


@pytest.mark.requirement("connection:recover")
def test_pages_are_followed_and_a_refused_listing_is_skipped() -> None:
    driver = relisting()
    question = driver.question()
    assert question is not None
    driver.hear(toy.result(question["id"], {"nextCursor": "b"}))
    question = driver.question()
    assert question is not None
    assert question["params"]["cursor"] == "b"
    driver.hear(toy.error(question["id"], -32601))
    assert driver.all(Relisted) == []
    assert method(driver) == "tools/list"
    assert driver.state is State.INITIALIZING


@pytest.mark.requirement("connection:recover")
def test_a_relisting_that_takes_too_long_backs_off() -> None:
    driver = relisting()
    driver.do(E.StateExpired())
    assert driver.state is State.BACKOFF


@pytest.mark.requirement("request:ids")
def test_ids_go_on_over_all_wires_and_questions() -> None:
    driver = relisting()
    question = driver.question()
    assert question is not None
    assert question["id"] > 4
    driver.hear(toy.result("1", {}), toy.error(None, -1))
    assert driver.state is State.INITIALIZING
