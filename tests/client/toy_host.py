"""ToyHost: a server in this process, at the other end of a memory wire, that tests can script."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable
from typing import Any, Final

from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.transports.contract import OpenFailed
from mcp_actors.transports.memory import MemoryEnd
from tests.client.waiting import BOUND

STATELESS: Final = "2026-07-28"
HANDSHAKES: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
VERSIONS: Final = (STATELESS, *HANDSHAKES)

#: What an answer returns to leave its caller waiting.
SILENCE: Final[Any] = object()
_META: Final = "io.modelcontextprotocol/"
_EVERYTHING: Final[dict[str, Any]] = {"tools": {}, "resources": {}, "prompts": {}, "logging": {}}

Answer = Callable[[dict[str, Any]], Any]


class Refusal(Exception):
    """Raised by an answer: the server replies with this JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message} | ({} if data is None else {"data": data})


class ToyHost:
    """Answers on one thread per wire, in the order of arrival; remembers everything it heard."""

    def __init__(
        self,
        version: str = STATELESS,
        *,
        capabilities: dict[str, Any] | None = None,
        instructions: str | None = "be kind",
        info: Any = None,
    ) -> None:
        self.version = version
        self.capabilities = _EVERYTHING if capabilities is None else capabilities
        self.instructions = instructions
        self.info = {"name": "toy", "version": "1.0"} if info is None else info
        self.heard: list[dict[str, Any]] = []
        self.frames: list[Any] = []
        self.ends: list[MemoryEnd] = []
        self.refusals: list[Ending] = []
        self._news = threading.Condition()
        self.answers: dict[str, Answer] = {
            "server/discover": self._discover,
            "initialize": self._initialize,
            "ping": lambda _: {},
            "tools/list": lambda _: {"tools": [tool("echo"), tool("read", readOnlyHint=True)]},
            "tools/call": lambda request: text(json.dumps(request["params"].get("arguments"))),
            "resources/list": lambda _: {"resources": [{"uri": "toy:a", "name": "a"}]},
            "resources/read": lambda request: {"contents": [{"uri": request["params"]["uri"], "text": "A"}]},
            "prompts/list": lambda _: {"prompts": [{"name": "greet"}]},
            "prompts/get": lambda _: {
                "messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}]
            },
        }

    # What the transport calls.

    def accept(self, end: MemoryEnd) -> None:
        if self.refusals:
            raise OpenFailed(self.refusals.pop(0))
        with self._news:
            self.ends.append(end)
            self._news.notify_all()
        threading.Thread(target=self._serve, args=(end,), name="toy-host", daemon=True).start()

    # What tests do.

    @property
    def wires(self) -> int:
        """How many wires were ever opened."""
        return len(self.ends)

    def refuse(self, times: int, kind: EndKind = EndKind.REFUSED, reason: str = "nobody listens") -> None:
        """Let the next attempts to connect fail."""
        self.refusals += [Ending(kind, reason)] * times

    def drop(self, reason: str = "the server exited with code 7", kind: EndKind = EndKind.EXIT) -> None:
        """End the newest wire, as a dying server does."""
        self.ends[-1].fail(Ending(kind, reason, exit_code=7, stderr_tail=("FATAL: no database",)))

    def say(self, message: Any, *, wire: int = -1) -> None:
        """Send one message, whether anybody asked or not."""
        self.say_bytes(json.dumps(message).encode(), wire=wire)

    def say_bytes(self, frame: bytes, *, wire: int = -1) -> None:
        """Send one frame as it is."""
        self.ends[wire].write(frame, Deadline.after(BOUND))

    def notify(self, method: str, **params: Any) -> None:
        """Send a notification."""
        self.say({"jsonrpc": "2.0", "method": method, "params": params})

    def reply(self, request: dict[str, Any], result: Any) -> None:
        """Answer a request that was left waiting."""
        self.say({"jsonrpc": "2.0", "id": request["id"], "result": result})

    def progress(self, request: dict[str, Any], progress: float, **more: Any) -> None:
        """Report progress of a request."""
        token = request["params"]["_meta"]["progressToken"]
        self.notify("notifications/progress", progressToken=token, progress=progress, **more)

    def await_heard(self, method: str, count: int = 1, **params: Any) -> dict[str, Any]:
        """Wait until the server heard ``method`` ``count`` times; the last of these messages."""
        with self._news:
            found = self._news.wait_for(lambda: len(self.all_heard(method, **params)) >= count, BOUND)
            assert found, f"{method} was heard {len(self.all_heard(method, **params))} times, not {count}"
        return self.all_heard(method, **params)[count - 1]

    def await_wires(self, count: int) -> None:
        """Wait until so many wires were opened."""
        with self._news:
            assert self._news.wait_for(lambda: self.wires >= count, BOUND), f"{self.wires} wires"

    def all_heard(self, method: str, **params: Any) -> list[dict[str, Any]]:
        """Every message of that method so far."""
        return [
            one
            for one in list(self.heard)
            if one.get("method") == method and params.items() <= one.get("params", {}).items()
        ]

    def answers_heard(self) -> list[dict[str, Any]]:
        """What the client answered to requests of ours."""
        return [one for one in list(self.heard) if "method" not in one]

    def await_answer(self, id_: object) -> dict[str, Any]:
        """Wait for the client's answer to a request of ours."""
        with self._news:
            assert self._news.wait_for(lambda: any(one["id"] == id_ for one in self.answers_heard()), BOUND)
        return next(one for one in self.answers_heard() if one["id"] == id_)

    def shut_down(self) -> None:
        """End all wires, and with them the threads."""
        for end in self.ends:
            end.close()

    # The server itself.

    def note(self, message: Any) -> list[dict[str, Any]]:
        """Remember a frame; the messages in it."""
        together = message if isinstance(message, list) else [message]
        with self._news:
            self.frames.append(message)
            self.heard += together
            self._news.notify_all()
        return together

    def _serve(self, end: MemoryEnd) -> None:
        forever = Deadline.after(math.inf)
        while (frame := end.read(forever)) is not None:
            message = json.loads(frame)
            together = self.note(message)
            answers = [answer for one in together if (answer := self._answer(one)) is not None]
            if answers:
                reply = answers if isinstance(message, list) else answers[0]
                end.write(json.dumps(reply).encode(), Deadline.after(BOUND))

    def _answer(self, request: dict[str, Any]) -> dict[str, Any] | None:
        if "id" not in request or "method" not in request:
            return None
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": request["id"]}
        try:
            answer = self.answers.get(request["method"])
            if answer is None:
                raise Refusal(-32601, "Method not found")
            result = answer(request)
        except Refusal as refusal:
            return reply | {"error": refusal.error}
        return None if result is SILENCE else reply | {"result": result}

    def _discover(self, _request: dict[str, Any]) -> Any:
        if self.version != STATELESS:
            raise Refusal(-32601, "Method not found")
        return {
            "supportedVersions": [STATELESS],
            "capabilities": self.capabilities,
            "instructions": self.instructions,
            "_meta": {_META + "serverInfo": self.info},
        }

    def _initialize(self, _request: dict[str, Any]) -> Any:
        if self.version == STATELESS:
            raise Refusal(-32601, "Method not found")
        return {
            "protocolVersion": self.version,
            "capabilities": self.capabilities,
            "serverInfo": self.info,
            "instructions": self.instructions,
        }


def tool(name: str, **hints: bool) -> dict[str, Any]:
    """A tool as a listing shows it."""
    return {"name": name, "inputSchema": {"type": "object"}} | ({"annotations": hints} if hints else {})


def text(value: str) -> dict[str, Any]:
    """The result of a tool that says something."""
    return {"content": [{"type": "text", "text": value}]}


def asking(requests: dict[str, Any] | None = None, state: str | None = None) -> dict[str, Any]:
    """A result that asks back (2026-07-28)."""
    asked = {} if requests is None else {"inputRequests": requests}
    return {"resultType": "input_required"} | asked | ({} if state is None else {"requestState": state})


def form(message: str = "your name?") -> dict[str, Any]:
    """A question for the user, with one field to fill in: ``name``."""
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}}


def sample(text: str = "say hi") -> dict[str, Any]:
    """A question for the client's model."""
    messages = [{"role": "user", "content": {"type": "text", "text": text}}]
    return {"method": "sampling/createMessage", "params": {"messages": messages, "maxTokens": 10}}
