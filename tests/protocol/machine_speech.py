"""What the toy server says in the world of the client machine: right, wrong, late, twice, or to nobody."""

from __future__ import annotations

from typing import Any

from mcp_actors.protocol.listening import ACKNOWLEDGED, LISTEN
from mcp_actors.protocol.states import State
from mcp_actors.protocol.types.subscriptions import SUBSCRIPTION_ID
from tests.protocol import toy_server as toy
from tests.protocol.machine_model import Model
from tests.protocol.machine_wire import CANCELLED, Speech, ToyWire

LARGE = "x" * 400
URIS = ("toy:0", "toy:1", "toy:2")
DUTIES = ("roots/list", "sampling/createMessage", "elicitation/create")
NEWS = ("updated", "list_changed", "large news")
STREAMS = (
    "grant",
    "grant",
    "grant",
    "grant less",
    "grant nothing",
    "grant in silence",
    "end",
    "error",
    "cancel",
)
OTHERS = (
    "introduce", "answer", "answer", "large answer", "error", "unknown", "true", "text", "float", "two faces",
    "no version", "garbage", "batch", "progress", "large progress", "ping", "initialize", "strange request",
    "cancelled", "duty", "retraction", "pong",
)  # fmt: skip
SPEECHES = (*OTHERS, *NEWS, *STREAMS)


class Voice:
    """Makes frames out of what the model knows. ``version`` is what its server speaks."""

    def __init__(self, model: Model, version: str) -> None:
        self._model = model
        self.version = version

    def speech(self, what: str, n: int) -> Speech:
        """Say something; ``n`` chooses whom or what it is about."""
        model = self._model
        if what == "introduce":
            return self._introduction(n)
        if what in NEWS:
            return self._news(what, n)
        if what in STREAMS:
            return self._about_stream(what, n)
        if what in ("duty", "retraction", "pong", "cancelled"):
            return self._about_request(what, n)
        id_ = self._some_id(n)
        about = {"progressToken": id_, "n": model.serial()}
        frames = {
            "answer": toy.result(id_, {"for": id_}),
            "large answer": toy.result(id_, {"for": id_, "pad": LARGE}),
            "unknown": toy.result(10_000 + n, {}),
            "true": toy.result(True, {}),
            "text": toy.result(str(id_), {}),
            "float": toy.result(float(id_), {}),
            "two faces": toy.frame(id=id_, result={}, error={}),
            "no version": b'{"id":%d,"result":{}}' % id_,
            "garbage": b'\xff\x00{"jsonrpc":',
            "batch": b"[%s,%s]" % (toy.result(id_, {"for": id_}), toy.error(None, -32700)),
            "progress": toy.news("notifications/progress", **about),
            "large progress": toy.news("notifications/progress", pad=LARGE, **about),
            "ping": toy.frame(id=id_, method="ping"),
            "initialize": toy.frame(id=id_, method="initialize", params={}),
            "strange request": toy.frame(id="q", method="no/such"),
        }
        # An answer with the id of an open question may end the handshake, whatever it was meant to be.
        return Speech(frames[what], introduces=True)

    def service(self, most: int) -> list[Speech]:
        """What was asked is done, the newest first: a good server's answers."""
        wire, history = self._wire(), self._model.history
        waiting = {flight.id for flight in self._model.machine.conversation.pending}
        open_ = (waiting | set(wire.streaming) | wire.pings) - set(wire.answered)
        ids = sorted((id_ for id_ in open_ if history.accepted[id_]), reverse=True)
        return [
            self._say_of_stream("grant", id_, 0)
            if id_ in wire.streams
            else Speech(toy.result(id_, {"for": id_}), introduces=True)
            for id_ in ids[:most]
        ]

    def _news(self, what: str, n: int) -> Speech:
        serial = self._model.serial()
        frames = {
            "list_changed": toy.news("notifications/tools/list_changed", n=serial),
            "updated": toy.news("notifications/resources/updated", uri=URIS[n % 3], n=serial),
            "large news": toy.news("notifications/message", data=LARGE, n=serial),
        }
        return Speech(frames[what], news=(serial,))

    def _introduction(self, n: int) -> Speech:
        # Also when it was answered before: an introduction may come twice, or late.
        wire = self._wire()
        assert wire.question is not None
        id_, method = wire.question
        if method == LISTEN:
            return self._say_of_stream(STREAMS[n % len(STREAMS)], id_, n)
        answers = toy.introductions(id_, method, self.version)
        return Speech(answers[n % len(answers)], introduces=True)

    def _about_stream(self, what: str, n: int) -> Speech:
        """Of any stream that there ever was on this wire: the newest are the likeliest."""
        written = self._model.history.accepted
        streams = [id_ for id_ in self._wire().streams if written[id_]]
        return self._say_of_stream(what, streams[-1 - n % len(streams)] if streams else 10_000 + n, n)

    def _say_of_stream(self, what: str, id_: int, n: int) -> Speech:
        if what == "error":
            return Speech(toy.error(id_, -32601), introduces=True)
        if what == "end":
            return Speech(toy.result(id_, {"for": id_}), introduces=True)
        if what == "cancel":
            return self._cancellation(id_)
        wire, serial = self._wire(), self._model.serial()
        asked = sorted(wire.streams[id_].uris) if id_ in wire.streams else []
        params: dict[str, Any] = {"_meta": {SUBSCRIPTION_ID: id_}, "n": serial}
        granted = {"grant": asked, "grant less": asked[n % 2 :: 2], "grant nothing": []}
        if what in granted:
            params["notifications"] = {"toolsListChanged": True, "resourceSubscriptions": granted[what]}
        return Speech(toy.news(ACKNOWLEDGED, **params), news=(serial,))

    def _about_request(self, what: str, n: int) -> Speech:
        wire = self._wire()
        if what == "duty":
            return Speech(toy.frame(id=self._demand(wire), method=DUTIES[n % 3]), introduces=True)
        demands = [id_ for id_, retracted in wire.demands.items() if not retracted]
        if what == "retraction" and demands:
            return self._cancellation(demands[-1 - n % len(demands)])
        if what == "pong" and wire.pings:
            return Speech(toy.result(sorted(wire.pings)[-1 - n % len(wire.pings)], {}), introduces=True)
        return self._cancellation(self._some_id(n))

    def _cancellation(self, id_: int) -> Speech:
        """Of one of our requests, unless the server has a request of that name itself."""
        wire = self._wire()
        retracts = wire.demands.get(id_) is False
        if retracts:
            wire.demands[id_] = True
        else:
            wire.withdrawn.add(id_)
        serial = self._model.serial()
        return Speech(toy.news(CANCELLED, requestId=id_, n=serial), news=(serial,), retracts=retracts)

    def _demand(self, wire: ToyWire) -> int | str:
        agreement = self._model.machine.conversation.agreement
        if self._model.state is not State.READY or agreement is None or agreement.revision.stateless:
            return f"demand {self._model.serial()}"
        # Both sides count from one, so that their ids meet.
        wire.demands[len(wire.demands) + 1] = False
        return len(wire.demands)

    def _wire(self) -> ToyWire:
        assert self._model.wire is not None
        return self._model.wire

    def _some_id(self, n: int) -> int:
        offered = self._model.history.offered
        return offered[-1 - n % len(offered)] if offered else 1
