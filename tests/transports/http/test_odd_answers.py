"""Answers that are answers all the same, and connections that are not what they seem."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable

import pytest

from mcp_actors import Client, errors
from tests.client.waiting import BOUND, until
from tests.servers.http_peer import HttpPeer, Turn, text
from tests.transports.http.conftest import MakeClient, MakePeer

pytestmark = pytest.mark.requirement("transport:http")


def early_hints(turn: Turn) -> None:
    turn.write(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")
    turn.answer(text("ok"))


def old_server(turn: Turn) -> None:
    data = json.dumps(turn.result(text("ok"))).encode()
    turn.write(b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n" + data)
    turn.drop()


def unchunked_stream(turn: Turn) -> None:
    turn.stream(chunked=False).answer(text("ok")).end()


def byte_by_byte(turn: Turn) -> None:
    data = json.dumps(turn.result(text("ok"))).encode()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(data)
    for byte in head + data:
        turn.write(bytes([byte]))


def compressed(turn: Turn) -> None:
    data = gzip.compress(json.dumps(turn.result(text("ok"))).encode())
    turn.status(200, data, "application/json; charset=utf-8", Content_Encoding="gzip")


def odd_events(turn: Turn) -> None:
    data = json.dumps(turn.result(text("ok"))).encode()
    odd = b"\xef\xbb\xbf: hello\r\nevent: other\rdata: {}\r\rfoo: bar\nid: 1\nretry: soon\n\ndata:"
    turn.stream().write(odd + data + b"\r\n\r\n").end()


def twice(turn: Turn) -> None:
    turn.stream().answer(text("ok")).answer(text("again")).end()


def foreign(turn: Turn) -> None:
    stream = turn.stream()
    stream.send({"jsonrpc": "2.0", "id": turn.message["id"] + 1, "result": text("not yours")})
    stream.answer(text("ok")).end()


def goes_on(turn: Turn) -> None:
    """A stream that does not end after the answer."""
    turn.stream().answer(text("ok")).notify("notifications/message", level="info", data="after")
    turn.await_end()


GOOD = [
    early_hints,
    old_server,
    unchunked_stream,
    byte_by_byte,
    compressed,
    odd_events,
    twice,
    foreign,
    goes_on,
]


@pytest.mark.parametrize("handler", GOOD, ids=lambda handler: handler.__name__)
def test_odd_answers_are_answers(handler: Callable[[Turn], None], peer: HttpPeer, client: Client) -> None:
    peer.calls["odd"] = handler
    for _ in range(2):
        assert client.call_tool("odd").text == "ok"
    assert client.call_tool("echo", {}).text == "{}"


def test_what_follows_the_answer_in_its_stream_is_heard(peer: HttpPeer, client: Client) -> None:
    heard = threading.Semaphore(0)
    client.on_log(lambda *_: heard.release())
    ended = threading.Event()

    def work(turn: Turn) -> None:
        goes_on(turn)
        ended.set()

    peer.calls["work"] = work
    assert client.call_tool("work").text == "ok"
    assert heard.acquire(timeout=BOUND)
    # But not for ever.
    assert ended.wait(BOUND)


def test_a_server_may_answer_before_it_has_read_the_request(peer: HttpPeer, client: Client) -> None:
    def early(turn: Turn) -> None:
        if int(turn.headers.get("content-length", 0)) > 1_000_000:
            turn.status(413, b"too much", "text/plain", Connection="close")
            turn.drop()

    peer.on("early", early)
    with pytest.raises(errors.ConnectionLost) as caught:
        client.call_tool("echo", {"big": "x" * 5_000_000})
    assert "413" in str(caught.value) or "reset" in str(caught.value)
    assert client.call_tool("echo", {}).text == "{}"


def test_a_request_that_could_not_be_written_whole_was_not_sent(peer: HttpPeer, client: Client) -> None:
    def early(turn: Turn) -> None:
        if int(turn.headers.get("content-length", 0)) > 1_000_000:
            turn.reset()

    peer.on("early", early)
    with pytest.raises(errors.ConnectionLost, match="it was not sent") as caught:
        client.call_tool("echo", {"big": "x" * 14_000_000})
    assert caught.value.outcome == "not_sent"
    assert client.call_tool("echo", {}).text == "{}"


def test_an_idle_connection_that_the_server_closed_is_not_used_again(peer: HttpPeer, client: Client) -> None:
    for number in range(5):
        client.call_tool("echo", {})
        turn = peer.await_turns("tools/call", number + 1)
        turn.drop()
        # The end has reached us when our side can read it.
        until(lambda turn=turn: turn.sock.fileno() == -1)  # type: ignore[misc]
    assert len(peer.turns("tools/call")) == 5


@pytest.mark.parametrize("announced", [True, False])
def test_a_connection_is_not_used_again_when_its_server_may_be_closing_it(
    announced: bool, peer: HttpPeer, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    if announced:
        peer.calls["echo"] = lambda turn: turn.json(turn.result(text("ok")), Keep_Alive="max=9, timeout=1")
    else:
        monkeypatch.setattr("mcp_actors.transports.http.connections.IDLE_SECONDS", 0.0)
    client = make_client(peer)
    for _ in range(3):
        client.call_tool("echo", {})
    assert len({turn.connection for turn in peer.turns("tools/call")}) == 3


@pytest.mark.parametrize("tail", [b"", b"Accepted", b"x" * 100_000])
@pytest.mark.parametrize("chunked", [False, True])
def test_what_a_server_says_to_a_notification_does_not_get_in_the_way(
    tail: bytes, chunked: bool, make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer("2025-11-25", listens=False)

    def accept(turn: Turn) -> None:
        if not chunked:
            turn.status(202, tail)
            return
        turn.write(b"HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\n")
        turn.write((b"%x\r\n%s\r\n" % (len(tail), tail) if tail else b"") + b"0\r\n\r\n")

    peer.on("notifications/roots/list_changed", accept)
    client = make_client(peer, roots=["file:///tmp"]).wait_ready()
    for number in range(10):
        client.send_roots_changed()
        peer.await_turns("notifications/roots/list_changed", number + 1)
        assert client.call_tool("echo", {}).text == "{}"
    # What is short is read, so that its connection can be used again.
    assert len(tail) > 65_536 or peer.connections <= 4
