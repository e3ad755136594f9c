"""Callers who send their requests themselves: when they may, and what is left when they do not."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from mcp_actors.client.departures import Departures
from mcp_actors.protocol import events as E
from mcp_actors.protocol.envelope import Envelopes, Identity
from mcp_actors.protocol.outcomes import CallOutcome, Stopped
from mcp_actors.protocol.revisions import NEWEST
from mcp_actors.protocol.standing import LASTING, Standing
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.slot import WorkSlot
from mcp_actors.transports.actor import Link

pytestmark = pytest.mark.requirement("request:one-outcome")


class Lender:
    """A wire that lends, and the connection over it."""

    def __init__(self, *, lends: bool = True, enters: bool = True) -> None:
        self.lends, self.enters = lends, enters
        self.mailbox_depth = 0
        self.frames: list[bytes] = []
        self.stopped = 0
        self.interrupted = False

    def lend(self, frame: bytes, _token: int) -> Lender | None:
        self.frames.append(frame)
        return self if self.lends else None

    def enter(self) -> bool:
        if self.interrupted:
            raise KeyboardInterrupt
        return self.enters

    def run(self, _deadline: Deadline) -> bytes | None:
        return None

    def stop(self) -> None:
        self.stopped += 1

    def departures(self, standing: Standing | None = None) -> Departures:
        unused: Any = None
        link = Link(3, unused, unused, unused, unused, self.lend)
        connection: Any = self
        envelopes = Envelopes(NEWEST, Identity({"name": "client"}))
        return Departures(connection, link, envelopes, standing or Standing(), itertools.count(7))


def called(slot: WorkSlot[CallOutcome], method: str = "tools/call") -> E.Called:
    return E.Called(slot, method, b'{"name":"echo"}', b"{}", 9.0)


def test_whoever_departs_tells_what_is_sent_and_over_which_wire() -> None:
    lender, slot = Lender(), WorkSlot[CallOutcome]()
    departed = lender.departures().depart(called(slot), slot)
    assert departed is not None
    assert (departed.caller, departed.id, departed.wire, departed.seconds) == (slot, 7, 3, 9.0)
    assert [departed.frame] == lender.frames
    assert json.loads(departed.frame)["params"]["name"] == "echo"
    slot.set(Stopped())
    assert lender.stopped == 1


@pytest.mark.requirement("feature:logging")
def test_the_level_of_the_moment_goes_along() -> None:
    lender, slot, standing = Lender(), WorkSlot[CallOutcome](), Standing()
    departures = lender.departures(standing)
    standing.choose_level("error")
    departures.depart(called(slot), slot)
    assert b'"error"' in lender.frames[0]


@pytest.mark.parametrize("method", sorted(LASTING))
def test_what_lasts_beyond_the_call_is_the_connections_to_send(method: str) -> None:
    lender, slot = Lender(), WorkSlot[CallOutcome]()
    assert lender.departures().depart(called(slot, method), slot) is None
    assert lender.frames == []


@pytest.mark.requirement("flow:mailbox-bound")
@pytest.mark.parametrize(("waiting", "departs"), [(64, True), (65, False)])
def test_nobody_runs_ahead_of_a_connection_that_does_not_keep_up(waiting: int, departs: bool) -> None:
    lender, slot = Lender(), WorkSlot[CallOutcome]()
    lender.mailbox_depth = waiting
    assert (lender.departures().depart(called(slot), slot) is not None) == departs


@pytest.mark.parametrize("why", ["lends", "enters"])
def test_where_the_wire_does_not_lend_nothing_is_done(why: str) -> None:
    lender, slot = Lender(**{why: False}), WorkSlot[CallOutcome]()
    assert lender.departures().depart(called(slot), slot) is None
    slot.set(Stopped())
    assert lender.stopped == 0


def test_an_interrupt_leaves_nothing_behind() -> None:
    lender, slot = Lender(), WorkSlot[CallOutcome]()
    lender.interrupted = True
    with pytest.raises(KeyboardInterrupt):
        lender.departures().depart(called(slot), slot)
    assert lender.stopped == 1


def test_who_calls_after_somebody_began_to_listen_waits_until_the_news_are_asked_for() -> None:
    lender, slot = Lender(), WorkSlot[CallOutcome]()
    departures, first, second = lender.departures(), E.NewsWanted(), E.NewsWanted()
    departures.hold(first)
    departures.hold(second)
    for asked in (first, first, E.NewsWanted()):
        departures.go_on(asked)
        assert departures.depart(called(slot), slot) is None
    departures.go_on(second)
    assert departures.depart(called(slot), slot) is not None
