"""A server that offers every feature of the protocol, in one revision: over stdio, or wherever it is put.

Usage: python -S -E features_server.py REVISION. It needs the standard library alone.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any, Final

STATELESS: Final = "2026-07-28"
LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")

_PREFIX: Final = "io.modelcontextprotocol/"
_PAGE: Final = 3
_STATE: Final = "page 7, ümlaut"
_SUM: Final = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}
_FORM: Final = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "default": 30}},
    "required": ["name"],
}
_QUESTIONS: Final[dict[str, dict[str, Any]]] = {
    "form": {"method": "elicitation/create", "params": {"message": "who?", "requestedSchema": _FORM}},
    "url": {
        "method": "elicitation/create",
        "params": {"mode": "url", "message": "pay?", "url": "https://pay.example/7", "elicitationId": "e7"},
    },
    "model": {
        "method": "sampling/createMessage",
        "params": {
            "messages": [{"role": "user", "content": {"type": "text", "text": "say hi"}}],
            "maxTokens": 10,
        },
    },
    "roots": {"method": "roots/list", "params": {}},
}
_NEEDS: Final = {
    "elicitation/create": "elicitation",
    "sampling/createMessage": "sampling",
    "roots/list": "roots",
}
_RESOURCES: Final[dict[str, dict[str, Any]]] = {
    "toy:text": {"mimeType": "text/plain", "text": "grüße"},
    "toy:blob": {"mimeType": "application/octet-stream", "blob": "AAEC/w=="},
}
_LANGUAGES: Final = ("python", "pytorch", "perl")

Message = dict[str, Any]


class Refusal(Exception):
    """The request is answered with this JSON-RPC error."""

    def __init__(self, code: int, message: str, **data: Any) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message} | ({"data": data} if data else {})


class FeaturesServer:
    """The conversation with one client. ``send`` writes one message; everything runs on one thread."""

    def __init__(self, version: str, send: Callable[[Message], object]) -> None:
        self._version = version
        self._stateless = version == STATELESS
        self._send = send
        self._level: str | None = None
        self._subscribed: set[str] = set()
        self._streams: dict[Any, Message] = {}
        self._questions: dict[str, Any] = {}
        self._methods: dict[str, Callable[[Message], Any]] = {
            "tools/list": lambda params: self._page("tools", self._tools(), params),
            "tools/call": self._call,
            "resources/list": lambda params: self._page("resources", self._resources(), params),
            "resources/templates/list": lambda params: self._page(
                "resourceTemplates", [{"uriTemplate": "toy:{name}", "name": "any"}], params
            ),
            "resources/read": self._read,
            "prompts/list": lambda params: self._page("prompts", _prompts(), params),
            "prompts/get": _get_prompt,
            "completion/complete": self._complete,
        }
        self._methods |= self._modern() if self._stateless else self._handshake()

    def hear(self, message: Message) -> None:
        """One message of the client's."""
        method = message.get("method")
        if method is None:
            self._answered(message)
        elif "id" not in message:
            if method == "notifications/cancelled":
                self._streams.pop(message["params"].get("requestId"), None)
        else:
            self._serve(method, message)

    def _serve(self, method: str, message: Message) -> None:
        reply: Message = {"jsonrpc": "2.0", "id": message["id"]}
        params = message.get("params", {}) | {"__id": message["id"]}
        try:
            if method not in self._methods:
                raise Refusal(-32601, f"no {method} here")
            if self._stateless and _PREFIX + "protocolVersion" not in params.get("_meta", {}):
                raise Refusal(-32602, "no version")
            result = self._methods[method](params)
        except Refusal as refusal:
            self._send(reply | {"error": refusal.error})
            return
        if result is not None:
            self._send(reply | {"result": self._typed(result)})

    def _typed(self, result: Message) -> Message:
        return {"resultType": "complete"} | result if self._stateless else result

    def _notify(self, method: str, **params: Any) -> None:
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    # The opening.

    def _handshake(self) -> dict[str, Callable[[Message], Any]]:
        return {
            "initialize": lambda _: {"protocolVersion": self._version, **self._introduction()},
            "ping": lambda _: {},
            "logging/setLevel": self._set_level,
            "resources/subscribe": self._subscribe,
            "resources/unsubscribe": self._unsubscribe,
        }

    def _modern(self) -> dict[str, Callable[[Message], Any]]:
        return {
            "server/discover": lambda _: {"supportedVersions": [STATELESS], **self._introduction()},
            "subscriptions/listen": self._listen,
        }

    def _introduction(self) -> Message:
        capabilities: Message = {
            "tools": {"listChanged": True},
            "resources": {"subscribe": True, "listChanged": True},
            "prompts": {"listChanged": True},
            "logging": {},
            "completions": {},
            "experimental": {"weather": {"sunny": True}},
        }
        if self._stateless:
            capabilities["extensions"] = {"example.org/shout": {}}
        info = {"name": "features", "version": "1.0"}
        return {"capabilities": capabilities, "serverInfo": info, "_meta": {_PREFIX + "serverInfo": info}}

    # Lists.

    def _page(self, member: str, items: list[Message], params: Message) -> Message:
        start = int(params.get("cursor", "0"))
        page: Message = {member: items[start : start + _PAGE]}
        if start + _PAGE < len(items):
            page["nextCursor"] = str(start + _PAGE)
        return page | ({"ttlMs": 0, "cacheScope": "private"} if self._stateless else {})

    def _tools(self) -> list[Message]:
        names = ("add", "lie", "ask", "log", "change", "touch", "count", "meta")
        tools: list[Message] = [{"name": name, "inputSchema": {"type": "object"}} for name in names]
        tools[0] |= {"description": "adds", "annotations": {"readOnlyHint": True, "title": "Adding"}}
        for tool in tools[:2] if self._version >= "2025-06-18" else ():
            tool["outputSchema"] = _SUM
        return tools

    def _resources(self) -> list[Message]:
        return [{"uri": uri, "name": uri, "mimeType": one["mimeType"]} for uri, one in _RESOURCES.items()]

    # Tools.

    def _call(self, params: Message) -> Message | None:
        name, arguments = params["name"], params.get("arguments", {})
        if name in ("change", "touch"):
            return self._news(name, arguments)
        match name:
            case "add":
                return _structured({"sum": arguments["a"] + arguments["b"]})
            case "lie":
                return _structured({"sum": "many"})
            case "ask":
                return self._ask(_QUESTIONS[arguments["what"]], params)
            case "log":
                return self._log(params)
            case "count":
                return self._count(params["_meta"]["progressToken"])
            case "meta":
                return _text(json.dumps(params.get("_meta", {})))
        raise Refusal(-32602, f"no tool {name}")

    def _count(self, token: Any) -> Message:
        for step in (1, 2):
            self._notify("notifications/progress", progressToken=token, progress=step, total=2)
        return _text("counted")

    def _ask(self, question: Message, params: Message) -> Message | None:
        if not self._stateless:
            id_ = f"question {len(self._questions)}"
            self._questions[id_] = params["__id"]
            self._send({"jsonrpc": "2.0", "id": id_, **question})
            return None
        answers = params.get("inputResponses")
        if answers is not None:
            assert params["requestState"] == _STATE
            return _text(json.dumps(answers["q"]))
        needed = _NEEDS[question["method"]]
        if needed not in params["_meta"][_PREFIX + "clientCapabilities"]:
            raise Refusal(-32021, "missing capability", requiredCapabilities={needed: {}})
        return {"resultType": "input_required", "inputRequests": {"q": question}, "requestState": _STATE}

    def _answered(self, message: Message) -> None:
        asker = self._questions.pop(message["id"])
        answer = message["result"] if "result" in message else {"error": message["error"]["code"]}
        self._send({"jsonrpc": "2.0", "id": asker, "result": _text(json.dumps(answer))})

    def _log(self, params: Message) -> Message:
        level = self._level
        if self._stateless:
            level = params["_meta"].get(_PREFIX + "logLevel")
        if level is not None:
            for one in LEVELS[LEVELS.index(level) :]:
                self._notify("notifications/message", level=one, data={"n": one}, logger="features")
        return _text("logged")

    # News.

    def _set_level(self, params: Message) -> Message:
        if params["level"] not in LEVELS:
            raise Refusal(-32602, "no such level")
        self._level = params["level"]
        return {}

    def _subscribe(self, params: Message) -> Message:
        self._subscribed.add(params["uri"])
        return {}

    def _unsubscribe(self, params: Message) -> Message:
        self._subscribed.discard(params["uri"])
        return {}

    def _listen(self, params: Message) -> None:
        stream, wanted = params["__id"], params["notifications"]
        self._streams[stream] = wanted
        self._tell(stream, "notifications/subscriptions/acknowledged", notifications=wanted)

    def _tell(self, stream: Any, method: str, **params: Any) -> None:
        self._notify(method, **params, _meta={_PREFIX + "subscriptionId": stream})

    def _news(self, name: str, arguments: Message) -> Message:
        if name == "change":
            self._change(arguments["what"])
        else:
            self._touch(arguments["uri"])
        return _text("told")

    def _change(self, what: str) -> None:
        method = f"notifications/{what}/list_changed"
        if not self._stateless:
            self._send({"jsonrpc": "2.0", "method": method})
        for stream, wanted in self._streams.items():
            if wanted.get(f"{what}ListChanged"):
                self._tell(stream, method)

    def _touch(self, uri: str) -> None:
        method = "notifications/resources/updated"
        if any(uri.startswith(one) for one in self._subscribed):
            self._notify(method, uri=uri)
        for stream, wanted in self._streams.items():
            if any(uri.startswith(one) for one in wanted.get("resourceSubscriptions", ())):
                self._tell(stream, method, uri=uri)

    # The rest.

    def _read(self, params: Message) -> Message:
        uri = params["uri"]
        if uri not in _RESOURCES:
            raise Refusal(-32602 if self._stateless else -32002, "no such resource", uri=uri)
        result: Message = {"contents": [{"uri": uri, **_RESOURCES[uri]}]}
        return result | ({"ttlMs": 60_000, "cacheScope": "private"} if self._stateless else {})

    def _complete(self, params: Message) -> Message:
        typed, context = params["argument"]["value"], params.get("context", {}).get("arguments", {})
        found = [one for one in _LANGUAGES if one.startswith(typed) and one != context.get("not")]
        if params["ref"]["type"] == "ref/resource":
            found = [uri.removeprefix("toy:") for uri in _RESOURCES if uri.startswith("toy:" + typed)]
        return {"completion": {"values": found, "total": len(found), "hasMore": False}}


def _prompts() -> list[Message]:
    return [{"name": "greet", "arguments": [{"name": "who", "required": True}, {"name": "how"}]}]


def _get_prompt(params: Message) -> Message:
    who = params.get("arguments", {}).get("who")
    if params["name"] != "greet" or who is None:
        raise Refusal(-32602, "no such prompt, or nobody to greet")
    return {
        "description": "a greeting",
        "messages": [{"role": "user", "content": {"type": "text", "text": f"greet {who}"}}],
    }


def _text(value: str) -> Message:
    return {"content": [{"type": "text", "text": value}]}


def _structured(value: Message) -> Message:
    return _text(json.dumps(value)) | {"structuredContent": value}


def main() -> None:
    def send(message: Message) -> None:
        sys.stdout.buffer.write(json.dumps(message).encode() + b"\n")
        sys.stdout.buffer.flush()

    server = FeaturesServer(sys.argv[1], send)
    for line in sys.stdin.buffer:
        server.hear(json.loads(line))


if __name__ == "__main__":
    main()
