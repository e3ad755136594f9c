"""S: what do open streams cost a server, and how soon does it notice that a client has gone?"""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack
from typing import Any, Final

import orjson
import psutil

from benchmarks.bench_http_server import Connection, Running, open_server
from benchmarks.case import Case, Column, Job, Outcome
from benchmarks.contestants.roster import OURS
from benchmarks.figures import latencies
from benchmarks.servers.serve_http import HOST

_PREFIX: Final = "io.modelcontextprotocol/"
_VERSION: Final = "2026-07-28"
#: Beside those that hold a stream.
_SPARE_THREADS: Final = 20
_PATIENCE: Final = 30.0
_KB: Final = 1000
_LISTEN: Final = "subscriptions/listen"


def run(job: Job) -> Outcome:
    """Open streams, call beside them, then leave in the middle of a call."""
    count = job.sizes["streams"]
    with open_server(job.contestant, count + _SPARE_THREADS) as server, ExitStack() as open_streams:
        caller = Connection(server.port, "modern")
        for _ in range(job.sizes["warm_up"]):
            caller.call()
        before = _rss(server)
        for _ in range(count):
            open_streams.enter_context(_stream(server.port))
        grown = _rss(server) - before
        seconds = []
        for _ in range(job.sizes["calls"]):
            began = time.perf_counter()
            caller.call()
            seconds.append(time.perf_counter() - began)
        left = _noticed_after(server.port)
        threads = sum(process.num_threads() for process in _processes(server))
    figures = {"stream_kb": grown / count / _KB, "threads": float(threads), "noticed_ms": left * 1e3}
    return Outcome(latencies(seconds) | figures)


def _stream(port: int) -> socket.socket:
    """A stream that its server has acknowledged."""
    line = _asked(port, _LISTEN, {"notifications": {"toolsListChanged": True}})
    received = b""
    while b"acknowledged" not in received:
        chunk = line.recv(65536)
        if not chunk:
            raise ConnectionError(f"no stream: {received[:200]!r}")
        received += chunk
    return line


def _noticed_after(port: int) -> float:
    """Seconds from the end of a connection until the call on it is told."""
    with _asked(port, "tools/call", {"name": "wait", "arguments": {}}):
        # The handler has to run; nothing tells from outside that it does.
        time.sleep(0.5)
        gone = time.monotonic()
    while (noticed := _cancelled(port)) == 0.0:
        if time.monotonic() - gone > _PATIENCE:
            raise TimeoutError("the server did not notice that its client had gone")
        time.sleep(0.05)
    return noticed - gone


def _cancelled(port: int) -> float:
    with _asked(port, "tools/call", {"name": "cancelled", "arguments": {}}) as line:
        received = b""
        while not received.endswith(b"}"):
            received += line.recv(65536)
        answer: Any = orjson.loads(received.partition(b"\r\n\r\n")[2])
    return float(answer["result"]["content"][0]["text"])


def _asked(port: int, method: str, params: dict[str, Any]) -> socket.socket:
    """A connection on which a request was sent."""
    meta = {
        _PREFIX + "protocolVersion": _VERSION,
        _PREFIX + "clientCapabilities": {},
        _PREFIX + "clientInfo": {"name": "bench", "version": "1"},
    }
    body = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}})
    named = f"Mcp-Name: {params['name']}\r\n" if "name" in params else ""
    line = socket.create_connection((HOST, port), _PATIENCE)
    line.sendall(
        (
            f"POST /mcp HTTP/1.1\r\nHost: {HOST}:{port}\r\nAccept: application/json, text/event-stream\r\n"
            f"Content-Type: application/json\r\nMCP-Protocol-Version: {_VERSION}\r\n"
            f"Mcp-Method: {method}\r\n{named}Content-Length: {len(body)}\r\n\r\n"
        ).encode()
        + body
    )
    return line


def _processes(server: Running) -> list[psutil.Process]:
    first = psutil.Process(server.pid)
    return [first, *first.children(recursive=True)]


def _rss(server: Running) -> int:
    return sum(process.memory_info().rss for process in _processes(server))


CASES: Final = (
    Case(
        id="S",
        workload="S",
        bench=__name__,
        what="an HTTP server with 200 idle streams beside one caller; then a client leaves during a call",
        run=run,
        sizes={"streams": 200, "calls": 2000, "warm_up": 200},
        quick={"streams": 100, "calls": 500, "warm_up": 50},
        smoke={"streams": 4, "calls": 10, "warm_up": 2},
        contestants=(OURS, "mcp_actors-cheroot", "mcp_actors-gunicorn"),
        columns=(
            Column("p50_us", "call p50 µs"),
            Column("p99_us", "call p99 µs"),
            Column("stream_kb", "kB per stream"),
            Column("threads", "threads"),
            Column("noticed_ms", "gone noticed ms"),
        ),
        rounds=3,
    ),
)

if __name__ == "__main__":
    from benchmarks.command import main

    raise SystemExit(main(only="S"))
