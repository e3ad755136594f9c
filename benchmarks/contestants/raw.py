"""raw: the same JSON through the same pipe, in the caller's own thread, without any library. The limit."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import orjson

from benchmarks.contestants.blocking import Blocking
from benchmarks.contestants.contract import Contestant
from benchmarks.handlers import Handler

_PREFIX: Final = "io.modelcontextprotocol/"
_INFO: Final = {"name": "raw", "version": "1"}
#: What every request of 2026-07-28 says about its sender.
ENVELOPE: Final = {
    f"{_PREFIX}protocolVersion": "2026-07-28",
    f"{_PREFIX}clientCapabilities": {},
    f"{_PREFIX}clientInfo": _INFO,
}


class RawPipe:
    """A server process and the frames for it. Modern requests carry their envelope, as everybody's do."""

    def __init__(self, server: Sequence[str]) -> None:
        self.process = subprocess.Popen(
            server, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=64 * 1024
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._stdin = self.process.stdin
        self.stdout = self.process.stdout
        self._fd = self._stdin.fileno()
        self._envelope: Mapping[str, Any] = ENVELOPE
        self._greet()

    def send(self, id_: int, method: str, params: Mapping[str, Any]) -> None:
        """Write one request."""
        meta = {"_meta": self._envelope} if self._envelope else {}
        self._write({"jsonrpc": "2.0", "id": id_, "method": method, "params": {**params, **meta}})

    def close(self) -> None:
        """Let the server see the end of its input."""
        self._stdin.close()
        self.process.wait(10)
        self.stdout.close()

    def _greet(self) -> None:
        self.send(0, "server/discover", {})
        if "result" in orjson.loads(self.stdout.readline()):
            return
        self._envelope = {}
        offer = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": _INFO}
        self.send(0, "initialize", offer)
        self.stdout.readline()
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _write(self, message: Mapping[str, Any]) -> None:
        data = orjson.dumps(message) + b"\n"
        # A pipe that blocks takes all of it, unless a signal comes between.
        while data:
            data = data[os.write(self._fd, data) :]


def text_of(answer: Mapping[str, Any]) -> str:
    """The text that a tool answered with."""
    text: str = answer["result"]["content"][0]["text"]
    return text


@contextmanager
def open_raw(server: Sequence[str], _handler: Handler | None) -> Iterator[Contestant]:
    """Connect; there is nobody who could read notifications."""
    pipe = RawPipe(server)
    ids = iter(range(1, 1 << 62))

    def call(tool: str, arguments: Mapping[str, Any]) -> str:
        pipe.send(next(ids), "tools/call", {"name": tool, "arguments": arguments})
        return text_of(orjson.loads(pipe.stdout.readline()))

    try:
        yield Blocking(call)
    finally:
        pipe.close()
