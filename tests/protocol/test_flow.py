"""When the wire may deliver again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_actors.protocol.envelope import Identity
from mcp_actors.protocol.flow import Flow
from mcp_actors.protocol.jsonrpc import Malformed
from mcp_actors.protocol.policy import Policy

IDENTITY = Identity({})


def flow(*, window: int = 1) -> Flow:
    return Flow(Policy(identity=IDENTITY, window=window, max_scanning=2, max_held_bytes=100))


@given(st.integers(1, 5), st.lists(st.booleans(), max_size=20))
def test_the_permits_out_never_exceed_the_window(window: int, deliveries: list[bool]) -> None:
    gate = flow(window=window)
    out = gate.grant()
    for delivered in deliveries:
        if delivered and out:
            gate.used()
            out -= 1
        else:
            out += gate.grant()
        assert 0 <= out == gate.outstanding <= window


def test_a_permit_is_granted_once_per_delivery() -> None:
    gate = flow()
    assert (gate.grant(), gate.grant()) == (1, 0)
    gate.used()
    assert (gate.grant(), gate.grant()) == (1, 0)


@pytest.mark.requirement("flow:slow-handler")
def test_a_full_lane_withholds_permits_until_it_eases() -> None:
    gate = flow()
    assert gate.pause()
    assert gate.grant() == 0
    gate.resume(shedding=False)
    assert gate.grant() == 1


@pytest.mark.requirement("flow:slow-handler")
def test_pausing_is_tried_once_until_the_lane_has_eased() -> None:
    gate = flow()
    assert gate.pause()
    assert not gate.pause()
    gate.resume(shedding=True)
    assert not gate.pause()
    assert gate.grant() == 1
    gate.resume(shedding=False)
    assert gate.pause()


@pytest.mark.requirement("flow:decode-offload")
def test_permits_are_withheld_while_enough_frames_are_scanned() -> None:
    gate = flow()
    places = [gate.arrivals.reserve(10), gate.arrivals.reserve(10)]
    assert gate.grant() == 0
    gate.arrivals.fill(places[0], Malformed(""))
    assert gate.grant() == 1


@pytest.mark.requirement("flow:decode-offload")
def test_permits_are_withheld_while_too_many_bytes_are_held() -> None:
    gate = flow()
    place = gate.arrivals.reserve(101)
    assert gate.grant() == 0
    gate.arrivals.fill(place, Malformed(""))
    gate.arrivals.pop()
    assert gate.grant() == 1


def test_a_new_wire_starts_without_permits_and_without_anything_held() -> None:
    gate = flow()
    gate.grant()
    gate.pause()
    gate.resume(shedding=True)
    gate.pause()
    gate.arrivals.reserve(101)
    gate.restart()
    assert (gate.outstanding, gate.paused, gate.shedding, len(gate.arrivals)) == (0, False, True, 0)
    assert gate.grant() == 1
