"""Callers who come when nothing can be sent: they are refused, dismissed, or wait until it can."""

from __future__ import annotations

from mcp_actors.protocol import events as E
from mcp_actors.protocol.actions import Action, Reply
from mcp_actors.protocol.attempts import Attempts
from mcp_actors.protocol.outcomes import Cause, NotReady, Parked, Stopped
from mcp_actors.protocol.states import State
from mcp_actors.protocol.waiters import Waiters


class Reception:
    """Cells of the machine that send nothing. `Cells` gives them their members."""

    _out: list[Action]
    state: State
    cause: Cause | None
    attempts: Attempts
    waiters: Waiters

    def refuse(self, event: E.Called) -> State:
        self._out.append(Reply(event.caller, NotReady(self.state.value, self.cause)))
        return self.state

    def refuse_all(self, event: E.CalledTogether) -> State:
        for call in event.calls:
            self.refuse(call)
        return self.state

    def dismiss(self, event: E.Called | E.Awaited) -> State:
        self._out.append(Reply(event.caller, Stopped()))
        return self.state

    def dismiss_all(self, event: E.CalledTogether) -> State:
        for call in event.calls:
            self.dismiss(call)
        return self.state

    def wait(self, event: E.Awaited) -> State:
        if self.attempts.parked:
            self._out.append(Reply(event.caller, Parked(self.attempts.failed_starts, self.cause)))
        else:
            self.waiters.add(event)
        return self.state

    def stop_waiting(self, event: E.WaitExpired) -> State:
        self.waiters.expire(event)
        return self.state
