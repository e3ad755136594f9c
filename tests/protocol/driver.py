"""A client machine at the wheel of a test: brought into any state, one event at a time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import count
from typing import Any

from mcp_actors.protocol import events as E
from mcp_actors.protocol.actions import Action, Reply, Send, SetTimer
from mcp_actors.protocol.connection import ConnectionMachine
from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.protocol.envelope import Identity
from mcp_actors.protocol.offer import Offer
from mcp_actors.protocol.policy import Policy
from mcp_actors.protocol.standing import Standing
from mcp_actors.protocol.states import State
from tests.protocol import toy_server as toy

EOF = Ending(EndKind.EOF, "it hung up")
REFUSED = Ending(EndKind.REFUSED, "it refused")
IMPOSSIBLE = Ending(EndKind.IMPOSSIBLE, "no such command")


class Driver:
    """Feeds a machine. ``actions`` are those of the last event."""

    def __init__(
        self,
        *,
        ever_ready: bool = False,
        offer: Offer | None = None,
        listens: Sequence[str] = (),
        **choices: Any,
    ) -> None:
        self.listens = list(listens)
        self.policy = Policy(identity=Identity({"name": "client"}, offer or Offer()), **choices)
        self.standing = Standing(lambda: self.listens)
        self.machine = ConnectionMachine(
            self.policy,
            ids=count(1),
            wires=count(1),
            random=lambda: 0.5,
            standing=self.standing,
            ever_ready=ever_ready,
        )
        self.actions: list[Action] = []

    @property
    def state(self) -> State:
        return self.machine.state

    def is_in(self, state: State) -> bool:
        """Whether the machine is in that state; asked anew each time, also for the type checker."""
        return self.machine.state is state

    def do(self, *events: E.Event) -> list[Action]:
        for event in events:
            self.actions = self.machine.handle(event)
        return self.actions

    def call(self, caller: str = "ann", method: str = "tools/call", **params: Any) -> int:
        """A caller's request; its id."""
        self.do(E.Called(caller, method, json.dumps(params).encode(), b"{}", 9.0))
        return int(self.sent()[-1]["id"])

    def hear(self, *frames: bytes) -> list[Action]:
        """One delivery on the present wire."""
        assert self.machine.wire is not None
        return self.do(E.FramesArrived(self.machine.wire, frames))

    def open(self) -> list[Action]:
        assert self.machine.wire is not None
        return self.do(E.Opened(self.machine.wire))

    def lose(self, ending: Ending = EOF) -> list[Action]:
        assert self.machine.wire is not None
        return self.do(E.Closed(self.machine.wire, ending))

    def to(self, state: State, version: str = toy.LEGACY[0]) -> Driver:
        """Go to a state by the shortest way."""
        if state is State.STARTING:
            return self
        self.do(E.Begun())
        if state is State.BACKOFF:
            self.lose(REFUSED)
            return self
        self.open()
        if state is State.READY:
            self.introduce(version)
        if state is State.CLOSING:
            self.do(E.StopAsked())
        return self

    def introduce(self, version: str = toy.LEGACY[0]) -> None:
        """The server answers the handshake until the listings, or ready."""
        while (question := self.question()) and question["method"] in ("server/discover", "initialize"):
            self.hear(toy.introductions(question["id"], question["method"], version)[0])

    def question(self) -> dict[str, Any] | None:
        """The last request that the last event sent."""
        requests = [message for message in self.sent() if "id" in message and "method" in message]
        return requests[-1] if requests else None

    def sent(self) -> list[dict[str, Any]]:
        return [json.loads(action.frame) for action in self.actions if isinstance(action, Send)]

    def outcomes(self) -> dict[Any, object]:
        return {action.caller: action.outcome for action in self.actions if isinstance(action, Reply)}

    def timers(self) -> dict[E.Timer, float]:
        return {action.event: action.seconds for action in self.actions if isinstance(action, SetTimer)}

    def all(self, kind: type[Action]) -> list[Action]:
        return [action for action in self.actions if isinstance(action, kind)]
