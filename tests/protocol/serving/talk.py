"""A session in the hands of a test: what a client may say to it, and what it answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

from mcp_actors.protocol import jsonrpc
from mcp_actors.protocol.envelope import META_PREFIX
from mcp_actors.protocol.revisions import ALL, Revision, by_version
from mcp_actors.protocol.serving import actions as A
from mcp_actors.protocol.serving import events as E
from mcp_actors.protocol.serving.policy import SessionPolicy
from mcp_actors.protocol.serving.profile import TASK_METHODS, TASKS, Profile
from mcp_actors.protocol.serving.questions import Question
from mcp_actors.protocol.serving.states import Phase
from mcp_actors.protocol.serving.terms import Terms
from mcp_actors.protocol.session import SessionMachine

MODERN = "2026-07-28"
LEGACY = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
BATCHING = "2025-03-26"
VERSION = META_PREFIX + "protocolVersion"
CAPABILITIES = META_PREFIX + "clientCapabilities"
LOG_LEVEL = META_PREFIX + "logLevel"
SUBSCRIPTION = META_PREFIX + "subscriptionId"
INFO = {"name": "toy", "version": "1"}
OFFER: dict[str, Any] = {
    "tools": {"listChanged": True},
    "prompts": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "completions": {},
    "logging": {},
    "tasks": {"list": {}, "cancel": {}},
    "extensions": {TASKS: {}},
}
#: What a client offers that can be asked everything.
OBLIGING: dict[str, Any] = {"sampling": {}, "roots": {}, "elicitation": {}, "tasks": {"list": {}}}

Action_ = TypeVar("Action_", bound=A.Action)


def revision(version: str) -> Revision:
    found = by_version(version)
    assert found is not None
    return found


def profile(capabilities: dict[str, Any] | None = None, **choices: Any) -> Profile:
    methods = dict.fromkeys(TASK_METHODS, TASKS)
    offered = OFFER if capabilities is None else capabilities
    return Profile(INFO, offered, **{"extension_methods": methods, **choices})


def frame(**members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}).encode()


def meta(version: Any = MODERN, capabilities: Any = None, **more: Any) -> dict[str, Any]:
    """How a request of 2026-07-28 describes itself."""
    return {VERSION: version, CAPABILITIES: {} if capabilities is None else capabilities, **more}


def only(actions: list[A.Action], kind: type[Action_]) -> list[Action_]:
    return [action for action in actions if isinstance(action, kind)]


def sent(actions: list[A.Action]) -> list[Any]:
    """What was written, decoded; an empty frame is None."""
    return [json.loads(action.frame) if action.frame else None for action in only(actions, A.Send)]


def the_answer(actions: list[A.Action], id_: Any) -> Any:
    """The one final message, which is about that request."""
    (final,) = [action for action in only(actions, A.Send) if action.final]
    assert final.about == id_
    assert type(final.about) is type(id_)
    told = json.loads(final.frame)
    assert told["id"] == id_
    assert type(told["id"]) is type(id_)
    if "error" in told:
        assert final.code == told["error"]["code"]
        return told["error"]
    assert final.code is None
    return told["result"]


class Talk:
    """A client's side of the conversation; every step returns the actions it led to."""

    def __init__(
        self,
        offered: Profile | None = None,
        policy: SessionPolicy | None = None,
        *,
        agreed: Terms | None = None,
    ) -> None:
        self.profile = profile() if offered is None else offered
        self.machine = SessionMachine(lambda: self.profile, policy, agreed=agreed)

    @property
    def phase(self) -> Phase:
        return self.machine.phase

    def feed(self, event: E.Event) -> list[A.Action]:
        return self.machine.handle(event)

    def hear(self, data: bytes, *, modern: bool = False) -> list[A.Action]:
        return self.feed(E.Received(jsonrpc.scan(data), modern))

    def request(self, id_: Any, method: str, **params: Any) -> list[A.Action]:
        return self.hear(frame(id=id_, method=method, params=params))

    def modern(self, id_: Any, method: str, **params: Any) -> list[A.Action]:
        """A request that describes itself; ``_meta`` may be given."""
        return self.request(id_, method, **{"_meta": meta(), **params})

    def notify(self, method: str, **params: Any) -> list[A.Action]:
        return self.hear(frame(method=method, params=params))

    def cancel(self, id_: Any, **more: Any) -> list[A.Action]:
        return self.notify("notifications/cancelled", requestId=id_, **more)

    def listen(self, id_: Any = "news", *, capabilities: Any = None, **wanted: Any) -> list[A.Action]:
        described = meta(capabilities=capabilities)
        return self.request(id_, "subscriptions/listen", _meta=described, notifications=wanted)

    def array(self, *messages: dict[str, Any]) -> list[A.Action]:
        return self.hear(json.dumps([{"jsonrpc": "2.0", **message} for message in messages]).encode())

    def conclude(self, id_: Any, result: Any = None) -> list[A.Action]:
        return self.feed(E.Concluded(id_, json.dumps(result or {}).encode()))

    def say(self, id_: Any, method: str, **params: Any) -> list[A.Action]:
        return self.feed(E.Said(id_, f"notifications/{method}", params))

    def ask(
        self,
        caller: object = "ann",
        method: str = "roots/list",
        about: Any = None,
        **params: Any,
    ) -> list[A.Action]:
        return self.feed(E.Asked(Question(caller, method, params, about, 9.0)))


def initialize(version: Any = LEGACY[0], **members: Any) -> dict[str, Any]:
    return {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "ann"}, **members}


def greeted(version: str = LEGACY[0], offered: Profile | None = None, **capabilities: Any) -> Talk:
    """A session whose client was answered, and said nothing since."""
    talk = Talk(offered)
    talk.request("init", "initialize", **initialize(version, capabilities=capabilities))
    assert talk.phase is Phase.GREETED
    return talk


def ready(version: str = LEGACY[0], offered: Profile | None = None, **capabilities: Any) -> Talk:
    """A session after its handshake."""
    talk = greeted(version, offered, **capabilities)
    talk.notify("notifications/initialized")
    assert talk.phase is Phase.READY
    return talk


def closing(version: str = LEGACY[0]) -> Talk:
    """A session that is being stopped while request ``"last"`` runs."""
    talk = ready(version)
    talk.request("last", "tools/list")
    talk.feed(E.StopAsked(5.0))
    assert talk.phase is Phase.CLOSING
    return talk


def closed() -> Talk:
    talk = ready()
    talk.feed(E.Gone("it hung up"))
    assert talk.phase is Phase.CLOSED
    return talk


IN_PHASE: dict[Phase, Callable[[], Talk]] = {
    Phase.FRESH: Talk,
    Phase.GREETED: greeted,
    Phase.READY: ready,
    Phase.CLOSING: closing,
    Phase.CLOSED: closed,
}
VERSIONS = tuple(one.version for one in ALL)
