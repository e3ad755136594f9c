"""The connections of waitress: how many there may be, and which one makes room for another."""

from __future__ import annotations

import resource
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from mcp_actors import Server
from mcp_actors.server import waitress_channels
from mcp_actors.server.waitress_channels import MOST_CONNECTIONS, FairChannel, limits
from mcp_actors.server.web import bound
from tests.client.waiting import BOUND, in_thread, opened_at_the_end

pytestmark = pytest.mark.requirement("security:limits")


class Adjustments:
    """What channels look at."""

    connection_limit = 18  # two more than the room that is kept
    outbuf_overflow = 1024
    outbuf_high_watermark = 100
    send_bytes = 1
    channel_request_lookahead = 1
    log_socket_errors = True


class Listener:
    """In the place of waitress's server."""

    def __init__(self) -> None:
        self.active_channels: dict[int, Any] = {}
        self.adj = Adjustments()
        self.map: dict[int, Any] = {}
        self.lines: list[socket.socket] = []
        self.triggered = 0

    def pull_trigger(self) -> None:
        """Wake the event loop."""
        self.triggered += 1

    def connect(self) -> FairChannel:
        ours, theirs = socket.socketpair()
        self.lines.append(theirs)
        return FairChannel(self, ours, ("there", 1), self.adj, map=self.map)

    def close(self) -> None:
        for channel in tuple(self.active_channels.values()):
            channel.handle_close()
        for line in self.lines:
            line.close()


@pytest.fixture
def listener() -> Iterator[Listener]:
    one = Listener()
    yield one
    one.close()


def test_the_connection_that_was_silent_for_the_longest_time_makes_room(listener: Listener) -> None:
    first, second = listener.connect(), listener.connect()
    first.last_activity = second.last_activity + 60
    assert (first.will_close, second.will_close) == (False, False)
    third = listener.connect()
    assert (first.will_close, second.will_close, third.will_close) == (False, True, False)
    # One that is closed already is not closed again.
    listener.connect()
    assert third.will_close


def test_a_connection_whose_request_is_served_makes_no_room(listener: Listener) -> None:
    for _ in range(2):
        busy: Any = listener.connect()
        busy.requests.append(object())
    # Nobody can be asked to go, least of all the one that comes.
    listener.connect()
    assert [one.will_close for one in listener.active_channels.values()] == [False, False, False]


def test_only_a_client_that_takes_nothing_for_long_is_hung_up_on(listener: Listener) -> None:
    channel = listener.connect()
    long_ago = time.time() - 2 * waitress_channels.STUCK_SECONDS
    channel.last_activity = long_ago
    assert (channel.writable(), channel.connected) == (False, True), "nothing waits for it"
    channel.total_outbufs_len = Adjustments.outbuf_high_watermark
    assert (channel.writable(), channel.connected) == (True, True), "nobody waits to write more"
    channel.total_outbufs_len += 1
    channel.last_activity = time.time()
    assert (channel.writable(), channel.connected) == (True, True), "it took something just now"
    channel.last_activity = long_ago
    assert (channel.writable(), channel.connected) == (False, False)


def test_what_is_gathered_leaves_as_one(listener: Listener) -> None:
    channel = listener.connect()
    sent = _watch_sending(channel, takes=True)
    pieces = channel.gather()
    channel.write_soon(b"head ")
    channel.write_soon(b"and body")
    assert sent == []
    channel.write_gathered(pieces)
    channel.write_soon(b", and more")
    assert [data for data, _ in sent] == [b"head and body", b", and more"]


def test_the_head_of_an_answer_leaves_with_the_first_piece_of_its_body(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent: list[bytes] = []
    send = FairChannel.send

    def watched(channel: FairChannel, data: bytes, do_close: bool = True) -> int:
        sent.append(bytes(data))
        return int(send(channel, data, do_close))

    monkeypatch.setattr(FairChannel, "send", watched)
    assert _served([b"first", b"second"]).endswith(b"firstsecond")
    assert [piece.partition(b"\r\n\r\n")[2] for piece in sent[:1]] == [b"first"]
    assert sent[1:] == [b"second"]


def _served(pieces: list[bytes]) -> bytes:
    """What a client receives of an answer in these pieces."""

    def app(_environ: Any, start_response: Any) -> list[bytes]:
        start_response("200 OK", [("Content-Length", str(sum(map(len, pieces))))])
        return pieces

    loop = bound(app, "127.0.0.1", 0, threads=1, max_body_bytes=1000)
    over = threading.Event()
    running = in_thread(lambda: loop.run(over.is_set))
    with opened_at_the_end(over), socket.create_connection(("127.0.0.1", loop.port), BOUND) as line:
        line.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        received = b"".join(iter(lambda: line.recv(65536), b""))
    running.result(BOUND)
    return received


def test_a_connection_is_the_thread_s_alone_while_that_writes(listener: Listener) -> None:
    channel = listener.connect()
    sent = _watch_sending(channel, takes=True)
    channel.write_soon(b"an answer")
    assert sent == [(b"an answer", False)], "the event loop would have asked for it over and over"
    assert listener.triggered == 0


def test_what_the_socket_does_not_take_is_left_to_the_event_loop(listener: Listener) -> None:
    channel = listener.connect()
    _watch_sending(channel, takes=False)
    channel.write_soon(b"an answer")
    assert (channel.writable(), listener.triggered > 0) == (True, True)


def test_the_event_loop_makes_room_for_a_thread_that_waits_to_write(listener: Listener) -> None:
    channel = listener.connect()
    sent = _watch_sending(channel, takes=True)
    channel.write_soon(b"x" * (Adjustments.outbuf_high_watermark + 1))
    assert [writable for _, writable in sent] == [True]


def _watch_sending(channel: Any, *, takes: bool) -> list[tuple[bytes, bool]]:
    """What is sent, and whether the event loop would send at that moment, too."""
    sent: list[tuple[bytes, bool]] = []

    def send(data: bytes, do_close: bool = True) -> int:
        del do_close
        sent.append((bytes(data), channel.writable()))
        return len(data) if takes else 0

    channel.send = send
    return sent


@pytest.mark.parametrize(
    ("allowed", "most"),
    [
        (resource.RLIM_INFINITY, MOST_CONNECTIONS),
        (1_000_000, MOST_CONNECTIONS),
        (1024, 1024 - 128),
        (64, 32),
    ],
)
def test_there_are_as_many_connections_as_the_system_allows(
    monkeypatch: pytest.MonkeyPatch, allowed: int, most: int
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _kind: (allowed, allowed))
    assert limits(1)["connection_limit"] == most


@pytest.mark.requirement("security:origin")
def test_a_server_at_an_address_of_ipv6_is_called_by_it_and_by_nothing_else(
    target: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    apps: list[Any] = []

    def create_server(app: Any, **_options: Any) -> Any:
        apps.append(app)
        raise SystemExit

    monkeypatch.setattr("waitress.server.create_server", create_server)
    with pytest.raises(SystemExit):
        target.run_http("2001:db8::1")
    allowed = apps[0].settings.allowed
    assert allowed.knows_host("[2001:db8::1]:8000")
    assert not allowed.knows_host("localhost:8000")
