"""H: how fast does a server answer over HTTP, to one kept connection or to sixteen, in both eras?"""

from __future__ import annotations

import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import orjson

from benchmarks.bench_round_trip import TEXT
from benchmarks.case import Case, Column, Job, Outcome
from benchmarks.contestants.contract import Crowd
from benchmarks.contestants.roster import OURS
from benchmarks.figures import latencies
from benchmarks.servers.serve_http import HOST, THREADS

_ROOT: Final = Path(__file__).resolve().parent.parent
_START_SECONDS: Final = 30.0
_READ_BYTES: Final = 64 * 1024
_PREFIX: Final = "io.modelcontextprotocol/"
_VERSIONS: Final = {"modern": "2026-07-28", "legacy": "2025-11-25"}
_CONTESTANTS: Final = (
    "bare-waitress", "bare-cheroot", "bare-gunicorn", OURS, "mcp_actors-cheroot", "mcp_actors-gunicorn",
    "official-server", "fastmcp-server",
)  # fmt: skip


class Connection:
    """One kept connection, and the call that it makes again and again."""

    def __init__(self, port: int, era: str) -> None:
        self._era = era
        self._port = port
        self._session = ""
        self.socket = socket.create_connection((HOST, port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._received = b""
        if era == "legacy":
            self._greet()
        self.request = self._post({"id": 1, "method": "tools/call", "params": self._params()})

    def call(self) -> None:
        """One call, from the request to its answer."""
        self.socket.sendall(self.request)
        while not self.take():
            pass

    def take(self) -> bool:
        """Read what is there; whether the answer is complete, and right."""
        chunk = self.socket.recv(_READ_BYTES)
        if not chunk:
            raise ConnectionError("the server closed the connection")
        self._received += chunk
        head, found, body = self._received.partition(b"\r\n\r\n")
        if not found or len(body) < _length(head):
            return False
        self._received = b""
        if not head.startswith(b"HTTP/1.1 200") or TEXT.encode() not in body:
            raise ValueError(f"the server answered {(head + body)[:300]!r}")
        return True

    def _greet(self) -> None:
        params = {
            "protocolVersion": _VERSIONS["legacy"],
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"},
        }
        head = self._exchange(self._post({"id": 0, "method": "initialize", "params": params}))
        for line in head.split(b"\r\n"):
            name, _, value = line.partition(b": ")
            if name.lower() == b"mcp-session-id":
                self._session = f"Mcp-Session-Id: {value.decode()}\r\n"
        self._exchange(self._post({"method": "notifications/initialized"}))

    def _exchange(self, request: bytes) -> bytes:
        self.socket.sendall(request)
        received = b""
        while True:
            received += self.socket.recv(_READ_BYTES)
            head, found, body = received.partition(b"\r\n\r\n")
            if found and len(body) >= _length(head):
                return head

    def _params(self) -> dict[str, Any]:
        params: dict[str, Any] = {"name": "echo", "arguments": {"text": TEXT}}
        if self._era == "modern":
            params["_meta"] = {
                _PREFIX + "protocolVersion": _VERSIONS["modern"],
                _PREFIX + "clientCapabilities": {},
                _PREFIX + "clientInfo": {"name": "bench", "version": "1"},
            }
        return params

    def _post(self, message: dict[str, Any]) -> bytes:
        body = orjson.dumps({"jsonrpc": "2.0", **message})
        named = "Mcp-Method: tools/call\r\nMcp-Name: echo\r\n" if self._era == "modern" else self._session
        return (
            f"POST /mcp HTTP/1.1\r\nHost: {HOST}:{self._port}\r\n"
            "Accept: application/json, text/event-stream\r\n"
            f"Content-Type: application/json\r\nMCP-Protocol-Version: {_VERSIONS[self._era]}\r\n{named}"
            f"Content-Length: {len(body)}\r\n\r\n"
        ).encode() + body


def _length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0


@dataclass(frozen=True, slots=True)
class Running:
    """A server program. The process ``pid`` may have children that do the work."""

    port: int
    pid: int


@contextmanager
def open_server(contestant: str, threads: int = THREADS) -> Iterator[Running]:
    """A server that answers."""
    command = [sys.executable, "-m", "benchmarks.servers.serve_http", contestant, str(threads)]
    with subprocess.Popen(
        command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            port = int(process.stdout.readline())
            _await(port)
            yield Running(port, process.pid)
        finally:
            process.stdin.close()
            process.kill()


def _await(port: int) -> None:
    end = time.monotonic() + _START_SECONDS
    while True:
        try:
            socket.create_connection((HOST, port)).close()
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
        else:
            return


def run_one(era: str, job: Job) -> Outcome:
    """One connection, one call after the other."""
    with open_server(job.contestant) as server:
        connection = Connection(server.port, era)
        for _ in range(job.sizes["warm_up"]):
            connection.call()
        seconds = []
        for _ in range(job.sizes["calls"]):
            began = time.perf_counter()
            connection.call()
            seconds.append(time.perf_counter() - began)
    return Outcome(latencies(seconds))


def run_many(era: str, job: Job) -> Outcome:
    """Several connections, each with one call under way, served by one thread here."""
    with open_server(job.contestant) as server:
        connections = [Connection(server.port, era) for _ in range(job.sizes["connections"])]
        for connection in connections:
            for _ in range(job.sizes["warm_up"]):
                connection.call()
        crowd = _crowd(connections, job.sizes["calls"])
    return Outcome(
        {"wall_s": crowd.wall, "calls_per_s": job.sizes["calls"] / crowd.wall} | latencies(crowd.seconds)
    )


def _crowd(connections: list[Connection], calls: int) -> Crowd:
    selector = selectors.DefaultSelector()
    began = time.perf_counter()
    sent = {}
    for connection in connections:
        selector.register(connection.socket, selectors.EVENT_READ, connection)
        sent[connection] = time.perf_counter()
        connection.socket.sendall(connection.request)
    seconds: list[float] = []
    under_way = len(connections)
    while under_way:
        for key, _ in selector.select():
            connection = key.data
            if not connection.take():
                continue
            seconds.append(time.perf_counter() - sent[connection])
            under_way -= 1
            if len(seconds) + under_way < calls:
                sent[connection] = time.perf_counter()
                connection.socket.sendall(connection.request)
                under_way += 1
    return Crowd(time.perf_counter() - began, seconds)


def _cases(era: str) -> tuple[Case, Case]:
    year = _VERSIONS[era]
    return (
        Case(
            id=f"H1 {year}",
            workload="H",
            bench=__name__,
            what=f"a Streamable HTTP server at {year}, JSON answers, one kept connection",
            run=partial(run_one, era),
            sizes={"calls": 2000, "warm_up": 200},
            quick={"calls": 500, "warm_up": 100},
            smoke={"calls": 20, "warm_up": 2},
            contestants=_CONTESTANTS,
            columns=(Column("p50_us", "p50 µs"), Column("p99_us", "p99 µs")),
            limit="bare-waitress",
            peer="official-server",
        ),
        Case(
            id=f"H16 {year}",
            workload="H",
            bench=__name__,
            what=f"a Streamable HTTP server at {year}, JSON answers, sixteen kept connections",
            run=partial(run_many, era),
            sizes={"calls": 5000, "connections": 16, "warm_up": 20},
            quick={"calls": 2000, "connections": 16, "warm_up": 10},
            smoke={"calls": 64, "connections": 16, "warm_up": 1},
            contestants=_CONTESTANTS,
            columns=(
                Column("wall_s", "wall s"),
                Column("calls_per_s", "calls/s"),
                Column("p99_us", "p99 µs"),
            ),
            limit="bare-waitress",
            peer="official-server",
        ),
    )


CASES: Final = (*_cases("modern"), *_cases("legacy"))

if __name__ == "__main__":
    from benchmarks.command import main

    raise SystemExit(main(only="H"))
