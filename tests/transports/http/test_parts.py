"""The parts of the HTTP transport, one by one: grip, crew, inbox, settings."""

from __future__ import annotations

import logging
import math
import socket
import ssl
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from mcp_actors import Client
from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.protocol.types import Tool
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.transports.contract import SendVerdict, WireEnded
from mcp_actors.transports.http import crew as crews
from mcp_actors.transports.http.crew import Crew
from mcp_actors.transports.http.engine import Errand
from mcp_actors.transports.http.grip import CutShort, Grip
from mcp_actors.transports.http.inbox import Inbox, InboxClosed
from mcp_actors.transports.http.proxies import proxy_for
from mcp_actors.transports.http.settings import HttpSettings
from mcp_actors.transports.http.transport import HttpTransport
from tests.client.waiting import BOUND, in_thread, until
from tests.transports.http.conftest import MakePeer

pytestmark = pytest.mark.requirement("transport:http")


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    one, other = socket.socketpair()
    other.settimeout(BOUND)
    yield one, other
    one.close()
    other.close()


Pair = tuple[socket.socket, socket.socket]

# Grip.


def test_cutting_wakes_whoever_reads(pair: Pair) -> None:
    grip = Grip()
    grip.hold(pair[0])
    reading = in_thread(lambda: pair[0].recv(1))
    assert grip.cut() is False
    assert reading.result(BOUND) == b""


def test_what_was_cut_before_there_was_a_socket_is_cut_with_the_first(pair: Pair) -> None:
    grip = Grip()
    grip.cut()
    grip.hold(pair[0])
    assert pair[1].recv(1) == b""


def test_a_socket_that_was_let_go_is_not_cut(pair: Pair) -> None:
    grip = Grip()
    grip.hold(pair[0])
    grip.let_go()
    grip.cut()
    pair[0].sendall(b"x")
    assert pair[1].recv(1) == b"x"


def test_nothing_begins_after_a_cut() -> None:
    grip = Grip()
    grip.begin()
    assert grip.cut() is True
    with pytest.raises(CutShort):
        grip.begin()


def test_a_cut_ends_a_rest_and_every_deadline() -> None:
    grip = Grip()
    resting = in_thread(lambda: grip.rest(math.inf))
    deadline = Deadline(grip.clock() + 100.0, grip.clock)
    assert not deadline.expired
    until(lambda: grip._rest is not None)
    grip.cut()
    assert resting.result(BOUND) is True
    assert grip.rest(100.0) is True
    assert deadline.expired


def test_a_rest_that_nobody_cuts_ends_by_itself() -> None:
    assert Grip().rest(0.001) is False


def test_cutting_an_encrypted_socket_does_not_make_it_plain(pair: Pair) -> None:
    context = ssl.create_default_context()
    encrypted = context.wrap_socket(pair[0], server_hostname="x", do_handshake_on_connect=False)
    grip = Grip()
    grip.hold(encrypted)
    grip.cut()
    assert encrypted._sslobj is not None  # type: ignore[attr-defined]
    assert pair[1].recv(1) == b""
    encrypted.close()


def test_hurrying_without_a_socket_is_nothing(pair: Pair) -> None:
    grip = Grip()
    grip.hurry(1.0)
    grip.hold(pair[0])
    grip.hurry(1.0)
    assert pair[0].gettimeout() == 1.0


# Crew.


def test_a_crew_runs_as_many_jobs_at_once_as_it_may() -> None:
    crew, gate, running = Crew("test", 2), threading.Event(), threading.Semaphore(0)

    def job() -> None:
        running.release()
        gate.wait(BOUND)

    assert crew.run(job)
    assert crew.run(job)
    for _ in range(2):
        assert running.acquire(timeout=BOUND)
    assert not crew.run(job)
    gate.set()
    until(lambda: crew.run(job))
    assert crew.close(Deadline.after(BOUND))
    assert not crew.run(job)


def test_a_crew_does_not_wait_for_ever_for_a_job() -> None:
    crew, gate, running = Crew("test", 1), threading.Event(), threading.Event()

    def job() -> None:
        running.set()
        gate.wait(BOUND)

    crew.run(job)
    assert running.wait(BOUND)
    assert not crew.close(Deadline.after(0.01))
    gate.set()


def test_a_job_may_close_its_own_crew() -> None:
    crew, closed = Crew("test", 2), threading.Event()

    def job() -> None:
        if crew.close(Deadline.after(BOUND)):
            closed.set()

    crew.run(job)
    assert closed.wait(BOUND)


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(3)])
def test_a_job_that_fails_costs_no_thread(error: BaseException, caplog: pytest.LogCaptureFixture) -> None:
    crew, done = Crew("test", 1), threading.Event()

    def fail() -> None:
        raise error

    with caplog.at_level(logging.ERROR):
        crew.run(fail)
        until(lambda: crew.run(done.set))
        assert done.wait(BOUND)
    assert "an exchange failed" in caplog.text
    crew.close(Deadline.after(BOUND))


def test_idle_threads_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crews, "_IDLE_SECONDS", 0.01)
    crew = Crew("idle-test", 1)
    crew.run(lambda: None)
    until(lambda: not [one for one in threading.enumerate() if one.name.startswith("idle-test")])
    done = threading.Event()
    assert crew.run(done.set)
    assert done.wait(BOUND)
    crew.close(Deadline.after(BOUND))


def test_a_thread_that_cannot_be_started_is_a_busy_crew(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", fail)
    assert not Crew("test", 1).run(lambda: None)


# Inbox.


def test_whoever_delivers_waits_for_room() -> None:
    inbox = Inbox(10_000_000)
    inbox.deliver(b"x" * 1_000_000)
    delivering = in_thread(lambda: inbox.deliver(b"y" * 1_000_000))
    assert [len(frame) for frame in inbox.take(None)] == [1_000_000]
    assert delivering.result(BOUND) is None
    assert inbox.take(1)[0][:1] == b"y"


def test_nobody_delivers_to_a_closed_inbox() -> None:
    inbox = Inbox(1000)
    inbox.deliver(b"last")
    inbox.finish(Ending(EndKind.EOF, "over"))
    with pytest.raises(InboxClosed):
        inbox.deliver(b"late")
    assert inbox.take(None) == [b"last"]
    with pytest.raises(WireEnded):
        inbox.take(None)


# Settings and transport.


def test_secrets_do_not_turn_up_in_reports() -> None:
    headers = {"Authorization": "Bearer abcdefgh", "X-Api-Key": "ijklmnop", "X-Name": "somebody"}
    transport = HttpTransport(HttpSettings(url="http://x/mcp?key=secret", headers=headers))
    described = transport.describe()
    assert described["url"] == "http://x/mcp"
    secrets: Any = described["secrets"]
    assert {"Bearer abcdefgh", "abcdefgh", "ijklmnop"} <= set(secrets)
    assert "somebody" not in secrets
    assert HttpSettings(url="http://x", headers=lambda: headers).secrets == ()


def test_no_part_of_the_way_to_a_server_shows_its_secrets() -> None:
    headers = {"Authorization": "Bearer the-token", "Mcp-Session-Id": "the-session"}
    settings = HttpSettings(
        url="http://x/mcp?key=the-key", headers=headers, proxies={"http": "http://me:the-password@proxy:1"}
    )
    proxy = proxy_for(settings.url, settings.proxies)
    assert proxy is not None
    errand = Errand("POST", settings.url, headers, b"the-arguments")
    assert "the-" not in f"{settings!r} {proxy!r} {errand!r}"
    assert "basic" not in repr(proxy).lower()
    assert "http://x/mcp" in repr(settings)


def test_a_header_that_is_no_text_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(TypeError):
        HttpSettings(url="http://x", headers={"A": 1})  # type: ignore[dict-item]


def test_a_tool_is_looked_at_once_for_its_headers() -> None:
    transport = HttpTransport(HttpSettings(url="http://x"))
    schema = {"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": "A"}}}
    tool = Tool(name="t", input_schema=schema)
    bad = Tool(name="t", input_schema={"x-mcp-header": "A"})
    assert transport._tool_headers("t") is None
    transport.find_tool = lambda _name: tool
    assert transport._tool_headers("t") is transport._tool_headers("t") is not None
    transport.find_tool = lambda _name: bad
    assert transport._tool_headers("t") is None


def test_a_wire_that_is_over_takes_no_frames(make_peer: MakePeer) -> None:
    transport = HttpTransport(HttpSettings(url=make_peer().url, proxies={}))
    wire = transport.open(Deadline.after(BOUND))
    with pytest.raises(ValueError, match="array"):
        wire.send(b"[]", None)
    first = wire.close(Deadline.after(BOUND))
    assert wire.close(Deadline.after(BOUND)) == first
    assert wire.send(b'{"jsonrpc":"2.0","method":"x"}', None) is SendVerdict.CLOSED
    wire.finish(Ending(EndKind.EOF, "too late"))
    assert wire.flush(Deadline.after(0.0))
    wire.forget()
    with pytest.raises(WireEnded):
        wire.wait()


def test_a_url_must_be_one() -> None:
    for url in ("ftp://x", "http://", "http://user:pass@x/"):
        with pytest.raises(ValueError, match="url must"):
            Client.http(url)
