"""Requests in flight, found by id or caller."""

from __future__ import annotations

import pytest

from mcp_actors.protocol.pending import Flight, Pending


@pytest.fixture
def pending() -> Pending:
    pending = Pending()
    for id_, caller in ((1, "ann"), (2, "bob")):
        pending.add(Flight(id_, caller, "ping", 5.0, False))
    return pending


@pytest.mark.requirement("request:one-outcome")
def test_a_flight_is_taken_once(pending: Pending) -> None:
    flight = pending.take(1)
    assert flight is not None
    assert flight.caller == "ann"
    assert pending.take(1) is None
    assert pending.id_of("ann") is None
    assert len(pending) == 1


@pytest.mark.requirement("request:ids")
@pytest.mark.parametrize("id_", [True, 1.0, "1", None, [1]])
def test_an_id_of_another_type_finds_nothing(pending: Pending, id_: object) -> None:
    assert pending.get(id_) is None
    assert pending.take(id_) is None
    assert len(pending) == 2


def test_flights_are_found_by_caller_and_iterated_oldest_first(pending: Pending) -> None:
    assert pending.id_of("bob") == 2
    assert pending.get(2) is not None
    assert [flight.id for flight in pending] == [1, 2]


@pytest.mark.requirement("request:no-leak")
def test_taking_all_leaves_nothing(pending: Pending) -> None:
    assert [flight.id for flight in pending.take_all()] == [1, 2]
    assert len(pending) == 0
    assert pending.id_of("ann") is None
