"""G: how fast does a server answer over stdio, one call after the other, or many at once?"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import orjson

from benchmarks.bench_round_trip import TEXT
from benchmarks.case import Case, Column, Job, Outcome
from benchmarks.contestants.roster import OURS
from benchmarks.figures import latencies

_ROOT: Final = Path(__file__).resolve().parent.parent
_PROGRAMS: Final = {
    "raw": "serve_raw",
    OURS: "serve_mcp_actors",
    "official-server": "serve_official",
    "fastmcp-server": "serve_fastmcp",
}
_INITIALIZE: Final = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


class RawClient:
    """Writes and reads lines, and checks that they are the right ones."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._in = process.stdin
        self._out = process.stdout
        self._next = 0

    def greet(self) -> None:
        """The handshake."""
        self._write({"id": "hello", "method": "initialize", "params": _INITIALIZE})
        self._out.readline()
        self._write({"method": "notifications/initialized"})

    def call(self) -> None:
        """One call, from the request to its answer."""
        self.send()
        self.receive()

    def send(self) -> None:
        """Ask, and do not wait."""
        self._next += 1
        params = {"name": "echo", "arguments": {"text": TEXT}}
        self._write({"id": self._next, "method": "tools/call", "params": params})

    def receive(self) -> None:
        """Wait for any answer."""
        answer = orjson.loads(self._out.readline())
        while "id" not in answer:
            answer = orjson.loads(self._out.readline())
        text = answer["result"]["content"][0]["text"]
        if text != TEXT:
            raise ValueError(f"the server answered {text!r}")

    def _write(self, message: Mapping[str, object]) -> None:
        self._in.write(orjson.dumps({"jsonrpc": "2.0", **message}) + b"\n")
        self._in.flush()


@contextmanager
def open_server(contestant: str) -> Iterator[RawClient]:
    """A server that was greeted."""
    command = [sys.executable, "-m", f"benchmarks.servers.{_PROGRAMS[contestant]}"]
    with subprocess.Popen(
        command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        try:
            client = RawClient(process)
            client.greet()
            yield client
        finally:
            process.kill()


def run_sequential(job: Job) -> Outcome:
    """One call after the other."""
    with open_server(job.contestant) as client:
        for _ in range(job.sizes["warm_up"]):
            client.call()
        seconds = []
        for _ in range(job.sizes["calls"]):
            began = time.perf_counter()
            client.call()
            seconds.append(time.perf_counter() - began)
    return Outcome(latencies(seconds))


def run_pipelined(job: Job) -> Outcome:
    """As many calls under way as ``depth``, all the time."""
    calls, depth = job.sizes["calls"], job.sizes["depth"]
    with open_server(job.contestant) as client:
        for _ in range(job.sizes["warm_up"]):
            client.call()
        began = time.perf_counter()
        for _ in range(depth):
            client.send()
        for done in range(calls):
            client.receive()
            if done + depth < calls:
                client.send()
        wall = time.perf_counter() - began
    return Outcome({"wall_s": wall, "calls_per_s": calls / wall})


CASES: Final = (
    Case(
        id="G1",
        workload="G",
        bench=__name__,
        what="a stdio server, a raw client, sequential tools/call of about 100 bytes",
        run=run_sequential,
        sizes={"calls": 2000, "warm_up": 200},
        quick={"calls": 500, "warm_up": 100},
        smoke={"calls": 20, "warm_up": 2},
        contestants=tuple(_PROGRAMS),
        columns=(Column("p50_us", "p50 µs"), Column("p99_us", "p99 µs")),
        limit="raw",
        peer="official-server",
    ),
    Case(
        id="G50",
        workload="G",
        bench=__name__,
        what="a stdio server, a raw client, 50 calls under way all the time",
        run=run_pipelined,
        sizes={"calls": 5000, "depth": 50, "warm_up": 200},
        quick={"calls": 2000, "depth": 50, "warm_up": 100},
        smoke={"calls": 60, "depth": 50, "warm_up": 2},
        contestants=tuple(_PROGRAMS),
        columns=(Column("wall_s", "wall s"), Column("calls_per_s", "calls/s")),
        limit="raw",
        peer="official-server",
    ),
)

if __name__ == "__main__":
    from benchmarks.command import main

    raise SystemExit(main(only="G"))
