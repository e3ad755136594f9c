"""The repair matrix of the client machine, row by row, and the flow of frames while it is ready."""

from __future__ import annotations

import pytest
from msgspec import Raw

from mcp_actors.protocol import events as E
from mcp_actors.protocol import jsonrpc
from mcp_actors.protocol.actions import (
    CancelTimer,
    CloseWire,
    Dispatch,
    Permit,
    Scan,
    SetTimer,
    Unmatched,
    Violation,
)
from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.protocol.outcomes import BadAnswer, Completed, Crowded, Lost, Ready, Rejected, TimedOut
from mcp_actors.protocol.states import State
from tests.protocol import toy_server as toy
from tests.protocol.driver import EOF, Driver

ANSWER = jsonrpc.Answer(99, Raw(b"{}"))
LARGE = "x" * 200_000


# The repair matrix.


@pytest.mark.requirement("error:matrix")
@pytest.mark.requirement("request:lost")
@pytest.mark.parametrize("kind", list(EndKind))
def test_a_lost_wire_fails_every_call_at_once_and_backs_off(kind: EndKind) -> None:
    driver = Driver().to(State.READY)
    driver.call("ann")
    driver.call("bob")
    ending = Ending(kind, "over", unsent=frozenset({driver.machine.conversation.pending.id_of("bob") or 0}))
    driver.lose(ending)
    assert driver.state is State.BACKOFF
    assert driver.outcomes() == {"ann": Lost(ending, "unknown"), "bob": Lost(ending, "not_sent")}
    assert driver.all(Permit) == []
    assert driver.sent() == []
    assert driver.machine.callers() == []


@pytest.mark.requirement("error:matrix")
@pytest.mark.parametrize("frame", [b"\xff", b"[]", b"{}", toy.frame(id=True, result=1)])
def test_a_bad_frame_is_counted_and_nothing_else_changes(frame: bytes) -> None:
    driver = Driver().to(State.READY)
    driver.call()
    driver.hear(frame)
    assert [type(action) for action in driver.actions] == [Violation, Permit]
    assert (driver.state, driver.machine.callers()) == (State.READY, ["ann"])


@pytest.mark.requirement("error:matrix")
def test_a_bad_answer_fails_its_own_call() -> None:
    driver = Driver().to(State.READY)
    driver.hear(toy.frame(id=driver.call(), result=1, error={}))
    assert isinstance(driver.outcomes()["ann"], BadAnswer)


@pytest.mark.requirement("error:matrix")
def test_a_servers_error_reaches_the_caller_and_the_connection_stays() -> None:
    driver = Driver().to(State.READY)
    driver.hear(toy.error(driver.call(), -32601))
    assert isinstance(driver.outcomes()["ann"], Rejected)
    assert driver.state is State.READY


@pytest.mark.requirement("error:matrix")
@pytest.mark.requirement("request:tombstones")
@pytest.mark.requirement("request:unknown-id")
def test_an_answer_to_nobody_is_dropped_late_or_not() -> None:
    driver = Driver().to(State.READY)
    id_ = driver.call()
    driver.do(E.RequestExpired(id_))
    assert driver.outcomes() == {"ann": TimedOut(9.0)}
    assert driver.hear(toy.result(id_, {})) == [Unmatched(id_, late=True), Permit(1)]
    assert driver.hear(toy.result(99, {})) == [Unmatched(99, late=False), Permit(1)]


@pytest.mark.requirement("error:matrix")
@pytest.mark.parametrize("frame", [toy.error(2, -32603), toy.initialized(2, "1999-01-01"), toy.result(2, 7)])
def test_a_failed_handshake_closes_the_wire_and_backs_off(frame: bytes) -> None:
    driver = Driver().to(State.INITIALIZING)
    driver.do(E.ProbeExpired())
    driver.hear(toy.news("notifications/message"), frame, toy.news("notifications/message"))
    assert driver.state is State.BACKOFF
    assert driver.all(CloseWire) == [CloseWire(1)]
    assert driver.all(Permit) == []
    (dispatch,) = driver.all(Dispatch)
    assert isinstance(dispatch, Dispatch)
    assert len(dispatch.notifications) == 1


@pytest.mark.requirement("error:matrix")
@pytest.mark.requirement("request:busy")
def test_a_busy_wire_is_offered_the_frame_three_times_and_then_the_call_fails() -> None:
    driver = Driver().to(State.READY)
    id_ = driver.call()
    for _ in range(2):
        driver.do(E.SendRefused(id_, b"{}"), E.RetryDue(id_))
    driver.do(E.SendRefused(id_, b"{}"))
    assert driver.outcomes() == {"ann": Crowded(3)}
    assert driver.state is State.READY


@pytest.mark.requirement("error:matrix")
def test_a_frame_that_failed_to_go_out_fails_its_call_and_the_wires_end_follows() -> None:
    driver = Driver().to(State.READY)
    driver.do(E.SendFailed(driver.call(), EOF))
    assert driver.outcomes() == {"ann": Lost(EOF, "not_sent")}
    assert driver.state is State.READY
    driver.lose()
    assert (driver.state, driver.outcomes()) == (State.BACKOFF, {})


@pytest.mark.requirement("connection:unavailable")
def test_who_waits_while_the_wires_end_is_still_to_come_waits_for_the_next_wire() -> None:
    driver = Driver().to(State.READY)
    driver.do(E.SendFailed(driver.call(), EOF))
    driver.do(E.Awaited("ben", 9.0))
    assert "ben" not in driver.outcomes()
    driver.lose()
    driver.do(E.StateExpired())
    driver.open()
    driver.introduce()
    assert driver.outcomes()["ben"] == Ready()
    driver.do(E.Awaited("eve", 9.0))
    assert driver.outcomes()["eve"] == Ready()


# Frames that are large, and lanes that are full.


@pytest.mark.requirement("flow:decode-offload")
def test_a_large_frame_is_scanned_elsewhere_and_the_order_is_kept() -> None:
    driver = Driver().to(State.READY)
    id_ = driver.call()
    large = toy.result(id_, LARGE)
    driver.hear(large, toy.news("a"))
    assert driver.actions == [Scan(1, 0, large), Permit(1)]
    driver.hear(toy.news("b"))
    assert driver.actions == [Permit(1)]
    driver.do(E.Scanned(1, 0, jsonrpc.scan(large)))
    assert isinstance(driver.outcomes()["ann"], Completed)
    (dispatch,) = driver.all(Dispatch)
    assert isinstance(dispatch, Dispatch)
    assert [item.method for item in dispatch.notifications] == ["a", "b"]


@pytest.mark.requirement("flow:decode-offload")
def test_a_large_answer_may_end_the_handshake_and_with_it_what_was_held() -> None:
    driver = Driver(protocol="2024-11-05").to(State.INITIALIZING)
    large = toy.error(1, -32603, LARGE)
    driver.hear(large, toy.news("a"))
    driver.do(E.Scanned(1, 0, jsonrpc.scan(large)))
    assert driver.state is State.BACKOFF
    assert driver.all(Dispatch) == []
    assert driver.do(E.Scanned(1, 1, ANSWER)) == []


@pytest.mark.requirement("flow:slow-handler")
def test_a_full_lane_pauses_the_reader_once_and_then_sheds_until_it_eases() -> None:
    driver = Driver().to(State.READY)
    assert driver.do(E.LaneFilled()) == [SetTimer(E.PauseOver(), 0.25)]
    assert driver.hear() == []
    assert driver.do(E.PauseOver()) == [CancelTimer(E.PauseOver()), Permit(1)]
    assert driver.do(E.LaneFilled()) == []
    assert driver.do(E.LaneEased()) == [CancelTimer(E.PauseOver())]
    assert driver.do(E.LaneFilled()) == [SetTimer(E.PauseOver(), 0.25)]


@pytest.mark.requirement("flow:slow-handler")
def test_with_block_the_reader_waits_for_the_lane_however_long() -> None:
    driver = Driver(block=True).to(State.READY)
    assert driver.do(E.LaneFilled()) == []
    assert driver.hear() == []
    assert driver.do(E.LaneEased()) == [CancelTimer(E.PauseOver()), Permit(1)]


def test_a_lane_that_eases_before_the_wire_is_open_grants_nothing() -> None:
    driver = Driver().to(State.BACKOFF)
    driver.do(E.StateExpired())
    assert driver.do(E.LaneEased()) == [CancelTimer(E.PauseOver())]
    driver.open()
    assert driver.all(Permit) == [Permit(1)]
