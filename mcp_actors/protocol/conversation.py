"""Calls and answers over a working wire: ids, deadlines, cancellation, progress, what the server asks.

It knows nothing of states. The machine tells it what happened; it appends actions to a list they share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, assert_never

from msgspec import Raw

from mcp_actors.protocol import codec, jsonrpc
from mcp_actors.protocol.actions import (
    Action,
    CancelTimer,
    Dispatch,
    Missed,
    Progress,
    Reply,
    Send,
    SendTogether,
    SetTimer,
    Underway,
    Unmatched,
    Violation,
)
from mcp_actors.protocol.agreement import Agreement
from mcp_actors.protocol.backoff import spread
from mcp_actors.protocol.duties import Duties
from mcp_actors.protocol.endings import Ending
from mcp_actors.protocol.envelope import Envelopes
from mcp_actors.protocol.errands import Errands
from mcp_actors.protocol.events import (
    Called,
    CalledTogether,
    Departed,
    ExchangeLost,
    RequestExpired,
    RetryDue,
    SendFailed,
    SendRefused,
    SweepDue,
)
from mcp_actors.protocol.insistence import INSISTED, Insistence
from mcp_actors.protocol.listening import ACKNOWLEDGED
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
from mcp_actors.protocol.standing import LASTING, Standing
from mcp_actors.protocol.subscriptions import DONE, Subscriptions, verdict
from mcp_actors.protocol.tombstones import Tombstones

_PROGRESS: Final = "notifications/progress"
_CANCELLED: Final = "notifications/cancelled"
#: Calls that leave something behind when they succeed.
_REMEMBERED: Final = frozenset(LISTINGS) | frozenset(LASTING)


class Conversation:
    """The requests of one client, over however many wires."""

    def __init__(
        self,
        policy: Policy,
        ids: Iterator[int],
        random: Callable[[], float],
        out: list[Action],
        standing: Standing,
    ) -> None:
        self._policy = policy
        self._ids = ids
        self._random = random
        self._out = out
        self._news: list[jsonrpc.Notification] = []
        self._errands = Errands()
        self._insistence = Insistence(out)
        self.standing = standing
        self.duties = Duties(policy.max_duties, out)
        self.subscriptions = Subscriptions(policy, ids, random, standing, self._insistence, out)
        self.pending = Pending()
        self.tombstones = Tombstones(policy.tombstone_ttl, policy.sweep_every)
        self.agreement: Agreement | None = None
        self.envelopes: Envelopes | None = None

    def agree(self, agreement: Agreement, session: int = 0) -> None:
        """A handshake succeeded: from now on frames look as its revision wants them."""
        self.agreement = agreement
        self.envelopes = Envelopes(agreement.revision, self._policy.identity, session)
        self.duties.agree(agreement, self._policy.identity)
        self.subscriptions.agree(agreement, self.envelopes)

    # Callers.

    def call(self, event: Called) -> None:
        """Send a caller's request."""
        flight, frame = self._depart(event)
        if frame is not None:
            self._out.append(Send(frame, flight.id))

    def call_together(self, event: CalledTogether) -> None:
        """Send several requests: as one array where the revision has them, else one after the other."""
        assert self.agreement is not None
        if self.agreement.revision.has_batching and len(event.calls) > 1:
            departed = [self._depart(call) for call in event.calls]
            frames = [(flight.id, frame) for flight, frame in departed if frame is not None]
            self._out.append(SendTogether(tuple(frames)))
        else:
            for call in event.calls:
                self.call(call)

    def _depart(self, event: Called) -> tuple[Flight, bytes | None]:
        """Note a request; the frame to send, or None if it was answered without one."""
        assert self.envelopes is not None
        id_ = next(self._ids)
        flight = Flight(id_, event.caller, event.method, event.seconds, event.progress)
        self.pending.add(flight)
        self._out.append(SetTimer(RequestExpired(id_), event.seconds))
        if event.method in _REMEMBERED and self._remember(flight, event):
            return flight, self._subscribe(flight, event)
        return flight, self.envelopes.call(id_, event, self.standing.level)

    def depart(self, event: Departed) -> None:
        """Note a request that its caller sends: all the rest is as with any other."""
        self.pending.add(Flight(event.id, event.caller, event.method, event.seconds, progress=False))
        if event.method in LISTINGS:
            self.standing.listed.add(event.method)
        self._out.append(SetTimer(RequestExpired(event.id), event.seconds))
        self._out.append(Underway(event.frame, event.id, event.began))

    def _remember(self, flight: Flight, event: Called) -> bool:
        """Note what will last of this call; True if the revision has another way to say it."""
        if event.method in LISTINGS:
            self.standing.listed.add(event.method)
            return False
        subject = codec.decode_object(Raw(event.params)).get(LASTING[event.method])
        if not isinstance(subject, str):
            return False
        flight.subject = subject
        return self.subscriptions.translates(event.method)

    def _subscribe(self, flight: Flight, event: Called) -> bytes | None:
        assert flight.subject is not None
        frame = self.subscriptions.change(flight.id, event.method, flight.subject, event.meta)
        if frame is None:
            self._retire(self.subscriptions.close())
            self.pending.take(flight.id)
            self._end(flight, DONE, bury=False)
        return frame

    def listen(self) -> int | None:
        """Have one stream about what is wanted now; its id if it was asked for just now."""
        self._retire(self.subscriptions.close())
        return self.subscriptions.renew()

    def notify(self, method: str, params: bytes | None) -> None:
        """Send a notification; a busy wire may drop it."""
        assert self.envelopes is not None
        self._out.append(Send(self.envelopes.notification(method, params), None))

    def ask_for_life(self) -> None:
        """Ask the server for a sign of life. Whatever it says is one."""
        assert self.envelopes is not None
        id_ = next(self._ids)
        self._errands.add(id_)
        self._out.append(Send(self.envelopes.request(id_, "ping"), None))

    def serve(self, id_: jsonrpc.Id, frame: bytes) -> None:
        """Our answer to a request of the server's, if it still wants it."""
        if self.duties.finish(id_):
            self._insistence.send(frame)

    def cancel(self, caller: Caller, reason: str) -> None:
        """A caller gave up. Doing it twice is doing it once."""
        id_ = self.pending.id_of(caller)
        if id_ is not None:
            self._give_up(id_, reason, Withdrawn("caller", reason))

    def expire(self, id_: int) -> None:
        """A caller's deadline passed."""
        flight = self.pending.get(id_)
        if flight is not None:
            self._give_up(id_, "timeout", TimedOut(flight.seconds, flight.hindrance))

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
            self.bury(flight.id)
        if flight.subject is not None:
            self._settle(flight, flight.subject, fulfilled=type(outcome) is Completed)
        self._out.append(Reply(flight.caller, outcome))

    def _settle(self, flight: Flight, subject: str, *, fulfilled: bool) -> None:
        if fulfilled:
            self.standing.fulfilled(flight.method, subject)
        if self.subscriptions.translates(flight.method):
            self.subscriptions.settle(flight.id, fulfilled=fulfilled)

    def _retire(self, streams: list[int], granted: frozenset[str] | None = None) -> None:
        """Streams that a newer one replaced, or that nobody wants any more: whoever waits is served."""
        for stream in streams:
            flight = self.pending.take(stream)
            # A frame that was never written needs no taking back.
            if flight is None or flight.refused is None:
                self.subscriptions.take_back(stream)
            self.bury(stream)
            if flight is not None:
                self._end(flight, verdict(flight, granted), bury=False)

    def bury(self, id_: int) -> None:
        """Nobody waits for this id any more, but an answer may still come."""
        if not self.tombstones:
            self._out.append(SetTimer(SweepDue(), self._policy.sweep_every))
        self.tombstones.bury(id_)

    def sweep(self) -> None:
        """Forget old tombstones; go on while some are left."""
        self.tombstones.sweep()
        if self.tombstones:
            self._out.append(SetTimer(SweepDue(), self._policy.sweep_every))

    # The wire's verdicts.

    def refused(self, event: SendRefused) -> None:
        """The wire was busy: offer the frame again a little later, a few times."""
        if event.token == INSISTED:
            self._insistence.refused(event.frame)
            return
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
        if id_ == INSISTED:
            self._insistence.retry()
            return
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

    def lose_one(self, event: ExchangeLost) -> None:
        """One request came to nothing, and only that."""
        flight = self.pending.take(event.id)
        if flight is not None:
            self._end(flight, event.verdict, bury=event.outcome == "unknown")
        elif not self._errands.done(event.id):
            self.subscriptions.interrupted(event.id)

    def lose(self, ending: Ending) -> None:
        """The wire ended: every call ends with it, and none is repeated."""
        for flight in self.pending.take_all():
            unsent = flight.refused is not None or flight.id in ending.unsent
            self._end(flight, Lost(ending, "not_sent" if unsent else "unknown"), bury=True)
        self._part()

    def stop(self) -> None:
        """The client is being closed: every call ends now."""
        for flight in self.pending.take_all():
            self._end(flight, Stopped(), bury=True)
        self._part()
        self._out.append(CancelTimer(SweepDue()))

    def _part(self) -> None:
        """Nothing of the connection's own outlives the wire either."""
        self._errands.forget()
        self._insistence.forget()
        self.duties.forget()
        self.subscriptions.forget()

    # The server's messages.

    def receive(self, message: jsonrpc.Single) -> None:
        """Route one message. Notifications are gathered; `flush` sends them on."""
        match message:
            case jsonrpc.Answer(id_, result):
                self._answer(id_, Completed(result))
            case jsonrpc.Notification():
                self._hear(message)
            case jsonrpc.Failure(id_, error):
                self._answer(id_, Rejected(error))
            case jsonrpc.Request():
                self.duties.ask(message, waiting=len(self._insistence))
            case jsonrpc.Malformed(reason, id_):
                self._out.append(Violation("malformed", reason))
                if id_ is not None and self.pending.get(id_) is not None:
                    self._answer(id_, BadAnswer(reason))
            case _:
                assert_never(message)

    def unpack(self, message: jsonrpc.Message) -> tuple[jsonrpc.Single, ...]:
        """The messages of an array, where the revision has arrays; else the message itself."""
        if not isinstance(message, jsonrpc.Batch):
            return (message,)
        if self.agreement is None or not self.agreement.revision.has_batching:
            self._out.append(Violation("batch", "an array outside revision 2025-03-26"))
            return ()
        return message.messages

    def flush(self) -> None:
        """Hand over the notifications gathered so far, after the answers."""
        if self._news:
            self._out.append(Dispatch(tuple(self._news)))
            self._news.clear()
        lost = self.subscriptions.take_lost()
        if lost:
            self._out.append(Missed("the server did not grant it again", lost))

    def _answer(self, id_: jsonrpc.Id | None, outcome: CallOutcome) -> None:
        flight = self.pending.take(id_)
        if flight is not None:
            # Most calls are about nothing that lasts; streams are.
            if flight.subject is not None and self.subscriptions.proposes(id_) and type(outcome) is Completed:
                outcome = BadAnswer("the server ended the subscription before it began")
            self._end(flight, outcome, bury=False)
        elif not self._errands.done(id_) and not self.subscriptions.ended(id_):
            self._out.append(Unmatched(id_, id_ in self.tombstones))

    def _hear(self, message: jsonrpc.Notification) -> None:
        method = message.method
        if method == _PROGRESS:
            self._progress(message)
        elif method == _CANCELLED:
            self._cancelled(message)
        else:
            if method == ACKNOWLEDGED:
                self._acknowledged(message)
            self._news.append(message)

    def _progress(self, message: jsonrpc.Notification) -> None:
        params = codec.decode_object(message.params)
        flight = self.pending.get(params.get("progressToken"))
        # Progress of a call that ended, or that never asked for it, is nobody's news.
        if flight is None:
            return
        if flight.progress:
            self._out.append(Progress(flight.caller, params))
        self._news.append(message)

    def _cancelled(self, message: jsonrpc.Notification) -> None:
        params = codec.decode_object(message.params)
        id_ = params.get("requestId")
        # Both sides count their own requests, so that an id may mean one of either: first the server's own.
        if not self.duties.cancel(id_):
            flight = self.pending.take(id_)
            if flight is None:
                self.subscriptions.ended(id_)
            else:
                reason = params.get("reason")
                withdrawn = Withdrawn("server", reason if isinstance(reason, str) else "")
                self._end(flight, withdrawn, bury=True)
        self._news.append(message)

    def _acknowledged(self, message: jsonrpc.Notification) -> None:
        begun = self.subscriptions.acknowledged(codec.decode_object(message.params))
        if begun is None:
            return
        self._retire(begun.older, begun.granted)
        flight = self.pending.take(begun.id)
        if flight is not None:
            self._end(flight, verdict(flight, begun.granted), bury=False)
