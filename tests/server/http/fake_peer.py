"""Peers that do what a test tells them."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any, Final

from mcp_actors.protocol import codec
from mcp_actors.protocol.jsonrpc import Batch, Id, Message, Request, error_frame, result_frame
from mcp_actors.protocol.serving.keepsake import Keepsake
from mcp_actors.server.authorization.principal import Principal
from mcp_actors.server.loan import Loan
from mcp_actors.server.outlet import Outgoing
from tests.conftest import BOUND

META: Final = "io.modelcontextprotocol/"
MODERN: Final = "2026-07-28"
NEWEST: Final = "2025-11-25"

Script = Callable[["FakePeer", Request], None]


class FakePeer:
    """One client, of which everything is remembered. A request's method says what becomes of it:

    ``echo`` is answered with its params, ``fail`` with the error of its param ``code``, ``silence`` not at
    all until the test does, ``cancelled`` ends without an answer; scripts of the test come first.
    """

    def __init__(
        self,
        outlet: Any,
        name: str,
        principal: Principal | None,
        assume: str | None,
        scripts: dict[str, Script],
    ) -> None:
        self.outlet = outlet
        self.name = name
        self.principal = principal
        self.assume = assume
        self.version = assume
        self.busy = False
        self.settled = False
        self.keepsake: Keepsake | None = None
        self.heard: list[tuple[Message, Principal | None, bool]] = []
        self.cancelled: list[Id] = []
        self.reasons: list[str] = []
        self.stopped = 0
        self._scripts = scripts

    # What the app calls.

    def receive(
        self,
        message: Message,
        principal: Principal | None = None,
        *,
        modern: bool = False,
        loan: Loan | None = None,
    ) -> None:
        del loan
        self.heard.append((message, principal, modern))
        if isinstance(message, Batch):
            found = [one for one in message.messages if isinstance(one, Request)]
            whole = b"[%s]" % b",".join(result_frame(one.id) for one in found)
            if found:
                self.say(whole, found[0].id, final=True)
        elif isinstance(message, Request):
            self._scripts.get(message.method, FakePeer.silence)(self, message)

    def cancel(self, id: Id, reason: str, /) -> None:
        self.cancelled.append(id)
        self.reasons.append(reason)

    def gone(self, reason: str) -> None:
        self.reasons.append(reason)

    def resume(self, keepsake: Keepsake) -> None:
        self.keepsake = keepsake
        self.version = keepsake.version

    def stop(self, grace: float = 5.0) -> None:
        del grace
        self.stopped += 1
        self.outlet.end("stopped")

    # What it says.

    def say(self, frame: bytes, about: Id | None, *, final: bool = False, **more: Any) -> None:
        self.outlet.send(Outgoing(frame, about, final, **more))

    def answer(self, id: Id, value: Any = None) -> None:
        self.say(result_frame(id, codec.encode({} if value is None else value)), id, final=True)

    def refuse(self, id: Id, code: int) -> None:
        self.say(error_frame(id, code, "no"), id, final=True, code=code)

    def tell(self, about: Id | None, number: Any = 1) -> None:
        """A notification."""
        frame = codec.encode({"jsonrpc": "2.0", "method": "news", "params": {"n": number}})
        self.say(frame, about, news=True)

    # Scripts.

    def initialize(self, request: Request) -> None:
        self.version = _params(request).get("protocolVersion")
        if self.version is None:
            self.refuse(request.id, -32602)
        else:
            self.keepsake = Keepsake(str(self.version), {})
            self.answer(request.id, {"protocolVersion": self.version})

    def echo(self, request: Request) -> None:
        self.answer(request.id, _params(request))

    def fail(self, request: Request) -> None:
        self.refuse(request.id, _params(request)["code"])

    def silence(self, request: Request) -> None: ...

    def give_up(self, request: Request) -> None:
        self.say(b"", request.id, final=True)

    def progress(self, request: Request) -> None:
        self.tell(request.id, 1)
        self.tell(request.id, 2)
        self.answer(request.id, {"done": True})


def _params(request: Request) -> Any:
    return {} if request.params is None else json.loads(bytes(request.params))


class FakePeers:
    """Makes peers and keeps them in order; tests can wait for what one hears."""

    def __init__(self, **scripts: Script) -> None:
        self.made: list[FakePeer] = []
        self._heard = threading.Condition()
        self.scripts: dict[str, Script] = {
            "initialize": FakePeer.initialize,
            "echo": FakePeer.echo,
            "fail": FakePeer.fail,
            "cancelled": FakePeer.give_up,
            "progress": FakePeer.progress,
            **scripts,
        }

    def __call__(
        self,
        outlet: Any,
        *,
        name: str,
        principal: Principal | None = None,
        assume: str | None = None,
        client: str | None = None,
    ) -> FakePeer:
        del client
        peer = _Observed(self, outlet, name, principal, assume)
        self.made.append(peer)
        return peer

    @property
    def last(self) -> FakePeer:
        return self.made[-1]

    def hearing(self, method: str) -> FakePeer:
        """The peer that has heard a request of this method, once one has."""

        def found() -> FakePeer | None:
            for peer in self.made:
                for message, _, _ in peer.heard:
                    if isinstance(message, Request) and message.method == method:
                        return peer
            return None

        with self._heard:
            assert self._heard.wait_for(lambda: found() is not None, BOUND), f"nobody heard {method}"
            peer = found()
        assert peer is not None
        return peer

    def note(self) -> None:
        with self._heard:
            self._heard.notify_all()


class _Observed(FakePeer):
    def __init__(self, peers: FakePeers, outlet: Any, name: str, *who: Any) -> None:
        principal, assume = who
        super().__init__(outlet, name, principal, assume, peers.scripts)
        self._peers = peers

    def receive(
        self,
        message: Message,
        principal: Principal | None = None,
        *,
        modern: bool = False,
        loan: Loan | None = None,
    ) -> None:
        super().receive(message, principal, modern=modern, loan=loan)
        self._peers.note()


def request(method: str, id: Any = 1, params: Any = None) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "id": id, "method": method}
    return message | ({} if params is None else {"params": params})


def notification(method: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method}


def initialize(version: Any = NEWEST) -> dict[str, Any]:
    return request("initialize", 0, {"protocolVersion": version})


def described(method: str, id: Any = 1, params: Any = None) -> tuple[dict[str, Any], dict[str, str]]:
    """A request of 2026-07-28, and its headers."""
    meta = {META + "protocolVersion": MODERN, META + "clientCapabilities": {}}
    headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
    return request(method, id, {"_meta": meta, **(params or {})}), headers
