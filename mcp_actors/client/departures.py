"""Departures: blocked callers who send their requests themselves, over a wire that lends."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from mcp_actors.client.loans import Fetching
from mcp_actors.protocol.envelope import Envelopes
from mcp_actors.protocol.events import Called, Departed, NewsWanted
from mcp_actors.protocol.outcomes import CallOutcome
from mcp_actors.protocol.standing import LASTING, Standing
from mcp_actors.runtime.ref import Ref
from mcp_actors.runtime.slot import WorkSlot
from mcp_actors.transports.actor import Link

#: Callers who need not wait for the connection could fill its mailbox faster than it is emptied.
_MOST_WAITING = 64


@dataclass(frozen=True, slots=True)
class Departures:
    """Of one ready connection. Any thread may use it.

    Nothing is lost by setting out before the machine knows: the wire counts the exchange before it is told
    of, and the wire's end is told after that. Whatever becomes of the wire meanwhile, the machine finds the
    request, or finds that its wire is over; either way it answers the caller.
    """

    connection: Ref
    link: Link
    envelopes: Envelopes
    standing: Standing
    ids: Iterator[int]
    # News that the connection has not asked the server for yet.
    _wanted: dict[int, NewsWanted] = field(default_factory=dict)

    def hold(self, wanted: NewsWanted) -> None:
        """Somebody began to listen, and the connection is about to be told: who calls now comes after it."""
        self._wanted[id(wanted)] = wanted

    def go_on(self, wanted: NewsWanted) -> None:
        """The connection has asked for the news, or will not hear of them. Once or twice is the same."""
        self._wanted.pop(id(wanted), None)

    def depart(self, called: Called, slot: WorkSlot[CallOutcome]) -> Departed | None:
        """Give the slot's waiter the exchange to run. What the connection is to be told before it is run;
        None: nothing was done, and it is the connection's to send.
        """
        # What outlasts a call must not succeed for the caller and fail for the machine.
        if called.method in LASTING or self._wanted or self.connection.mailbox_depth > _MOST_WAITING:
            return None
        lend, wire = self.link.lend, self.link.wire
        assert lend is not None
        id_ = next(self.ids)
        frame = self.envelopes.call(id_, called, self.standing.level)
        loan = lend(frame, id_)
        if loan is None:
            return None
        try:
            if not loan.enter():
                return None
            slot.give(Fetching(loan, slot, self.connection, wire, id_))
        except BaseException:
            # An interrupt: nobody is going to run it.
            loan.stop()
            raise
        return Departed(called.caller, id_, wire, called.method, frame, called.seconds, time.monotonic())
