"""A server for the tests of the command line: answers of every kind, also odd ones. Standard library only."""

from __future__ import annotations

import base64
import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(200))).decode()
TRICK = "red \x1b[31mtext\x1b]0;title\x07 and \x08bell"
LONG_NAME = "a_tool_whose_name_is_so_long_that_it_leaves_no_room_for_a_description_beside_it"
PROPERTIES: dict[str, Any] = {
    "count": {"type": "integer"},
    "ratio": {"type": "number"},
    "flag": {"type": "boolean"},
    "tags": {"type": "array", "items": {"type": "string"}},
    "options": {"type": "object"},
    "name": {"anyOf": [{"type": "string"}, {"type": "null"}]},
}

writing = threading.Lock()
answers: dict[Any, Any] = {}
arrived = threading.Condition()
cancelled: dict[Any, threading.Event] = {}
threads: dict[Any, threading.Thread] = {}


def write(message: dict[str, Any]) -> None:
    with writing:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


def text(value: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value}]}


def report(arguments: dict[str, Any], _request: Any) -> Any:
    return text(json.dumps(arguments, sort_keys=True))


def picture(_arguments: dict[str, Any], _request: Any) -> Any:
    image = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
    return {"content": [{"type": "text", "text": "here it is"}, image]}


def pictures(_arguments: dict[str, Any], _request: Any) -> Any:
    image = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
    blob = {"uri": "odd://bytes", "blob": PIXEL, "mimeType": "application/octet-stream"}
    sound = {"type": "audio", "data": PIXEL, "mimeType": "audio/wav"}
    return {"content": [image, image, sound, {"type": "resource", "resource": blob}]}


def damaged(_arguments: dict[str, Any], _request: Any) -> Any:
    return {"content": [{"type": "image", "data": "no base64!", "mimeType": "image/png"}]}


def trick(_arguments: dict[str, Any], _request: Any) -> Any:
    return text(TRICK)


def structured(_arguments: dict[str, Any], _request: Any) -> Any:
    return {"content": [], "structuredContent": {"answer": 42}}


def mixed(_arguments: dict[str, Any], _request: Any) -> Any:
    resource = {"uri": "odd://text", "text": "embedded"}
    link = {"type": "resource_link", "uri": "odd://linked", "name": "a link"}
    return {"content": [{"type": "resource", "resource": resource}, link, {"type": "hologram", "depth": 3}]}


def fail(_arguments: dict[str, Any], _request: Any) -> Any:
    return text("it went wrong") | {"isError": True}


def wait(arguments: dict[str, Any], request: Any) -> Any:
    """Runs until it is cancelled, and leaves a file that says so."""
    Path(arguments["started"]).touch()
    cancelled[request["id"]].wait()
    Path(arguments["cancelled"]).touch()
    return text("never read")


def report_progress(request: Any, **news: Any) -> None:
    params = {"progressToken": request["params"]["_meta"]["progressToken"], **news}
    write({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})


def steps(arguments: dict[str, Any], request: Any) -> Any:
    """Reports progress, then waits for a file, so that the bar stays until somebody has seen it."""
    report_progress(request, progress=1)
    report_progress(request, progress=3, total=8, message="half\x1b[2J way")
    gate = Path(arguments["until"])
    while not gate.exists():
        cancelled[request["id"]].wait(0.02)
    return text("done")


def ask(_arguments: dict[str, Any], request: Any) -> Any:
    report_progress(request, progress=1, message="thinking")
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    name = f"ask-{request['id']}"
    params = {"message": "Where do you live?", "requestedSchema": schema}
    write({"jsonrpc": "2.0", "id": name, "method": "elicitation/create", "params": params})
    with arrived:
        arrived.wait_for(lambda: name in answers)
    return text(json.dumps(answers[name]))


def chatter(_arguments: dict[str, Any], _request: Any) -> Any:
    sys.stderr.write("words on stderr\n")
    sys.stderr.flush()
    params = {"level": "warning", "data": {"low": "battery"}}
    write({"jsonrpc": "2.0", "method": "notifications/message", "params": params})
    return text("said")


TOOLS: dict[str, Callable[[dict[str, Any], Any], Any]] = {
    one.__name__: one
    for one in (report, picture, pictures, damaged, trick, structured, mixed, fail, wait, steps, ask, chatter)
}


def listed() -> list[dict[str, Any]]:
    tools = [
        {"name": name, "inputSchema": {"type": "object", "properties": PROPERTIES}, "description": name}
        for name in TOOLS
    ]
    about = f"First {TRICK} line\nof a paragraph.\n\nThe second paragraph."
    return [*tools, {"name": LONG_NAME, "inputSchema": {"type": "object"}, "description": about}]


def read(params: dict[str, Any]) -> Any:
    uri = params["uri"]
    parts: dict[str, list[dict[str, Any]]] = {
        "odd://text": [{"uri": uri, "text": "line\ttab\r\nend without a line end", "mimeType": "text/plain"}],
        "odd://bytes": [{"uri": uri, "blob": PIXEL, "mimeType": "application/octet-stream"}],
        "odd://parts": [{"uri": uri, "text": "one"}, {"uri": uri, "text": "two"}],
    }
    return {"contents": parts[uri]}


def prompt(params: dict[str, Any]) -> Any:
    said = params["arguments"]["topic"]
    image = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
    return {
        "messages": [
            {"role": "user", "content": {"type": "text", "text": f"Tell me about {said}."}},
            {"role": "assistant", "content": image},
        ]
    }


def promptable(params: dict[str, Any]) -> bool:
    return params["name"] == "lecture" and "topic" in (params.get("arguments") or {})


CAPABILITIES: dict[str, Any] = {"tools": {}, "resources": {}, "prompts": {}, "logging": {}}
METHODS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "initialize": lambda params: {
        "protocolVersion": params["protocolVersion"],
        "capabilities": CAPABILITIES,
        "serverInfo": {"name": "odd", "version": "1"},
    },
    "ping": lambda _params: {},
    "tools/list": lambda _params: {"tools": listed()},
    "resources/list": lambda _params: {"resources": [{"uri": "odd://text", "name": "text", "size": 3}]},
    "resources/templates/list": lambda _params: {
        "resourceTemplates": [{"uriTemplate": "odd://{name}", "name": "any"}]
    },
    "resources/read": read,
    "prompts/list": lambda _params: {
        "prompts": [{"name": "lecture", "arguments": [{"name": "topic", "required": True}, {"name": "tone"}]}]
    },
    "prompts/get": prompt,
}


def answer(request: dict[str, Any]) -> None:
    params = request.get("params") or {}
    reply: dict[str, Any] = {"jsonrpc": "2.0", "id": request["id"]}
    if request["method"] == "tools/call" and params["name"] in TOOLS:
        reply["result"] = TOOLS[params["name"]](params.get("arguments") or {}, request)
    elif request["method"] == "prompts/get" and not promptable(params):
        reply["error"] = {"code": -32602, "message": "nothing to say"}
    elif request["method"] in METHODS:
        reply["result"] = METHODS[request["method"]](params)
    else:
        reply["error"] = {"code": -32603, "message": f"not here: {TRICK}"}
    if not cancelled[request["id"]].is_set():
        write(reply)


def main() -> None:
    if "--no-listing" in sys.argv:
        del METHODS["tools/list"]
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("method") == "notifications/cancelled":
            number = message["params"]["requestId"]
            cancelled[number].set()
            # The end of our input may come next, and with it the end of all threads.
            threads[number].join(10)
        elif "method" in message and "id" in message:
            cancelled[message["id"]] = threading.Event()
            threads[message["id"]] = threading.Thread(target=answer, args=(message,), daemon=True)
            threads[message["id"]].start()
        elif "result" in message:
            with arrived:
                answers[message["id"]] = message["result"]
                arrived.notify_all()


if __name__ == "__main__":
    main()
