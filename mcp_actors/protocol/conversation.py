"""Calls and answers over a working wire: ids, deadlines, cancellation, progress, what the server asks.

It knows nothing of states. The machine tells it what happened; it appends actions to a list they share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, assert_never

from msgspec import Raw

from mcp_actors.protocol import codec, jsonrpc
from mcp_actors.protocol.actions import (
    Action,
    CancelTimer,
    Dispatch,
    Progress,
    Reply,
    Send,
    SetTimer,
    Unmatched,
    Violation,
)
from mcp_actors.protocol.agreement import Agreement
from mcp_actors.protocol.backoff import spread
from mcp_actors.protocol.endings import Ending
from mcp_actors.protocol.envelope import Envelopes
from mcp_actors.protocol.events import (
    Called,
    RequestExpired,
    RetryDue,
    SendFailed,
    SendRefused,
    SweepDue,
)
from mcp_actors.protocol.outcomes import (
    BadAnswer,
    CallOutcome,
    Completed,
    Crowded,
    Lost,
    Rejected,
    Stopped,
    TimedOut,
    Withdrawn,
)
from mcp_actors.protocol.pending import Caller, Flight, Pending
from mcp_actors.protocol.policy import Policy
from mcp_actors.protocol.recovery import LISTINGS
from mcp_actors.protocol.revisions import Era
from mcp_actors.protocol.tombstones import Tombstones

_PROGRESS: Final = "notifications/progress"
_CANCELLED: Final = "notifications/cancelled"


class Conversation:
    """The requests of one client, over however many wires."""

    def __init__(
        self, policy: Policy, ids: Iterator[int], random: Callable[[], float], out: list[Action]
    ) -> None:
        self._policy = policy
        self._ids = ids
        self._random = random
        self._out = out
        self._news: list[jsonrpc.Notification] = []
        self.pending = Pending()
        self.tombstones = Tombstones(policy.tombstone_ttl, policy.sweep_every)
        self.listed: set[str] = set()
        self.agreement: Agreement | None = None
        self.envelopes: Envelopes | None = None

    def agree(self, agreement: Agreement) -> None:
        """A handshake succeeded: from now on frames look as its revision wants them."""
        self.agreement = agreement
        self.envelopes = Envelopes(agreement.revision, self._policy.identity)

    # Callers.

    def call(self, event: Called) -> None:
        """Send a caller's request."""
        assert self.envelopes is not None
        id_ = next(self._ids)
        self.pending.add(Flight(id_, event.caller, event.method, event.seconds, event.progress))
        frame = self.envelopes.request(id_, event.method, event.params, event.meta, progress=event.progress)
        if event.method in LISTINGS:
            self.listed.add(event.method)
        self._out.append(SetTimer(RequestExpired(id_), event.seconds))
        self._out.append(Send(frame, id_))

    def notify(self, method: str, params: bytes | None) -> None:
        """Send a notification; a busy wire may drop it."""
        assert self.envelopes is not None
        self._out.append(Send(self.envelopes.notification(method, params), None))

    def cancel(self, caller: Caller, reason: str) -> None:
        """A caller gave up. Doing it twice is doing it once."""
        id_ = self.pending.id_of(caller)
        if id_ is not None:
            self._give_up(id_, reason, Withdrawn("caller", reason))

    def expire(self, id_: int) -> None:
        """A caller's deadline passed."""
        flight = self.pending.get(id_)
        if flight is not None:
            self._give_up(id_, "timeout", TimedOut(flight.seconds))

    def _give_up(self, id_: int, reason: str, outcome: CallOutcome) -> None:
        assert self.envelopes is not None
        flight = self.pending.take(id_)
        assert flight is not None
        # A frame that was never written needs no taking back.
        if flight.refused is None:
            self._out.append(Send(self.envelopes.cancellation(id_, reason), None))
        self._end(flight, outcome, bury=True)

    def _end(self, flight: Flight, outcome: CallOutcome, *, bury: bool) -> None:
        """The one place where a call that left the table gets its answer."""
        self._out.append(CancelTimer(RequestExpired(flight.id)))
        if flight.refused is not None:
            self._out.append(CancelTimer(RetryDue(flight.id)))
        if bury:
            self._bury(flight.id)
        self._out.append(Reply(flight.caller, outcome))

    def _bury(self, id_: int) -> None:
        if not self.tombstones:
            self._out.append(SetTimer(SweepDue(), self._policy.sweep_every))
        self.tombstones.bury(id_)

    def bury(self, id_: int) -> None:
        """An id of the handshake's own that nobody waits for any more."""
        self._bury(id_)

    def sweep(self) -> None:
        """Forget old tombstones; go on while some are left."""
        self.tombstones.sweep()
        if self.tombstones:
            self._out.append(SetTimer(SweepDue(), self._policy.sweep_every))

    # The wire's verdicts.

    def refused(self, event: SendRefused) -> None:
        """The wire was busy: offer the frame again a little later, a few times."""
        flight = self.pending.get(event.token)
        if flight is None:
            return
        if flight.attempts >= self._policy.send_attempts:
            self.pending.take(flight.id)
            self._end(flight, Crowded(flight.attempts), bury=False)
            return
        flight.refused = event.frame
        delay = spread(self._policy.send_delay, self._policy.send_jitter, self._random)
        self._out.append(SetTimer(RetryDue(flight.id), delay))

    def retry(self, id_: int) -> None:
        """Offer a refused frame again."""
        flight = self.pending.get(id_)
        if flight is not None and flight.refused is not None:
            frame, flight.refused = flight.refused, None
            flight.attempts += 1
            self._out.append(Send(frame, id_))

    def failed(self, event: SendFailed) -> None:
        """The wire was gone before this frame; the wire's own end is still to come."""
        flight = self.pending.take(event.token)
        if flight is not None:
            self._end(flight, Lost(event.ending, "not_sent"), bury=False)

    def lose(self, ending: Ending) -> None:
        """The wire ended: every call ends with it, and none is repeated."""
        for flight in self.pending.take_all():
            unsent = flight.refused is not None or flight.id in ending.unsent
            self._end(flight, Lost(ending, "not_sent" if unsent else "unknown"), bury=True)

    def stop(self) -> None:
        """The client is being closed: every call ends now."""
        for flight in self.pending.take_all():
            self._end(flight, Stopped(), bury=True)
        self._out.append(CancelTimer(SweepDue()))

    # The server's messages.

    def receive(self, message: jsonrpc.Message) -> None:
        """Route one message. Notifications are gathered; `flush` sends them on."""
        match message:
            case jsonrpc.Answer(id_, result):
                self._answer(id_, Completed(result))
            case jsonrpc.Notification():
                self._hear(message)
            case jsonrpc.Failure(id_, error):
                self._answer(id_, Rejected(error))
            case jsonrpc.Request():
                self._serve(message)
            case jsonrpc.Malformed(reason, id_):
                self._out.append(Violation("malformed", reason))
                if id_ is not None and self.pending.get(id_) is not None:
                    self._answer(id_, BadAnswer(reason))
            case jsonrpc.Batch(messages):
                self._unpack(messages)
            case _:
                assert_never(message)

    def flush(self) -> None:
        """Hand over the notifications gathered so far, after the answers."""
        if self._news:
            self._out.append(Dispatch(tuple(self._news)))
            self._news.clear()

    def _answer(self, id_: jsonrpc.Id | None, outcome: CallOutcome) -> None:
        flight = self.pending.take(id_)
        if flight is None:
            self._out.append(Unmatched(id_, id_ in self.tombstones))
        else:
            self._end(flight, outcome, bury=False)

    def _unpack(self, messages: tuple[jsonrpc.Single, ...]) -> None:
        if self.agreement is None or not self.agreement.revision.has_batching:
            self._out.append(Violation("batch", "an array outside revision 2025-03-26"))
            return
        for message in messages:
            self.receive(message)

    def _hear(self, message: jsonrpc.Notification) -> None:
        if message.method == _PROGRESS:
            self._progress(message)
        elif message.method == _CANCELLED:
            self._cancelled(message)
        else:
            self._news.append(message)

    def _progress(self, message: jsonrpc.Notification) -> None:
        params = _object(message.params)
        flight = self.pending.get(params.get("progressToken"))
        # Progress of a call that ended, or that never asked for it, is nobody's news.
        if flight is None:
            return
        if flight.progress:
            self._out.append(Progress(flight.caller, params))
        self._news.append(message)

    def _cancelled(self, message: jsonrpc.Notification) -> None:
        params = _object(message.params)
        flight = self.pending.take(params.get("requestId"))
        if flight is not None:
            reason = params.get("reason")
            withdrawn = Withdrawn("server", reason if isinstance(reason, str) else "")
            self._end(flight, withdrawn, bury=True)
        self._news.append(message)

    def _serve(self, message: jsonrpc.Request) -> None:
        if message.method == "initialize":
            self._out.append(Violation("server-initialize", "the server sent initialize"))
        if self.agreement is not None and self.agreement.revision.era is Era.STATELESS:
            # MCP 2026-07-28, basic: servers send no requests and clients write no responses.
            self._out.append(Violation("server-request", f"the server sent {message.method[:80]}"))
        elif message.method == "ping":
            self._out.append(Send(jsonrpc.result_frame(message.id), None))
        else:
            refusal = f"this client does not serve {message.method[:80]}"
            self._out.append(Send(jsonrpc.error_frame(message.id, jsonrpc.METHOD_NOT_FOUND, refusal), None))


def _object(params: Raw | None) -> dict[str, Any]:
    try:
        value = codec.decode(params) if params is not None else None
    except codec.DecodeFailed:
        return {}
    return value if isinstance(value, dict) else {}
