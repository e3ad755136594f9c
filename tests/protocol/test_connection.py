"""The client machine: its table is total, every arrow and cell is walked; opening, waiting, stopping."""

from __future__ import annotations

from typing import get_args

import pytest
from msgspec import Raw

from mcp_actors.protocol import events as E
from mcp_actors.protocol import jsonrpc
from mcp_actors.protocol.actions import (
    Action,
    CancelTimer,
    CloseWire,
    Halt,
    Open,
    Permit,
    Reply,
    SetTimer,
    Transition,
)
from mcp_actors.protocol.connection import TABLE
from mcp_actors.protocol.endings import Ending
from mcp_actors.protocol.outcomes import (
    NotReady,
    Parked,
    Ready,
    Stopped,
    TimedOut,
    Withdrawn,
)
from mcp_actors.protocol.states import EDGES, State
from tests.protocol import toy_server as toy
from tests.protocol.driver import EOF, IMPOSSIBLE, REFUSED, Driver

ANSWER = jsonrpc.Answer(99, Raw(b"{}"))
LARGE = "x" * 200_000
TOGETHER = E.Called("ann", "ping", b"{}", b"{}", 9.0)

#: An event of each kind, and the cell that each state has for it, in the order of the states.
CELLS: tuple[tuple[E.Event, str], ...] = (
    (E.Begun(), "begin ignore ignore unpark ignore"),
    (E.Opened(1), "greet greet ignore ignore ignore"),
    (E.FramesArrived(1, ()), "ignore deliver deliver ignore ignore"),
    (E.Scanned(9, 0, ANSWER), "ignore scanned scanned ignore ignore"),
    (E.Closed(1, EOF), "lose lose lose ignore finish"),
    (E.SendRefused(99, b"{}"), "ignore refused refused ignore ignore"),
    (E.SendFailed(99, EOF), "ignore ignore failed ignore ignore"),
    (E.ExchangeLost(1, 99, EOF, "unknown"), "ignore lose_one lose_one ignore ignore"),
    (E.ExchangeHeld(1, 99, EOF), "ignore hold hold ignore ignore"),
    (E.NewsMissed(9, "the stream broke"), "ignore ignore miss ignore ignore"),
    (E.AnswerFetched(1, b"{}", jsonrpc.Malformed("no")), "ignore ignore settle ignore ignore"),
    (E.Called("ann", "ping", b"{}", b"{}", 9.0), "refuse refuse call refuse dismiss"),
    (E.Departed("ann", 99, 9, "ping", b"{}", 9.0), "strand strand depart strand dismiss"),
    (E.CalledTogether((TOGETHER,)), "refuse_all refuse_all call_together refuse_all dismiss_all"),
    (E.Awaited("ann", 9.0), "wait wait welcome wait dismiss"),
    (E.CancelAsked("ann", "enough"), "cancel cancel cancel cancel ignore"),
    (E.Notified("notifications/x", None), "ignore ignore notify ignore ignore"),
    (E.NewsWanted(), "ignore ignore listen ignore ignore"),
    (E.Served(1, 99, b"{}"), "ignore serve serve ignore ignore"),
    (E.StopAsked(), "close close close close ignore"),
    (E.LaneFilled(), "ignore pause pause ignore ignore"),
    (E.LaneEased(), "ease ease ease ease ignore"),
    (E.PauseOver(), "ignore ease ease ignore ignore"),
    (E.StateExpired(), "time_out time_out ignore open halt"),
    (E.ProbeExpired(), "ignore fall_back ignore ignore ignore"),
    (E.RequestExpired(99), "ignore ignore expire ignore ignore"),
    (E.RetryDue(99), "ignore retry retry ignore ignore"),
    (E.WaitExpired("ann", 9.0), "stop_waiting stop_waiting stop_waiting stop_waiting ignore"),
    (E.UptimeReached(), "ignore ignore prosper ignore ignore"),
    (E.PulseDue(), "ignore ignore feel_pulse ignore ignore"),
    (E.ListenDue(), "ignore ignore listen ignore ignore"),
    (E.SweepDue(), "sweep sweep sweep sweep ignore"),
)
#: Where a cell leads when it leads away, starting from the shortest way into each state.
MOVES = {
    (State.INITIALIZING, "lose"): State.INITIALIZING,  # it hung up on the probe: once more without
    (State.READY, "lose"): State.BACKOFF,
    (State.STARTING, "close"): State.CLOSING,
    (State.INITIALIZING, "close"): State.CLOSING,
    (State.READY, "close"): State.CLOSING,
    (State.BACKOFF, "close"): State.CLOSING,
    (State.STARTING, "time_out"): State.BACKOFF,
    (State.INITIALIZING, "time_out"): State.BACKOFF,
    (State.BACKOFF, "open"): State.INITIALIZING,
}
EVERY_CELL = [
    pytest.param(state, event, name, id=f"{state.value}-{type(event).__name__}-{name}")
    for event, row in CELLS
    for state, name in zip(State, row.split(), strict=True)
]


# The table.


@pytest.mark.requirement("connection:states")
def test_the_table_has_a_row_for_every_state_and_a_column_for_every_event() -> None:
    assert set(TABLE) == set(State) == set(EDGES)
    for row in TABLE.values():
        assert set(row) == set(get_args(E.Event)) == {type(event) for event, _ in CELLS}


def test_every_timer_is_an_event() -> None:
    assert set(get_args(E.Timer)) <= set(get_args(E.Event))


@pytest.mark.requirement("connection:states")
@pytest.mark.parametrize(("state", "event", "name"), EVERY_CELL)
def test_every_cell_is_the_one_intended_and_leads_where_it_should(
    state: State, event: E.Event, name: str
) -> None:
    driver = Driver().to(state)
    assert TABLE[state][type(event)].__name__ == name
    driver.do(event)
    assert driver.state is MOVES.get((state, name), state)
    if name == "ignore":
        assert driver.actions == []


@pytest.mark.requirement("connection:states")
def test_every_arrow_is_walked_and_announced_first() -> None:
    walked = {(state, state) for state in State}
    for state in State:
        for event, _ in CELLS:
            driver = Driver(protocol=toy.LEGACY[0]).to(state)
            if state is State.STARTING:
                driver.do(E.Begun())
            walked |= announced(driver, event)
        ready = Driver().to(State.INITIALIZING)
        ready.introduce()
        assert ready.all(Transition) == [Transition(State.INITIALIZING, State.READY, None)]
        walked.add((State.INITIALIZING, State.READY))
    assert walked == {(before, after) for before, afters in EDGES.items() for after in afters}


def announced(driver: Driver, event: E.Event) -> set[tuple[State, State]]:
    before = driver.state
    actions = driver.do(event)
    if driver.state is before:
        assert not driver.all(Transition)
        return set()
    move = actions[0]
    assert isinstance(move, Transition)
    assert actions[1] == CancelTimer(E.StateExpired())
    assert (move.before, move.after) == (before, driver.state)
    return {(before, driver.state)}


# Opening.


def test_beginning_opens_one_wire_under_a_deadline_however_often_it_is_asked() -> None:
    driver = Driver()
    assert driver.do(E.Begun()) == [Open(1), SetTimer(E.StateExpired(), 10.0)]
    assert driver.do(E.Begun()) == []


def test_an_open_wire_gets_its_permits_and_the_first_question() -> None:
    driver = Driver(window=3).to(State.INITIALIZING)
    assert driver.all(Permit) == [Permit(3)]
    assert driver.timers() == {E.StateExpired(): 10.0, E.ProbeExpired(): 3.0}
    assert [message["method"] for message in driver.sent()] == ["server/discover"]


@pytest.mark.requirement("connection:init-timeout")
@pytest.mark.parametrize("state", [State.STARTING, State.INITIALIZING])
def test_a_handshake_that_takes_too_long_closes_the_wire_and_backs_off(state: State) -> None:
    driver = Driver().to(state)
    if state is State.STARTING:
        driver.do(E.Begun())
    driver.do(E.StateExpired())
    assert driver.state is State.BACKOFF
    assert driver.all(CloseWire) == [CloseWire(1)]
    assert driver.machine.cause == TimedOut(10.0)
    assert driver.timers()[E.StateExpired()] == 1.0


@pytest.mark.requirement("connection:init-timeout")
@pytest.mark.parametrize("after", [State.STARTING, State.BACKOFF])
def test_the_time_to_open_a_wire_is_not_taken_from_its_handshake(after: State) -> None:
    driver = Driver().to(after)
    driver.do(E.Begun() if after is State.STARTING else E.StateExpired())
    assert SetTimer(E.StateExpired(), 10.0) in driver.open()


@pytest.mark.requirement("connection:backoff")
def test_backing_off_takes_longer_each_time_until_the_connection_has_stayed_up() -> None:
    driver = Driver(ever_ready=True)
    driver.do(E.Begun())
    delays = []
    for _ in range(7):
        driver.lose(REFUSED)
        (move,) = driver.all(Transition)
        assert isinstance(move, Transition)
        assert driver.timers() == {E.StateExpired(): move.delay}
        delays.append(move.delay)
        driver.do(E.StateExpired())
        assert driver.timers() == {E.StateExpired(): 10.0}
    assert delays == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]
    driver.open()
    driver.introduce()
    assert driver.timers() == {E.UptimeReached(): 30.0, E.PulseDue(): 30.0}
    driver.do(E.UptimeReached())
    driver.lose()
    assert driver.timers() == {E.StateExpired(): 1.0}


@pytest.mark.requirement("connection:park")
@pytest.mark.parametrize(("ending", "times"), [(REFUSED, 3), (IMPOSSIBLE, 1)])
def test_a_server_that_never_got_ready_is_parked_and_waiters_hear_why(ending: Ending, times: int) -> None:
    driver = Driver()
    driver.do(E.Awaited("ann", 60.0), E.Begun())
    for _ in range(times - 1):
        driver.lose(ending)
        driver.do(E.StateExpired())
    driver.lose(ending)
    assert driver.outcomes() == {"ann": Parked(times, ending)}
    assert driver.timers() == {}
    before = State.STARTING if times == 1 else State.INITIALIZING
    assert driver.all(Transition) == [Transition(before, State.BACKOFF, ending, None)]
    driver.do(E.Awaited("bob", 60.0))
    assert driver.outcomes() == {"bob": Parked(times, ending)}


@pytest.mark.requirement("connection:park")
def test_a_parked_connection_opens_again_when_somebody_begins() -> None:
    driver = Driver()
    driver.do(E.Begun())
    driver.lose(IMPOSSIBLE)
    driver.do(E.Begun())
    assert driver.state is State.INITIALIZING
    assert driver.all(Open) == [Open(2)]
    assert not driver.machine.attempts.parked


@pytest.mark.requirement("connection:park")
def test_beginning_does_not_shorten_an_ordinary_backoff() -> None:
    assert Driver().to(State.BACKOFF).do(E.Begun()) == []


# Callers outside of ready.


@pytest.mark.requirement("connection:unavailable")
@pytest.mark.parametrize("state", [State.STARTING, State.INITIALIZING, State.BACKOFF])
def test_a_call_while_not_ready_fails_at_once_and_names_the_state(state: State) -> None:
    driver = Driver().to(state)
    driver.do(E.Called("ann", "ping", b"{}", b"{}", 9.0))
    cause = REFUSED if state is State.BACKOFF else None
    assert driver.actions == [Reply("ann", NotReady(state.value, cause))]


@pytest.mark.requirement("connection:unavailable")
@pytest.mark.parametrize("state", [State.STARTING, State.INITIALIZING, State.BACKOFF])
def test_a_waiter_waits_inside_its_deadline(state: State) -> None:
    driver = Driver().to(state)
    assert driver.do(E.Awaited("ann", 9.0)) == [SetTimer(E.WaitExpired("ann", 9.0), 9.0)]
    assert driver.machine.callers() == ["ann"]
    assert driver.do(E.WaitExpired("ann", 9.0)) == [Reply("ann", TimedOut(9.0))]


def test_a_waiter_hears_when_the_connection_is_ready_or_is_told_at_once() -> None:
    driver = Driver().to(State.INITIALIZING)
    driver.do(E.Awaited("ann", 9.0))
    driver.actions = []
    driver.do(E.ProbeExpired())
    driver.introduce()
    assert driver.outcomes() == {"ann": Ready()}
    assert driver.do(E.Awaited("bob", 9.0)) == [Reply("bob", Ready())]


@pytest.mark.requirement("request:cancel-idempotent")
def test_a_waiter_or_caller_who_cancels_leaves_once_and_the_state_stays() -> None:
    waiting, calling = Driver().to(State.INITIALIZING), Driver().to(State.READY)
    waiting.do(E.Awaited("ann", 9.0))
    calling.call()
    for driver in (waiting, calling):
        before = driver.state
        driver.do(E.CancelAsked("ann", "enough"))
        assert driver.outcomes() == {"ann": Withdrawn("caller", "enough")}
        assert driver.do(E.CancelAsked("ann", "enough")) == []
        assert driver.state is before


def test_a_client_tells_the_server_something_only_when_ready() -> None:
    driver = Driver().to(State.READY)
    driver.do(E.Notified("notifications/x", b'{"a":1}'))
    assert [message["params"] for message in driver.sent()] == [{"a": 1}]


# Old wires.


@pytest.mark.requirement("connection:generation")
@pytest.mark.parametrize(
    "late",
    [
        E.Opened(1),
        E.FramesArrived(1, (toy.news("a"), toy.result(1, {}))),
        E.Scanned(1, 0, ANSWER),
        E.Closed(1, EOF),
    ],
)
def test_what_an_earlier_wire_still_says_does_nothing(late: E.Event) -> None:
    driver = Driver(ever_ready=True).to(State.READY)
    driver.lose()
    assert driver.do(late) == []
    driver.do(E.StateExpired())
    assert driver.do(late) == []
    driver.open()
    assert driver.do(late) == []
    driver.hear()
    driver.actions = []
    driver.do(E.StopAsked())
    assert driver.do(late) == []


# Stopping.


@pytest.mark.requirement("connection:stop")
def test_stopping_answers_everybody_closes_the_wire_and_halts_when_it_is_gone() -> None:
    driver = Driver().to(State.READY)
    driver.call()
    driver.do(E.StopAsked())
    assert driver.outcomes() == {"ann": Stopped()}
    assert driver.all(CloseWire) == [CloseWire(1)]
    assert driver.timers()[E.StateExpired()] == 8.0
    assert driver.do(E.StopAsked()) == []
    assert driver.do(E.Called("bob", "ping", b"{}", b"{}", 9.0)) == [Reply("bob", Stopped())]
    assert driver.do(E.Awaited("bob", 9.0)) == [Reply("bob", Stopped())]
    assert driver.lose() == [CancelTimer(E.StateExpired()), Halt()]


@pytest.mark.requirement("connection:stop")
@pytest.mark.parametrize("state", [State.STARTING, State.BACKOFF])
def test_stopping_without_a_wire_halts_at_once(state: State) -> None:
    driver = Driver().to(state)
    driver.do(E.StopAsked())
    assert driver.actions[-1] == Halt()
    assert driver.timers() == {}


@pytest.mark.requirement("connection:stop")
def test_a_wire_that_does_not_end_in_time_does_not_hold_up_the_halt_nor_repeat_it() -> None:
    driver = Driver().to(State.CLOSING)
    assert driver.do(E.StateExpired()) == [Halt()]
    assert driver.do(E.Closed(1, EOF)) == []


@pytest.mark.requirement("connection:stop")
def test_stopping_during_a_handshake_sends_no_cancellation() -> None:
    driver = Driver().to(State.CLOSING)
    assert driver.sent() == []
    assert CancelTimer(E.ProbeExpired()) in driver.actions


def test_what_a_cell_wanted_done_before_it_failed_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = Driver().to(State.READY)
    driver.call("ann")

    def fail(*_: object) -> None:
        raise RuntimeError

    assert driver.machine.unsaid == ()
    monkeypatch.setattr(driver.machine.attempts, "failed", fail)
    with pytest.raises(RuntimeError):
        driver.lose()
    unsaid: tuple[Action, ...] = driver.machine.unsaid
    assert [action.caller for action in unsaid if isinstance(action, Reply)] == ["ann"]
