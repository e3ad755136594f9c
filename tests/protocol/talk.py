"""A conversation in the hands of a test."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

from mcp_actors.protocol import jsonrpc
from mcp_actors.protocol.actions import Action, Reply, Send
from mcp_actors.protocol.agreement import Agreement
from mcp_actors.protocol.conversation import Conversation
from mcp_actors.protocol.envelope import Identity
from mcp_actors.protocol.events import Called
from mcp_actors.protocol.policy import Policy
from mcp_actors.protocol.revisions import by_version
from mcp_actors.protocol.standing import Standing
from tests.protocol import toy_server as toy


class Talk:
    """A conversation in which every step returns the actions it added."""

    def __init__(self, version: str = toy.LEGACY[0]) -> None:
        self.out: list[Action] = []
        policy = Policy(identity=Identity({}))
        self.conversation = Conversation(policy, count(1), lambda: 0.5, self.out, Standing())
        revision = by_version(version)
        assert revision is not None
        self.conversation.agree(Agreement(revision, {}, {}))

    def call(self, caller: str = "ann", *, progress: bool = False) -> list[Action]:
        self.conversation.call(Called(caller, "tools/call", b'{"name":"a"}', b"{}", 9.0, progress))
        return self.taken()

    def hear(self, *frames: bytes) -> list[Action]:
        for frame in frames:
            for message in self.conversation.unpack(jsonrpc.scan(frame)):
                self.conversation.receive(message)
        self.conversation.flush()
        return self.taken()

    def taken(self) -> list[Action]:
        out = self.out[:]
        self.out.clear()
        return out


def outcomes(actions: list[Action]) -> dict[Any, object]:
    replies = [action for action in actions if isinstance(action, Reply)]
    assert len({reply.caller for reply in replies}) == len(replies)
    return {reply.caller: reply.outcome for reply in replies}


def sent(actions: list[Action]) -> list[Any]:
    return [json.loads(action.frame) for action in actions if isinstance(action, Send)]
