"""Fetching: a request whose exchange is run by the thread that waits for the answer."""

from __future__ import annotations

from mcp_actors.protocol import jsonrpc
from mcp_actors.protocol.events import AnswerFetched
from mcp_actors.protocol.outcomes import CallOutcome, Completed, Rejected
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.ref import Ref
from mcp_actors.runtime.slot import WorkSlot
from mcp_actors.transports.contract import Loan


class Fetching:
    """The work of one caller's slot.

    The caller takes the answer it fetched, unless the machine has decided otherwise before; the machine is
    told in any case. Exactly one of the two sets the slot.
    """

    __slots__ = ("_connection", "_id", "_loan", "_slot", "_wire", "stop")

    def __init__(self, loan: Loan, slot: WorkSlot[CallOutcome], connection: Ref, wire: int, id_: int) -> None:
        self._loan = loan
        self._slot = slot
        self._connection = connection
        self._wire = wire
        self._id = id_
        self.stop = loan.stop

    def run(self, deadline: Deadline) -> None:
        """Fetch the answer. The caller's thread."""
        frame = self._loan.run(deadline)
        if frame is None:
            return
        message = jsonrpc.scan(frame)
        outcome = _outcome(message, self._id)
        if outcome is not None:
            self._slot.settle(outcome)
        self._connection.tell(AnswerFetched(self._wire, frame, message))


def _outcome(message: jsonrpc.Message, id_: int) -> CallOutcome | None:
    """What the machine is going to say to this message; None if only the machine knows."""
    if type(message) is jsonrpc.Answer and message.id == id_:
        return Completed(message.result)
    if type(message) is jsonrpc.Failure and message.id == id_:
        return Rejected(message.error)
    return None
