"""Requests over pooled connections: what is used again, repeated, cut, and what is not."""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import urllib3

from mcp_actors.transports.http.connections import HeldConnection
from mcp_actors.transports.http.engine import Engine, Errand
from mcp_actors.transports.http.faults import plain
from mcp_actors.transports.http.grip import Grip
from tests.client.waiting import BOUND, in_thread
from tests.servers.http_peer import HttpPeer, Turn

pytestmark = pytest.mark.requirement("transport:http")


@pytest.fixture
def engine() -> Iterator[Engine]:
    one = Engine(None, None, BOUND)
    yield one
    one.close()


def ask(engine: Engine, peer: HttpPeer, body: bytes = b"{}", grip: Grip | None = None) -> Any:
    errand = Errand("POST", peer.url, {}, body)
    return engine.request(errand, {"Content-Type": "application/json"}, grip or Grip())


def test_cutting_a_request_that_is_over_does_not_hurt_the_next(engine: Engine, peer: HttpPeer) -> None:
    peer.on("POST", lambda turn: turn.status(200, b"hello"))
    first = Grip()
    assert ask(engine, peer, grip=first).read() == b"hello"
    gate = threading.Event()

    def slowly(turn: Turn) -> None:
        turn.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
        gate.wait(BOUND)
        turn.write(b"again")

    peer.on("POST", slowly)
    second = Grip()
    response = ask(engine, peer, grip=second)
    assert second.reused
    first.cut()
    gate.set()
    assert response.read() == b"again"
    assert peer.connections == 1


def test_a_request_that_could_not_be_written_whole_is_sent_over_another_connection(
    engine: Engine, peer: HttpPeer
) -> None:
    peer.on("POST", lambda turn: turn.status(200, b"%d" % len(turn.body)))
    ask(engine, peer).read()

    def early(turn: Turn) -> None:
        if turn.connection == 1:
            turn.reset()

    peer.on("early", early)
    body = b'{"x": "%s"}' % (b"x" * 20_000_000)
    grip = Grip()
    assert ask(engine, peer, body, grip).read() == b"%d" % len(body)
    assert not grip.reused
    assert len(peer.turns("POST")) == 2


def test_a_request_that_was_written_whole_is_never_repeated(engine: Engine, peer: HttpPeer) -> None:
    peer.on("POST", lambda turn: turn.status(200))
    ask(engine, peer).read()
    peer.on("POST", lambda turn: turn.drop())
    grip = Grip()
    with pytest.raises(urllib3.exceptions.ProtocolError) as caught:
        ask(engine, peer, grip=grip)
    assert grip.reused
    assert grip.whole
    assert plain(caught.value) == "it closed the connection without an answer"
    assert len(peer.turns("POST")) == 2


def test_a_fresh_connection_that_breaks_is_not_tried_again(engine: Engine, peer: HttpPeer) -> None:
    peer.on("early", lambda turn: turn.reset())
    with pytest.raises(urllib3.exceptions.HTTPError):
        ask(engine, peer, b"x" * 20_000_000)
    assert peer.connections == 1


def test_tcp_watches_over_silent_connections(engine: Engine, peer: HttpPeer) -> None:
    peer.on("POST", lambda turn: turn.status(200, b"hello"))
    response = ask(engine, peer)
    assert response.connection.sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
    response.close()


def test_a_request_goes_out_in_one_piece(engine: Engine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> bytes:
            sock, _ = server.accept()
            with sock:
                data = sock.recv(65536)
                sock.sendall(b"HTTP/1.1 204 No\r\n\r\n")
                return data

        answering = in_thread(answer)
        url = f"http://127.0.0.1:{server.getsockname()[1]}/path?query#fragment"
        engine.request(Errand("POST", url, {}, b"the body"), {}, Grip()).close()
        data = answering.result(BOUND)
    assert data.startswith(b"POST /path?query HTTP/1.1\r\n")
    assert data.endswith(b"\r\n\r\nthe body")


@pytest.mark.parametrize(
    ("header", "keep"),
    [("timeout=5", 4.0), ("max=3, Timeout=75", 74.0), ("timeout=0", 0.0), ("timeout=99999", 600.0)]
    + [("timeout=-1", 4.0), ("timeout=x", 4.0), ("timeout=9999999999999", 4.0), ("", 4.0), (None, 4.0)],
)
def test_a_server_may_say_how_long_it_keeps_a_connection(header: str | None, keep: float) -> None:
    connection = HeldConnection("localhost")
    connection.note_keep_alive(header)
    assert connection.keep == keep


def test_more_connections_than_the_pool_keeps_are_closed_quietly(
    peer: HttpPeer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("mcp_actors.transports.http.engine._CONNECTIONS", 1)
    engine = Engine(None, None, BOUND)
    peer.on("POST", lambda turn: turn.status(200, b"x"))
    with caplog.at_level(logging.WARNING):
        responses = [ask(engine, peer) for _ in range(3)]
        assert [response.read() for response in responses] == [b"x"] * 3
    assert caplog.text == ""
    engine.close()


def test_an_address_that_swallows_everything_leaves_time_for_the_next(
    peer: HttpPeer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def addresses(*_: object, **__: object) -> list[Any]:
        kind = (socket.AF_INET, socket.SOCK_STREAM, 0, "")
        return [(*kind, full.getsockname()), (*kind, ("127.0.0.1", peer.port))]

    class Patient(Grip):
        def hold(self, sock: socket.socket) -> None:
            patience.append(sock.gettimeout())
            super().hold(sock)

    patience: list[float | None] = []
    engine = Engine(None, None, 0.5)
    with contextlib.ExitStack() as stack:
        full = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        # A queue that is full leaves the next one waiting.
        for _ in range(2):
            queued = stack.enter_context(socket.socket())
            queued.setblocking(False)
            queued.connect_ex(full.getsockname())
        monkeypatch.setattr(socket, "getaddrinfo", addresses)
        engine.request(Errand("GET", peer.url, {}), {}, Patient()).close()
    engine.close()
    assert [turn.method for turn in peer.heard] == ["GET"]
    # On this machine a connection takes no time. Others are farther away.
    assert patience[1] is not None
    assert patience[1] > 0.01
