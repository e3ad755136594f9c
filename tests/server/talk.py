"""Talk: a client that writes its frames by hand, for what a well-behaved one never says."""

from __future__ import annotations

import json
from itertools import count
from typing import Any, Final

import orjson

from mcp_actors.protocol.serving.entry import CAPABILITIES, VERSION
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.server.server import Server
from mcp_actors.transports.channel import Channel
from mcp_actors.transports.contract import HIGH_WATER_BYTES, MAX_FRAME_BYTES
from mcp_actors.transports.memory import MemoryEnd
from tests.client.waiting import BOUND

STATELESS: Final = "2026-07-28"
HANDSHAKE: Final = "2025-11-25"
ERAS: Final = (STATELESS, HANDSHAKE)
VERSIONS: Final = (STATELESS, HANDSHAKE, "2025-06-18", "2025-03-26", "2024-11-05")


class Talk:
    """One wire to a server in this process. ``version`` None: nobody shakes hands, nothing is added."""

    def __init__(
        self,
        server: Server,
        version: str | None = None,
        *,
        high_water: int = HIGH_WATER_BYTES,
        **capabilities: Any,
    ) -> None:
        to_server, to_us = Channel(MAX_FRAME_BYTES, high_water), Channel(MAX_FRAME_BYTES, high_water)
        self.end = MemoryEnd(to_us, to_server)
        self.heard: list[dict[str, Any]] = []
        self._ids = count(1)
        self._version = version
        self._capabilities = capabilities
        server.accept(MemoryEnd(to_server, to_us))
        if version is not None and version != STATELESS:
            self.hello(version)

    def hello(self, version: str) -> dict[str, Any]:
        """Shake hands."""
        client = {"name": "talk", "version": "1"}
        params = {"protocolVersion": version, "capabilities": self._capabilities, "clientInfo": client}
        answer = self.answer_to(self.ask("initialize", **params))
        self.tell("notifications/initialized")
        return answer

    def write(self, frame: bytes) -> None:
        assert self.end.write(frame, Deadline.after(BOUND))

    def send(self, message: Any) -> None:
        self.write(orjson.dumps({"jsonrpc": "2.0", **message} if isinstance(message, dict) else message))

    def tell(self, method: str, **params: Any) -> None:
        self.send({"method": method, "params": params})

    def ask(self, method: str, **params: Any) -> int:
        """Send a request, and do not wait for its answer; its id."""
        id_ = next(self._ids)
        if self._version == STATELESS:
            meta = {VERSION: STATELESS, CAPABILITIES: self._capabilities, **params.pop("_meta", {})}
            params["_meta"] = meta
        self.send({"id": id_, "method": method, "params": params})
        return id_

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request; its answer, whole."""
        return self.answer_to(self.ask(method, **params))

    def tool(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool; the answer, whole."""
        return self.call("tools/call", name=name, arguments=arguments)

    def answer_to(self, id_: int | str) -> dict[str, Any]:
        """The answer to a request. What comes before it is kept in ``heard``."""
        while True:
            message = self.read()
            if message.get("id") == id_ and "method" not in message:
                answer: dict[str, Any] = message
                return answer
            self.heard.append(message)

    def read(self) -> Any:
        """The next message."""
        frame = self.end.read(Deadline.after(BOUND))
        assert frame is not None, f"nothing came but {self.heard}"
        return json.loads(frame)

    def at_end(self) -> bool:
        """Whether the server closed the wire, after everything that it said."""
        while (frame := self.end.read(Deadline.after(BOUND))) is not None:
            self.heard.append(json.loads(frame))
        return not self.end.write(b"{}", Deadline.after(0.0))

    def close(self) -> None:
        self.end.close("the client is done")
