"""Clients that ask for much and do not read: memory stays flat, threads come back, others are served."""

from __future__ import annotations

import math
import subprocess
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

import mcp_actors.server.call as calls
from mcp_actors import Server
from mcp_actors.protocol.revisions import HANDSHAKE as HANDSHAKES
from mcp_actors.protocol.serving.terms import Job, Terms
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.server.call import Call
from mcp_actors.server.outlet import Outgoing
from mcp_actors.server.peer import Peer
from tests.client.waiting import BOUND, in_thread, opened_at_the_end, until
from tests.server.conftest import MakeTalk
from tests.server.hostile.conftest import ServeTarget
from tests.server.hostile.messages import (
    INITIALIZE,
    INITIALIZED,
    call,
    described,
    encoded,
    request,
    stateless_headers,
)
from tests.server.hostile.raw_http import RawConnection
from tests.server.hostile.test_frames import PROGRAM, ROOT
from tests.server.hostile.test_http_input import check_well
from tests.server.talk import HANDSHAKE

MIB = 1024 * 1024
#: Far less than what is said, far more than what a busy allocator does by itself.
FLAT = 64 * MIB

pytestmark = pytest.mark.requirement("security:limits")


def _rss(pid: int | None = None) -> int:
    size: int = psutil.Process(pid).memory_info().rss
    return size


@pytest.mark.requirement("transport:memory")
def test_many_handlers_that_talk_at_once_do_not_fill_the_memory(target: Server, talk: MakeTalk) -> None:
    """One thread at a time passes news on; those who talk faster than that have to wait for it."""
    client, other = talk(target, HANDSHAKE), talk(target, HANDSHAKE)
    before = _rss()
    ids = {client.ask("tools/call", name="say", arguments={"count": 5_000, "size": 3_000}) for _ in range(24)}
    highest = 0
    # Nobody reads meanwhile; the wire takes a little, and the rest is left out.
    for number in range(30):
        assert other.tool("add", a=number, b=0)["result"]["content"][0]["text"] == str(number)
        highest = max(highest, _rss())
        client.end.read(Deadline.after(0.02))
    while ids:
        message = client.read()
        ids.discard(message.get("id"))
        highest = max(highest, _rss())
    assert highest - before < FLAT


class _Heard:
    """An outlet that takes everything."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []

    def send(self, outgoing: Outgoing) -> None:
        self.frames.append(outgoing.frame)

    def end(self, reason: str) -> None:
        """Nothing is open."""


@pytest.mark.parametrize("cancelled", [False, True])
def test_news_that_find_no_turn_in_time_are_left_out(
    target: Server, monkeypatch: pytest.MonkeyPatch, cancelled: bool
) -> None:
    # Who is cancelled does not even wait for his time to be over.
    monkeypatch.setattr(calls, "_TURN_SECONDS", math.inf if cancelled else 0.01)
    terms, outlet, gate = Terms(HANDSHAKES[0], {}), _Heard(), threading.Event()
    peer = Peer(target.host, outlet, name="crowded", agreed=terms)
    call_ = Call(peer, Job(1, "tools/call", {}, terms), None, None)

    def hold() -> None:
        gate.wait()

    with opened_at_the_end(gate):
        holder = in_thread(lambda: peer.receive_all((), hold))
        while not peer.crowded:
            peer.receive_all((), lambda: None)
        if cancelled:
            call_.cancellation.cancel("nobody wants it")
        call_.say("notifications/message", {"level": "error", "data": "too much"})
    holder.result(BOUND)
    assert (outlet.frames, peer.crowded) == ([], False)


@pytest.mark.requirement("transport:stdio")
def test_a_program_whose_output_nobody_reads_stays_small(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as sink:
        process = subprocess.Popen(
            PROGRAM, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=sink
        )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(encoded(INITIALIZE) + b"\n")
        process.stdin.flush()
        process.stdout.readline()
        before = _rss(process.pid)
        for message in (INITIALIZED, *(call(number, "say", count=50_000, size=1_000) for number in range(2))):
            process.stdin.write(encoded(message) + b"\n")
        process.stdin.flush()
        highest = _highest(process.pid, seconds=1.0)
        assert highest - before < FLAT
        # Both are answered as soon as somebody reads again.
        left = {0, 1}
        while left:
            line = process.stdout.readline()
            if b'"result"' in line:
                left.discard(int(line.split(b'"id":')[1].split(b",")[0]))
        assert max(highest, _rss(process.pid)) - before < FLAT
    finally:
        process.stdin.close()
        process.wait(2 * BOUND)
        process.stdout.close()


def _highest(pid: int, seconds: float) -> int:
    """The most memory that a process has in that time."""
    highest, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        highest = max(highest, _rss(pid))
        time.sleep(0.02)
    return highest


def _ask_for_much(line: RawConnection, session: str | None) -> None:
    """A call that says 100 MB before it answers, over either era."""
    size = {"count": 100_000, "size": 1_000}
    if session is not None:
        line.write("POST", {"Mcp-Session-Id": session}, encoded(call(1, "say", **size)))
        return
    params = described({"name": "say", "arguments": size})
    params["_meta"]["io.modelcontextprotocol/logLevel"] = "debug"
    line.write("POST", stateless_headers("tools/call", "say"), encoded(request(1, "tools/call", params)))


@pytest.mark.requirement("transport:http")
@pytest.mark.parametrize("stateless", [True, False])
def test_a_client_that_stops_reading_its_stream_costs_little(
    serve_target: ServeTarget, stateless: bool
) -> None:
    served = serve_target(threads=8)
    with RawConnection(served.port) as first:
        session = None if stateless else first.post(INITIALIZE).headers["mcp-session-id"]
    before = _rss(served.process.pid)
    with RawConnection(served.port, receive_buffer=4096) as line:
        _ask_for_much(line, session)
        assert line.response().streams
        for _ in range(10):
            check_well(served)
            assert _highest(served.process.pid, seconds=0.1) - before < FLAT
    check_well(served)


@pytest.mark.requirement("transport:http")
def test_threads_that_write_to_nobody_come_back(serve_target: ServeTarget) -> None:
    """Four threads, eight clients that do not read: all threads are held, until their patience ends."""
    # As if the app did not know how many threads there are: else it would not let them have all.
    served = serve_target(threads=4, patience=0.3, max_requests=100, max_client_requests=100)
    with ExitStack() as stack:
        lines = [stack.enter_context(RawConnection(served.port, receive_buffer=4096)) for _ in range(8)]
        for line in lines:
            _ask_for_much(line, None)
        # A call waits for a thread, and has one soon.
        check_well(served)
        until(lambda: all(line.at_end() for line in lines), time.monotonic() + 4 * BOUND)
    check_well(served)
