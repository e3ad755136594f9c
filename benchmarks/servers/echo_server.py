"""A stdio server that costs next to nothing: one JSON message per line, both eras, one thread.

Usage: echo_server.py [modern|legacy] [core]. A legacy server answers ``server/discover`` with -32601, as
servers of the handshake era do. With ``core`` it runs on that core only.

Tools: ``echo`` gives its ``text`` back; ``big`` gives the ``n`` characters that ``prepare`` made beforehand;
``flood`` answers at once and then sends ``n`` log notifications of 200 bytes; ``left`` says how many of them
are not on their way yet.
"""

from __future__ import annotations

import os
import select
import sys
from typing import Any, Final

import orjson

_IN: Final = 0
_OUT: Final = 1
_READ_BYTES: Final = 64 * 1024
_CHUNK_BYTES: Final = 32 * 1024
_NOTIFICATION_BYTES: Final = 200
_MODERN: Final = "2026-07-28"
_NEWEST_LEGACY: Final = "2025-11-25"
_LEGACY: Final = ("2024-11-05", "2025-03-26", "2025-06-18", _NEWEST_LEGACY)
_INFO: Final = {"name": "echo", "version": "1"}
_CAPABILITIES: Final[dict[str, Any]] = {"tools": {}, "logging": {}}
_LINE: Final = "one line of an ordinary text, as long as any other of its kind.\n"


def _notification() -> bytes:
    params = {"level": "info", "logger": "flood", "data": ""}
    message = {"jsonrpc": "2.0", "method": "notifications/message", "params": params}
    params["data"] = "x" * (_NOTIFICATION_BYTES - len(orjson.dumps(message)) - 1)
    return orjson.dumps(message) + b"\n"


class EchoServer:
    """Reads and writes with blocking calls; only while it floods does it wait for both sides at once."""

    def __init__(self, *, modern: bool) -> None:
        self._modern = modern
        self._rest = b""
        self._unwritten = memoryview(b"")
        self._waiting: list[bytes] = []
        self._left = 0
        self._large: dict[int, bytes] = {}
        self._notification = _notification()
        self._tools = {
            "echo": self._echo,
            "prepare": self._prepare,
            "big": self._big,
            "flood": self._flood,
            "left": self._count_left,
        }

    def serve(self) -> None:
        """Answer until stdin ends."""
        while chunk := os.read(_IN, _READ_BYTES):
            self._write(self._answers(chunk))
            if self._left and not self._serve_flooding():
                return

    def _serve_flooding(self) -> bool:
        """Write notifications as fast as they are taken, and answers in between; False when stdin ended."""
        os.set_blocking(_OUT, False)
        try:
            while self._left or self._unwritten or self._waiting:
                readable, writable, _ = select.select([_IN], [_OUT], [])
                if readable:
                    chunk = os.read(_IN, _READ_BYTES)
                    if not chunk:
                        return False
                    self._waiting.append(self._answers(chunk))
                if writable:
                    self._write_some()
            return True
        finally:
            os.set_blocking(_OUT, True)

    def _write_some(self) -> None:
        if not self._unwritten:
            answers = b"".join(self._waiting)
            self._waiting.clear()
            # As much of one as of the other, or callers that never pause would hold up the flood for ever.
            count = min(self._left, max(_CHUNK_BYTES, len(answers)) // _NOTIFICATION_BYTES)
            self._left -= count
            self._unwritten = memoryview(answers + self._notification * count)
        self._unwritten = self._unwritten[os.write(_OUT, self._unwritten) :]

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(_OUT, view) :]

    def _answers(self, chunk: bytes) -> bytes:
        lines = (self._rest + chunk).split(b"\n")
        self._rest = lines.pop()
        return b"".join([self.answer(line) for line in lines])

    def answer(self, line: bytes) -> bytes:
        """The line that answers a request; nothing for any other message."""
        message = orjson.loads(line)
        if "id" not in message or "method" not in message:
            return b""
        params = message.get("params") or {}
        head = b'{"jsonrpc":"2.0","id":%b,' % orjson.dumps(message["id"])
        if message["method"] == "tools/call" and params.get("name") in self._tools:
            text = self._tools[params["name"]](params.get("arguments") or {})
            kind = b'"resultType":"complete",' if self._modern else b""
            return b'%b"result":{%b"content":[{"type":"text","text":%b}]}}\n' % (head, kind, text)
        result = self._result(message["method"], params)
        if result is None:
            return b'%b"error":{"code":-32601,"message":"method not found"}}\n' % head
        return b'%b"result":%b}\n' % (head, orjson.dumps(result))

    def _result(self, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
        caching = {"resultType": "complete", "ttlMs": 60_000, "cacheScope": "public"} if self._modern else {}
        if method == "tools/list":
            schema = {"type": "object", "properties": {}}
            return {**caching, "tools": [{"name": name, "inputSchema": schema} for name in self._tools]}
        if method == "ping":
            return {}
        if method == "server/discover" and self._modern:
            meta = {"io.modelcontextprotocol/serverInfo": _INFO}
            return {
                **caching,
                "supportedVersions": [_MODERN],
                "capabilities": _CAPABILITIES,
                "_meta": meta,
            }
        if method == "initialize":
            asked = params.get("protocolVersion")
            version = asked if asked in _LEGACY else _NEWEST_LEGACY
            return {"protocolVersion": version, "capabilities": _CAPABILITIES, "serverInfo": _INFO}
        return None

    # The tools: what they return is the text as JSON.

    def _echo(self, arguments: dict[str, Any]) -> bytes:
        return orjson.dumps(arguments["text"])

    def _prepare(self, arguments: dict[str, Any]) -> bytes:
        size = int(arguments["n"])
        self._large[size] = orjson.dumps((_LINE * (size // len(_LINE) + 1))[:size])
        return b'"prepared"'

    def _big(self, arguments: dict[str, Any]) -> bytes:
        return self._large[int(arguments["n"])]

    def _flood(self, arguments: dict[str, Any]) -> bytes:
        self._left += int(arguments["n"])
        return b'"flooding"'

    def _count_left(self, _arguments: dict[str, Any]) -> bytes:
        return (
            b'"%d of the notifications have not been written to the pipe when this answer is made"'
            % self._left
        )


def main(arguments: list[str]) -> None:
    """Run on the given core until stdin ends."""
    if len(arguments) > 1:
        os.sched_setaffinity(0, {int(arguments[1])})
    try:
        EchoServer(modern=arguments[:1] != ["legacy"]).serve()
    except BrokenPipeError:
        # The client is gone; so is the reason to run.
        os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
