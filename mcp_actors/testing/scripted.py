"""ScriptedPeer: an MCP server in this process that does what a test says, also what no server should."""

from __future__ import annotations

import json
import logging
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.protocol.envelope import META_PREFIX
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.transports.contract import OpenFailed
from mcp_actors.transports.memory import MemoryEnd

JsonObject: TypeAlias = dict[str, Any]
Handler: TypeAlias = Callable[[JsonObject], Any]

_STATELESS: Final = "2026-07-28"
_BOUND: Final = 10.0
_METHOD_NOT_FOUND: Final = -32601
_INTERNAL_ERROR: Final = -32603
logger: Final = logging.getLogger("mcp_actors.testing")
_FOREVER: Final = Deadline(float("inf"))


class Refusal(Exception):
    """Raised by a handler: answer with this JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.error: JsonObject = {"code": code, "message": message}
        if data is not None:
            self.error["data"] = data


class ScriptedPeer:
    """A host for the memory transport. Any thread may use it; each connection is served by its own thread.

    It speaks ``version``: a handshake revision answers ``initialize``, 2026-07-28 ``server/discover``.
    ``handlers`` maps a method to a function from params to result, and may be changed at any time; at first
    there is one tool, ``echo``. JSON is handled without the library's codec, so they share no mistake.
    """

    def __init__(self, *, version: str = "2025-11-25", handlers: Mapping[str, Handler] | None = None) -> None:
        self.version = version
        self.capabilities: JsonObject = {"tools": {"listChanged": True}}
        self.handlers: dict[str, Handler] = {**self._greetings(), **_TOOLS, **(handlers or {})}
        self.connections = 0
        self._changed = threading.Condition()
        self._end: MemoryEnd | None = None
        self._received: list[JsonObject] = []
        self._refusals: list[Ending] = []
        self._copies: Counter[str] = Counter()  # how often the next answers to a method are sent, less one
        self._held: dict[str, list[bytes]] = {}
        self._threads: list[threading.Thread] = []
        self._last_id = 0

    # -- for the transport

    def accept(self, end: MemoryEnd) -> None:
        """Serve a new connection, or refuse it as told."""
        with self._changed:
            if self._refusals:
                raise OpenFailed(self._refusals.pop(0))
            self.connections += 1
            self._end = end
            thread = threading.Thread(target=self._serve, args=(end,), name="scripted-peer", daemon=True)
            self._threads.append(thread)
            self._changed.notify_all()
        thread.start()

    # -- what came

    @property
    def received(self) -> list[JsonObject]:
        """All messages so far, oldest first, over all connections."""
        with self._changed:
            return list(self._received)

    def wait_for(self, method: str, count: int = 1, timeout: float = _BOUND) -> JsonObject:
        """The ``count``-th message of this method, waited for. Raises TimeoutError."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self._of(method)) >= count, timeout):
                seen = [message.get("method", "(an answer)") for message in self._received]
                raise TimeoutError(f"{method} came {len(self._of(method))} of {count} times; came: {seen}")
            return self._of(method)[count - 1]

    def wait_connected(self, count: int = 1, timeout: float = _BOUND) -> None:
        """Wait until so many connections were opened. Raises TimeoutError."""
        with self._changed:
            if not self._changed.wait_for(lambda: self.connections >= count, timeout):
                raise TimeoutError(f"{self.connections} of {count} connections were opened")

    # -- what to say

    def notify(self, method: str, params: JsonObject | None = None) -> None:
        """Send a notification."""
        self.send({"jsonrpc": "2.0", "method": method} | ({} if params is None else {"params": params}))

    def request(self, method: str, params: JsonObject | None = None) -> int:
        """Send a request to the client and return its id; the answer will be among ``received``."""
        with self._changed:
            self._last_id += 1
            number = self._last_id
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}})
        return number

    def send(self, message: Any) -> None:
        """Send any JSON value as a frame."""
        self.send_raw(json.dumps(message).encode())

    def send_raw(self, frame: bytes) -> None:
        """Send any bytes as a frame over the newest connection, waiting for room."""
        with self._changed:
            end = self._end
        if end is None:
            raise RuntimeError("no connection was opened yet")
        end.write(frame, Deadline.after(_BOUND))

    # -- how to misbehave

    def hold(self, method: str) -> None:
        """Keep the answers to this method back until ``release``."""
        with self._changed:
            self._held.setdefault(method, [])

    def release(self, method: str, *, newest_first: bool = False) -> None:
        """Send the answers held back, and hold no more."""
        with self._changed:
            frames = self._held.pop(method, [])
        for frame in reversed(frames) if newest_first else frames:
            self.send_raw(frame)

    def drop(self, method: str, times: int = 1) -> None:
        """Never answer the next requests of this method."""
        with self._changed:
            self._copies[method] = -times

    def duplicate(self, method: str, times: int = 1) -> None:
        """Answer the next requests of this method twice."""
        with self._changed:
            self._copies[method] = times

    def refuse(
        self, times: int = 1, reason: str = "refused by the script", *, for_good: bool = False
    ) -> None:
        """Let the next opens fail; ``for_good`` as one that no second attempt can mend."""
        kind = EndKind.IMPOSSIBLE if for_good else EndKind.REFUSED
        with self._changed:
            self._refusals += [Ending(kind, reason)] * times

    def die(self, ending: Ending | None = None) -> None:
        """End the newest connection; without an ending, as a process that exits with code 1."""
        with self._changed:
            end = self._end
        if end is not None:
            end.fail(ending or Ending(EndKind.EXIT, "the server exited with code 1", exit_code=1))

    def close(self) -> None:
        """End the newest connection and wait for the serving threads."""
        self.die(Ending(EndKind.EOF, "the server closed the connection"))
        for thread in self._threads:
            thread.join(_BOUND)

    # -- the serving thread

    def _serve(self, end: MemoryEnd) -> None:
        while (frame := end.read(_FOREVER)) is not None:
            message = json.loads(frame)
            with self._changed:
                self._received.append(message)
                self._changed.notify_all()
            if "method" in message and "id" in message:
                self._reply(end, message)

    def _reply(self, end: MemoryEnd, message: JsonObject) -> None:
        method = message["method"]
        frame = json.dumps({"jsonrpc": "2.0", "id": message["id"], **self._outcome(message)}).encode()
        with self._changed:
            if method in self._held:
                self._held[method].append(frame)
                return
            extra = self._copies[method]
            self._copies[method] -= (extra > 0) - (extra < 0)
        for _ in range(1 + (extra > 0) - (extra < 0)):
            end.write(frame, Deadline.after(_BOUND))

    def _outcome(self, message: JsonObject) -> JsonObject:
        handler = self.handlers.get(message["method"])
        try:
            if handler is None:
                raise Refusal(_METHOD_NOT_FOUND, f"Method not found: {message['method']}")
            result = handler(message.get("params", {}))
        except Refusal as refusal:
            return {"error": refusal.error}
        except Exception as error:
            # A mistake in the script is the test's to see, not a server that says nothing.
            logger.exception("the handler of %s failed", message["method"])
            failed = f"the script failed: {type(error).__name__}: {error}"
            return {"error": {"code": _INTERNAL_ERROR, "message": failed}}
        if self.version == _STATELESS and isinstance(result, dict):
            result = {"resultType": "complete", **result}
        return {"result": result}

    def _greetings(self) -> dict[str, Handler]:
        if self.version == _STATELESS:
            return {"server/discover": self._discover}
        return {"initialize": self._initialize, "ping": lambda _params: {}}

    def _initialize(self, _params: JsonObject) -> JsonObject:
        return {
            "protocolVersion": self.version,
            "capabilities": self.capabilities,
            "serverInfo": _SERVER_INFO,
        }

    def _discover(self, _params: JsonObject) -> JsonObject:
        return {
            "supportedVersions": [self.version],
            "capabilities": self.capabilities,
            "ttlMs": 0,
            "cacheScope": "private",
            "_meta": {f"{META_PREFIX}serverInfo": _SERVER_INFO},
        }

    def _of(self, method: str) -> list[JsonObject]:
        return [message for message in self._received if message.get("method") == method]


_SERVER_INFO: Final = {"name": "scripted", "version": "1.0"}


def _call_tool(params: JsonObject) -> JsonObject:
    if params.get("name") != "echo":
        raise Refusal(-32602, f"Unknown tool: {params.get('name')}")
    text = json.dumps(params.get("arguments", {}))
    return {"content": [{"type": "text", "text": text}], "isError": False}


def _list_tools(_params: JsonObject) -> JsonObject:
    echo = {"name": "echo", "description": "Says what it was told.", "inputSchema": {"type": "object"}}
    return {"tools": [echo], "ttlMs": 0, "cacheScope": "private"}


_TOOLS: Final[Mapping[str, Handler]] = {"tools/list": _list_tools, "tools/call": _call_tool}
