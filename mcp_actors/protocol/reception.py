"""Callers for whom nothing is sent: they are refused, dismissed, wait, or go away again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mcp_actors.protocol import events as E
from mcp_actors.protocol.actions import Action, BreakOff, Reply
from mcp_actors.protocol.attempts import Attempts, waits_for_person
from mcp_actors.protocol.conversation import Conversation
from mcp_actors.protocol.endings import BROKEN_OFF, Ending, EndKind
from mcp_actors.protocol.introduction import Introduction
from mcp_actors.protocol.outcomes import Cause, Lost, NotReady, Parked, Stopped
from mcp_actors.protocol.states import State
from mcp_actors.protocol.waiters import Waiters

_ENDED: Final = Ending(EndKind.BROKEN, "the connection ended")


class Reception:
    """Cells of the machine that send nothing. `Cells` gives them their members."""

    _out: list[Action]
    state: State
    cause: Cause | None
    attempts: Attempts
    waiters: Waiters
    wire: int | None
    conversation: Conversation
    _introduction: Introduction | None
    _retreat: Callable[[Cause], State]
    unpark: Callable[[E.Begun], State]

    def refuse(self, event: E.Called) -> State:
        self._out.append(Reply(event.caller, NotReady(self.state.value, self.cause)))
        return self._wake()

    def refuse_all(self, event: E.CalledTogether) -> State:
        for call in event.calls:
            self._out.append(Reply(call.caller, NotReady(self.state.value, self.cause)))
        return self._wake()

    def strand(self, event: E.Departed) -> State:
        """The wire over which a caller sends its request has ended before we knew of the request."""
        ending = self.cause if isinstance(self.cause, Ending) else _ENDED
        unsent = event.id in ending.unsent
        self._out.append(Reply(event.caller, Lost(ending, "not_sent" if unsent else "unknown")))
        return self.state

    def dismiss(self, event: E.Called | E.Departed | E.Awaited) -> State:
        self._out.append(Reply(event.caller, Stopped()))
        return self.state

    def dismiss_all(self, event: E.CalledTogether) -> State:
        for call in event.calls:
            self.dismiss(call)
        return self.state

    def wait(self, event: E.Awaited) -> State:
        attempts = self.attempts
        if attempts.parked and not attempts.resting:
            self._out.append(Reply(event.caller, Parked(attempts.failed_starts, self.cause)))
            return self.state
        self.waiters.add(event)
        return self._wake()

    def stop_waiting(self, event: E.WaitExpired) -> State:
        self.waiters.expire(event, self._hindrance)
        return self.state

    def cancel(self, event: E.CancelAsked) -> State:
        caller, pending = event.caller, self.conversation.pending
        flight = pending.get(pending.id_of(caller))
        waited = caller in self.waiters
        interrupted = event.reason == E.INTERRUPTED
        self.waiters.withdraw(caller, event.reason)
        self.conversation.cancel(caller, event.reason)
        if interrupted and (waited or (flight is not None and flight.hindrance is not None)):
            self._out.append(BreakOff())
        if interrupted and waited and self._introduction is not None and self._introduction.hindrance:
            # At once, and not when the request comes back: whoever calls next wants a new one.
            return self._retreat(BROKEN_OFF)
        return self.state

    def hold(self, event: E.ExchangeHeld) -> State:
        if event.wire != self.wire:
            return self.state
        flight = self.conversation.pending.get(event.id)
        if flight is not None:
            flight.hindrance = event.hindrance
        elif self._introduction is not None and self._introduction.asks(event.id):
            self._introduction.hindrance = event.hindrance
        return self.state

    def _wake(self) -> State:
        """Somebody wants the connection: try again if it rests."""
        return self.unpark(E.Begun()) if self.attempts.resting else self.state

    @property
    def _hindrance(self) -> Ending | None:
        """What holds up those who wait until the connection is ready."""
        if self._introduction is not None:
            return self._introduction.hindrance
        return waits_for_person(self.cause)
