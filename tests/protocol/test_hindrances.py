"""Requests that are held back on their way, by a login for instance; and people who break that off."""

from __future__ import annotations

import pytest

from mcp_actors.protocol import events as E
from mcp_actors.protocol.actions import BreakOff, CloseWire, Open, Send
from mcp_actors.protocol.endings import BROKEN_OFF, Ending, EndKind
from mcp_actors.protocol.outcomes import Completed, Lost, NotReady, Parked, TimedOut, Withdrawn
from mcp_actors.protocol.states import State
from tests.protocol import toy_server as toy
from tests.protocol.driver import REFUSED, Driver

pytestmark = pytest.mark.requirement("security:oauth")

LOGIN = Ending(EndKind.UNAUTHORIZED, "the login is open", passing=True, person=True)
LOOKING = Ending(EndKind.UNAUTHORIZED, "the token is being renewed", passing=True)


def hold(driver: Driver, id_: int, hindrance: Ending | None = LOGIN, wire: int | None = None) -> None:
    number = driver.machine.wire if wire is None else wire
    assert number is not None
    driver.do(E.ExchangeHeld(number, id_, hindrance))
    assert driver.actions == []


def introduced_slowly(*waiting: str, ever_ready: bool = False) -> Driver:
    """The first question of the handshake waits for a login, and callers wait for the handshake."""
    driver = Driver(ever_ready=ever_ready, silence_tells_era=False).to(State.INITIALIZING)
    hold(driver, 1)
    driver.do(*(E.Awaited(caller, 9.0) for caller in waiting))
    return driver


def interrupted(driver: Driver, caller: str) -> None:
    driver.do(E.CancelAsked(caller, E.INTERRUPTED))


@pytest.mark.requirement("request:timeout")
def test_a_deadline_that_passes_names_what_held_the_request_back() -> None:
    driver = Driver().to(State.READY)
    first, second = driver.call("ann"), driver.call("bob")
    hold(driver, first)
    driver.do(E.RequestExpired(first))
    assert driver.outcomes() == {"ann": TimedOut(9.0, LOGIN)}
    driver.do(E.RequestExpired(second))
    assert driver.outcomes() == {"bob": TimedOut(9.0)}


def test_a_request_that_goes_on_is_held_back_by_nothing() -> None:
    driver = Driver().to(State.READY)
    id_ = driver.call("ann")
    hold(driver, id_)
    hold(driver, id_, None)
    driver.do(E.RequestExpired(id_))
    assert driver.outcomes() == {"ann": TimedOut(9.0)}


def test_what_an_earlier_wire_or_nobody_says_holds_nobody_back() -> None:
    driver = Driver().to(State.READY)
    id_ = driver.call("ann")
    hold(driver, id_, wire=99)
    hold(driver, 77)
    driver.do(E.RequestExpired(id_))
    assert driver.outcomes() == {"ann": TimedOut(9.0)}


def test_an_answer_is_an_answer_whatever_held_its_request_back() -> None:
    driver = Driver().to(State.READY)
    id_ = driver.call("ann")
    hold(driver, id_)
    driver.hear(toy.result(id_, {}))
    assert isinstance(driver.outcomes()["ann"], Completed)


def test_whoever_waits_for_the_handshake_hears_what_holds_that_back() -> None:
    driver = introduced_slowly("ann", "bob")
    driver.do(E.WaitExpired("ann", 9.0))
    assert driver.outcomes() == {"ann": TimedOut(9.0, LOGIN)}
    hold(driver, 1, None)
    driver.do(E.WaitExpired("bob", 9.0))
    assert driver.outcomes() == {"bob": TimedOut(9.0)}


@pytest.mark.requirement("connection:park")
def test_a_login_that_outlasts_a_try_is_no_failed_start() -> None:
    driver = Driver(silence_tells_era=False, max_failed_starts=1).to(State.INITIALIZING)
    for question in range(1, 4):
        hold(driver, question)
        driver.do(E.Awaited("ann", 9.0), E.StateExpired())
        assert driver.is_in(State.BACKOFF)
        assert driver.outcomes() == {}
        # Also between the tries.
        driver.do(E.WaitExpired("ann", 9.0))
        assert driver.outcomes() == {"ann": TimedOut(9.0, LOGIN)}
        driver.do(E.StateExpired())
        driver.open()
    hold(driver, 4, LOOKING)
    driver.do(E.StateExpired())
    assert driver.machine.attempts.parked


@pytest.mark.requirement("request:cancel-caller")
def test_an_interrupt_breaks_off_what_the_request_waits_for() -> None:
    driver = Driver().to(State.READY)
    first, second = driver.call("ann"), driver.call("bob")
    hold(driver, first)
    interrupted(driver, "bob")
    assert driver.all(BreakOff) == []
    driver.do(E.Called("cas", "ping", b"{}", b"{}", 9.0))
    hold(driver, second + 1)
    interrupted(driver, "ann")
    assert driver.all(BreakOff) == [BreakOff()]
    assert driver.outcomes() == {"ann": Withdrawn("caller", E.INTERRUPTED)}
    assert driver.machine.wire is not None
    driver.do(E.ExchangeLost(driver.machine.wire, second + 1, BROKEN_OFF, "not_sent"))
    assert driver.outcomes() == {"cas": Lost(BROKEN_OFF, "not_sent")}
    assert driver.is_in(State.READY)


def test_only_an_interrupt_does() -> None:
    driver = Driver().to(State.READY)
    hold(driver, driver.call("ann"))
    driver.do(E.CancelAsked("ann", "cancelled by the caller"))
    assert driver.all(BreakOff) == []


@pytest.mark.requirement("request:cancel-caller")
@pytest.mark.parametrize("ever_ready", [False, True])
def test_an_interrupt_of_a_login_in_the_handshake_answers_all_and_nobody_tries_again_unasked(
    ever_ready: bool,
) -> None:
    driver = introduced_slowly("ann", "bob", ever_ready=ever_ready)
    interrupted(driver, "ann")
    assert driver.all(BreakOff) == [BreakOff()]
    assert driver.all(CloseWire) == [CloseWire(1)]
    assert driver.outcomes() == {
        "ann": Withdrawn("caller", E.INTERRUPTED),
        "bob": Parked(0, BROKEN_OFF),
    }
    assert driver.is_in(State.BACKOFF)
    assert driver.timers() == {E.SweepDue(): 60.0}


@pytest.mark.requirement("connection:unavailable")
def test_whoever_calls_after_that_begins_anew() -> None:
    driver = introduced_slowly("ann")
    interrupted(driver, "ann")
    driver.do(E.Awaited("bob", 9.0))
    assert driver.all(Open) == [Open(2)]
    assert driver.outcomes() == {}
    assert driver.is_in(State.INITIALIZING)

    driver = introduced_slowly("ann", ever_ready=True)
    interrupted(driver, "ann")
    driver.do(E.Called("bob", "ping", b"{}", b"{}", 9.0))
    assert driver.outcomes() == {"bob": NotReady("backoff", BROKEN_OFF)}
    assert driver.all(Open) == [Open(2)]

    driver = introduced_slowly("ann", ever_ready=True)
    interrupted(driver, "ann")
    calls = tuple(E.Called(name, "ping", b"{}", b"{}", 9.0) for name in ("bob", "cas"))
    driver.do(E.CalledTogether(calls))
    assert driver.outcomes() == {name: NotReady("backoff", BROKEN_OFF) for name in ("bob", "cas")}
    assert driver.all(Open) == [Open(2)]
    assert driver.is_in(State.INITIALIZING)


def test_an_interrupt_of_one_who_waits_for_a_slow_server_harms_nobody() -> None:
    driver = Driver(silence_tells_era=False).to(State.INITIALIZING)
    driver.do(E.Awaited("ann", 9.0), E.Awaited("bob", 9.0))
    interrupted(driver, "ann")
    assert driver.outcomes() == {"ann": Withdrawn("caller", E.INTERRUPTED)}
    assert driver.is_in(State.INITIALIZING)
    assert driver.all(Send) == []


def test_a_login_that_another_client_broke_off_leaves_this_one_at_rest() -> None:
    driver = introduced_slowly("ann")
    driver.do(E.ExchangeLost(1, 1, BROKEN_OFF, "not_sent"))
    assert driver.outcomes() == {"ann": Parked(0, BROKEN_OFF)}
    driver.do(E.Begun())
    assert driver.all(Open) == [Open(2)]
    driver.lose(REFUSED)
    assert not driver.machine.attempts.parked
