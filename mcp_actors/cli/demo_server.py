"""The server of the demo, the tutorial and the examples: one file, standard library only, both eras of MCP.

It is run by its path, as a program of its own, and imports nothing of this package.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from typing import Any, Final

VERSION: Final = "2026-07-28"
HANDSHAKE_VERSIONS: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
META: Final = "io.modelcontextprotocol/"
#: The command that starts this server.
COMMAND: Final = (sys.executable, "-I", "-S", os.path.abspath(__file__))

INFO: Final = {"name": "demo", "version": "1.0"}
CAPABILITIES: Final[dict[str, Any]] = {"tools": {}, "resources": {}, "prompts": {}}
INSTRUCTIONS: Final = "Add numbers, count slowly, or crash me."
RESOURCES: Final = {"demo://about": INSTRUCTIONS, "demo://pid": str(os.getpid())}


class Refused(Exception):
    """A JSON-RPC error to be."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


class Call:
    """One running request: how it reports progress, and whether it is still wanted."""

    def __init__(self, server: DemoServer, token: Any) -> None:
        self._server = server
        self._token = token
        self.cancelled = threading.Event()

    def progress(self, done: int, total: int) -> None:
        if self._token is not None:
            params = {"progressToken": self._token, "progress": done, "total": total}
            self._server.write({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})


def add(arguments: dict[str, Any], _call: Call) -> Any:
    return arguments["a"] + arguments["b"]


def slow_count(arguments: dict[str, Any], call: Call) -> Any:
    to, delay = int(arguments["to"]), float(arguments.get("delay", 0.1))
    _log(f"counting to {to}")
    for done in range(1, to + 1):
        if call.cancelled.wait(delay):
            return done - 1
        call.progress(done, to)
    return to


def crash(arguments: dict[str, Any], _call: Call) -> Any:
    _log(arguments.get("last_words", "FATAL: the demo server was asked to crash"))
    os._exit(7)


def _log(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _tool(name: str, description: str, required: tuple[str, ...] = (), **properties: str) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": {key: {"type": kind} for key, kind in properties.items()},
        "required": list(required),
    }
    safe = {"readOnlyHint": name != "crash", "idempotentHint": name != "crash"}
    return {"name": name, "description": description, "inputSchema": schema, "annotations": safe}


TOOLS: Final[dict[str, Callable[[dict[str, Any], Call], Any]]] = {
    "add": add,
    "slow_count": slow_count,
    "crash": crash,
}
LISTED: Final = [
    _tool("add", "Add two numbers", ("a", "b"), a="number", b="number"),
    _tool("slow_count", "Count, with progress", ("to",), to="integer", delay="number"),
    _tool("crash", "Exit with code 7", last_words="string"),
]


class DemoServer:
    """Reads requests from stdin; each tool call gets a thread, so that it can be cancelled."""

    def __init__(self) -> None:
        self._writing = threading.Lock()
        self._calls: dict[Any, Call] = {}

    def run(self) -> None:
        for line in sys.stdin.buffer:
            try:
                message = json.loads(line)
            except ValueError:
                continue
            if isinstance(message, dict) and isinstance(message.get("method"), str):
                self._take(message)

    def write(self, message: dict[str, Any]) -> None:
        data = json.dumps(message).encode() + b"\n"
        with self._writing:
            try:
                sys.stdout.buffer.write(data)
                sys.stdout.buffer.flush()
            except BrokenPipeError:
                os._exit(0)

    def _take(self, message: dict[str, Any]) -> None:
        params = message.get("params") or {}
        if "id" not in message:
            call = self._calls.get(params.get("requestId"))
            if message["method"] == "notifications/cancelled" and call is not None:
                call.cancelled.set()
        elif message["method"] == "tools/call":
            call = Call(self, params.get("_meta", {}).get("progressToken"))
            self._calls[message["id"]] = call
            threading.Thread(target=self._answer, args=(message, params, call), daemon=True).start()
        else:
            self._answer(message, params, Call(self, None))

    def _answer(self, message: dict[str, Any], params: dict[str, Any], call: Call) -> None:
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            answer["result"] = self._result(message["method"], params, call)
        except Refused as refused:
            answer["error"] = {"code": refused.code, "message": refused.message, "data": refused.data}
        self._calls.pop(message["id"], None)
        if not call.cancelled.is_set():
            self.write(answer)

    def _result(self, method: str, params: dict[str, Any], call: Call) -> dict[str, Any]:
        version = params.get("_meta", {}).get(META + "protocolVersion")
        if version is None:
            handlers = {"initialize": _initialize, "ping": lambda _params: {}, **_COMMON}
            extra: dict[str, Any] = {}
        else:
            if version != VERSION:
                raise Refused(-32022, "unsupported version", {"supported": [VERSION], "requested": version})
            handlers, extra = {"server/discover": _discover, **_COMMON}, {"resultType": "complete"}
            if method not in ("tools/call", "prompts/get"):
                extra |= {"ttlMs": 0, "cacheScope": "public"}
        if method == "tools/call":
            return extra | _call_tool(params, call)
        if method not in handlers:
            raise Refused(-32601, f"no such method: {method}")
        return extra | handlers[method](params)


def _initialize(params: dict[str, Any]) -> dict[str, Any]:
    asked = params.get("protocolVersion")
    version = asked if asked in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[0]
    return {
        "protocolVersion": version,
        "capabilities": CAPABILITIES,
        "serverInfo": INFO,
        "instructions": INSTRUCTIONS,
    }


def _discover(_params: dict[str, Any]) -> dict[str, Any]:
    return {
        "supportedVersions": [VERSION],
        "capabilities": CAPABILITIES,
        "instructions": INSTRUCTIONS,
        "_meta": {META + "serverInfo": INFO},
    }


def _call_tool(params: dict[str, Any], call: Call) -> dict[str, Any]:
    tool = TOOLS.get(params.get("name", ""))
    if tool is None:
        raise Refused(-32602, f"no such tool: {params.get('name')}")
    try:
        value = tool(params.get("arguments") or {}, call)
    except (KeyError, TypeError, ValueError) as error:
        text = f"{type(error).__name__}: {error}"
        return {"content": [{"type": "text", "text": text}], "isError": True}
    return {"content": [{"type": "text", "text": str(value)}], "structuredContent": {"result": value}}


def _read_resource(params: dict[str, Any]) -> dict[str, Any]:
    uri = params.get("uri", "")
    if uri not in RESOURCES:
        raise Refused(-32602, f"no such resource: {uri}")
    return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": RESOURCES[uri]}]}


def _get_prompt(params: dict[str, Any]) -> dict[str, Any]:
    name = (params.get("arguments") or {}).get("name", "world")
    content = {"type": "text", "text": f"Say hello to {name}."}
    return {"messages": [{"role": "user", "content": content}]}


_COMMON: Final[dict[str, Callable[[dict[str, Any]], dict[str, Any]]]] = {
    "tools/list": lambda _params: {"tools": LISTED},
    "resources/list": lambda _params: {"resources": [{"uri": uri, "name": uri[7:]} for uri in RESOURCES]},
    "resources/read": _read_resource,
    "prompts/list": lambda _params: {"prompts": [{"name": "greet", "arguments": [{"name": "name"}]}]},
    "prompts/get": _get_prompt,
}


if __name__ == "__main__":
    DemoServer().run()
