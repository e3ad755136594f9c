"""What a bad server does to one call, and that nobody else notices."""

from __future__ import annotations

import gzip
import json
import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest

from mcp_actors import Client, errors
from tests.client.waiting import BOUND, in_thread, opened_at_the_end, until
from tests.servers.http_peer import HttpPeer, Turn, text
from tests.transports.http.conftest import ERAS, MakeClient, MakePeer

pytestmark = pytest.mark.requirement("error:matrix")

LIMIT = 100_000


def raw(data: bytes) -> Callable[[Turn], None]:
    """Write this, and close."""

    def write(turn: Turn) -> None:
        turn.write(data)
        turn.drop()

    return write


def body(status: int, data: bytes = b"", kind: str | None = None, **headers: str) -> Callable[[Turn], None]:
    return lambda turn: turn.status(status, data, kind, **headers)


def half_a_stream(turn: Turn) -> None:
    turn.stream().write(b'data: {"jsonrpc": "2.0", "id"')
    turn.drop()


def stream_without_answer(turn: Turn) -> None:
    turn.stream().notify("notifications/message", level="info", data="hm").end()


def reset_in_the_stream(turn: Turn) -> None:
    turn.stream().notify("notifications/message", level="info", data="hm")
    turn.reset()


def giant_event(turn: Turn) -> None:
    stream = turn.stream()
    try:
        for _ in range(100):
            stream.write(b"data: " + b"x" * 50_000)
    except OSError:
        turn.over = True


def giant_body(turn: Turn) -> None:
    turn.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 8589934592\r\n\r\n")
    try:
        for _ in range(10_000):
            turn.write(b" " * 65_536)
    except OSError:
        turn.over = True


def gzip_bomb(turn: Turn) -> None:
    bomb = gzip.compress(b" " * 50_000_000)
    turn.status(200, bomb, "application/json", Content_Encoding="gzip")


def bad_chunk(turn: Turn) -> None:
    turn.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")
    turn.drop()


def many_headers(turn: Turn) -> None:
    turn.write(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 20_000 + b"Content-Length: 0\r\n\r\n")
    turn.drop()


def other_id(turn: Turn) -> None:
    turn.json({"jsonrpc": "2.0", "id": 999_999, "result": {}})


FAULTS: dict[str, tuple[Callable[[Turn], None], type[errors.McpError], str]] = {
    "500": (body(500, b"oops"), errors.ConnectionLost, "HTTP 500 with 'oops'"),
    "502 html": (body(502, b"<html>", "text/html"), errors.ConnectionLost, "HTTP 502"),
    "503": (body(503, Retry_After="5"), errors.ConnectionLost, "HTTP 503"),
    "429": (body(429), errors.ConnectionLost, "HTTP 429"),
    "404 without session": (body(404, b"no"), errors.ConnectionLost, "HTTP 404"),
    "401": (body(401), errors.ConnectionLost, "HTTP 401: the server wants to know who asks"),
    "403": (body(403), errors.ConnectionLost, "HTTP 403: the server does not allow it"),
    "200 html": (body(200, b"<html>", "text/html"), errors.ConnectionLost, "HTTP 200 with '<html>'"),
    "no type": (body(200, b"{}"), errors.ConnectionLost, "no answer in HTTP 200"),
    "empty": (body(200, b"", "application/json"), errors.ConnectionLost, "HTTP 200 with nothing"),
    "202": (body(202), errors.ConnectionLost, "no answer in HTTP 202"),
    "cut json": (body(200, b'{"jsonrpc": "2.0", "id', "application/json"), errors.ConnectionLost, "no answer"),
    "other id": (other_id, errors.ConnectionLost, "no answer"),
    "cut body": (
        raw(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"),
        errors.ConnectionLost,
        "in the middle of a response",
    ),
    "bad chunk": (bad_chunk, errors.ConnectionLost, "broke"),
    "not http": (raw(b"SSH-2.0-OpenSSH\r\n"), errors.ConnectionLost, "broke"),
    "many headers": (many_headers, errors.ConnectionLost, "100 headers"),
    "nothing": (raw(b""), errors.ConnectionLost, "closed the connection without an answer"),
    "reset": (lambda turn: turn.reset(), errors.ConnectionLost, "reset the connection"),
    "half a stream": (half_a_stream, errors.ConnectionLost, "before the answer"),
    "reset in the stream": (reset_in_the_stream, errors.ConnectionLost, "before the answer"),
    "stream without answer": (stream_without_answer, errors.ConnectionLost, "before the answer"),
    "giant event": (giant_event, errors.FrameTooLarge, "above the limit of 10000"),
    "giant body": (giant_body, errors.FrameTooLarge, "limit of 100000 bytes"),
    "gzip bomb": (gzip_bomb, errors.FrameTooLarge, "limit of 100000 bytes"),
    "no gzip": (body(200, b"{}", "application/json", Content_Encoding="gzip"), errors.ConnectionLost, "broke"),
    "302": (body(302, Location="http://127.0.0.1:1/x"), errors.ConnectionLost, "HTTP 302.*127.0.0.1:1/x"),
    "307 away": (body(307, Location="http://127.0.0.1:1/x"), errors.ConnectionLost, "HTTP 307.*127.0.0.1:1/x"),
    "307 nowhere": (body(307, Location="http://[::1"), errors.ConnectionLost, "HTTP 307"),
    "307 to a file": (body(307, Location="file:///etc/passwd"), errors.ConnectionLost, "file:///etc/passwd"),
    "102 alone": (raw(b"HTTP/1.1 102 Processing\r\n\r\n"), errors.ConnectionLost, "without an answer"),
}


@pytest.mark.parametrize("version", ERAS)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_one_calls_own(
    version: str, fault: str, make_peer: MakePeer, make_client: MakeClient
) -> None:
    handler, error, words = FAULTS[fault]
    peer = make_peer(version, sessions=False)
    gate = threading.Event()

    def slowly(turn: Turn) -> None:
        gate.wait(BOUND)
        turn.answer(text("slow"))

    peer.calls |= {"fault": handler, "slow": slowly}
    client = make_client(peer, max_frame_bytes=LIMIT).wait_ready()
    with opened_at_the_end(gate):
        slow = in_thread(lambda: client.call_tool("slow").text)
        peer.await_turns("tools/call")
        with pytest.raises(error, match=words):
            client.call_tool("fault")
        assert client.call_tool("echo", {}).text == "{}"
    assert slow.result(BOUND) == "slow"
    assert len(peer.turns("server/discover" if peer.modern else "initialize")) == 1


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


GOOD = [early_hints, old_server, unchunked_stream, byte_by_byte, compressed, odd_events, twice, foreign, goes_on]


@pytest.mark.parametrize("handler", GOOD, ids=lambda handler: handler.__name__)
def test_odd_answers_are_answers(handler: Callable[[Turn], None], peer: HttpPeer, client: Client) -> None:
    peer.calls["odd"] = handler
    for _ in range(2):
        assert client.call_tool("odd").text == "ok"
    assert client.call_tool("echo", {}).text == "{}"


def test_what_follows_the_answer_in_its_stream_is_heard(peer: HttpPeer, client: Client) -> None:
    heard = threading.Semaphore(0)
    client.on_log(lambda *_: heard.release())
    peer.calls["work"] = goes_on
    assert client.call_tool("work").text == "ok"
    assert heard.acquire(timeout=BOUND)


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


@pytest.mark.parametrize("where", ["headers", "body", "stream", "comments", "nothing"])
@pytest.mark.parametrize("version", ERAS)
def test_a_call_ends_at_its_deadline_and_its_socket_is_cut(
    version: str, where: str, make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer(version)
    cut = threading.Event()

    def drip(turn: Turn) -> None:
        start = {
            "headers": b"HTTP/1.1 200 OK\r\nX-Slow: ",
            "body": b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 999999\r\n\r\n",
            "stream": b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: ",
            "comments": b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n:",
            "nothing": b"",
        }[where]
        turn.write(start)
        turn.over = True
        if where == "nothing":
            turn.await_end()
            cut.set()
            return
        try:
            while True:
                turn.write(b":\n" if where == "comments" else b" ")
                threading.Event().wait(0.01)
        except OSError:
            cut.set()

    peer.calls["drip"] = drip
    client = make_client(peer).wait_ready()
    with pytest.raises(errors.RequestTimeout):
        client.call_tool("drip", timeout=0.2)
    assert cut.wait(BOUND)
    assert client.call_tool("echo", {}).text == "{}"
    if not peer.modern:
        peer.await_turns("notifications/cancelled")
    assert len(peer.turns("notifications/cancelled")) == (0 if peer.modern else 1)


@pytest.mark.parametrize("version", ERAS)
def test_cancelling_a_call_is_closing_its_stream_or_saying_so(
    version: str, make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer(version)
    cut = threading.Event()

    def work(turn: Turn) -> None:
        turn.stream()
        turn.await_end()
        cut.set()

    peer.calls["work"] = work
    client = make_client(peer).wait_ready()
    future = client.submit_tool("work")
    id_ = peer.await_turns("tools/call").message["id"]
    assert future.cancel()
    assert cut.wait(BOUND)
    if not peer.modern:
        assert peer.await_turns("notifications/cancelled").params["requestId"] == id_
    assert client.call_tool("echo", {}).text == "{}"
    assert len(peer.turns("notifications/cancelled")) == (0 if peer.modern else 1)


def test_a_stream_that_breaks_again_and_again_is_resumed_a_few_times_only(
    make_peer: MakePeer, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_actors.transports.http.grip.Grip.rest", lambda *_: False)
    peer = make_peer("2025-11-25", listens=False)

    def work(turn: Turn) -> None:
        turn.stream().send(id="1", retry=0)
        turn.drop()

    peer.calls["work"] = work
    client = make_client(peer).wait_ready()
    peer.await_turns("GET")
    peer.on("GET", lambda turn: turn.drop())
    with pytest.raises(errors.ConnectionLost, match="before the answer"):
        client.call_tool("work")
    assert 2 <= len(peer.turns("GET")) <= 6
    assert {turn.headers["last-event-id"] for turn in peer.turns("GET")[1:]} == {"1"}


def test_a_stream_of_news_that_ends_at_once_is_not_asked_for_in_a_storm(
    make_peer: MakePeer, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    rests: list[float] = []

    def rest(_grip: Any, seconds: float) -> bool:
        rests.append(seconds)
        return len(rests) > 20

    monkeypatch.setattr("mcp_actors.transports.http.grip.Grip.rest", rest)
    peer = make_peer("2025-11-25")
    peer.on("GET", lambda turn: turn.stream().send(retry=0).end())
    make_client(peer).wait_ready()
    peer.await_turns("GET", 21)
    assert rests[0] >= 0.1
    assert sum(rests) > 10


def test_an_answer_in_the_stream_of_news_is_nobodys(make_peer: MakePeer, make_client: MakeClient) -> None:
    peer = make_peer("2025-11-25")
    gate = threading.Event()

    def work(turn: Turn) -> None:
        peer.await_listener().send(turn.result(text("from elsewhere")))
        peer.await_listener().notify("notifications/tools/list_changed")
        gate.wait(BOUND)
        turn.answer(text("mine"))

    peer.calls["work"] = work
    client = make_client(peer)
    client.on_tools_changed(lambda *_: gate.set())
    assert client.call_tool("work").text == "mine"


def test_an_oversized_event_of_news_is_lost_alone(make_peer: MakePeer, make_client: MakeClient) -> None:
    peer = make_peer("2025-11-25")
    client = make_client(peer, max_frame_bytes=LIMIT).wait_ready()
    stream = peer.await_listener()
    stream.send(id="9", retry=0)
    stream.write(b"data: " + b"x" * (LIMIT + 10))
    assert "last-event-id" not in peer.await_turns("GET", 2).headers
    assert client.call_tool("echo", {}).text == "{}"
    assert len(peer.turns("initialize")) == 1


@pytest.mark.parametrize("session", ["a b", "a\tb", "ä", "x" * 1025])
def test_a_session_id_that_breaks_the_rules_is_never_sent_back(
    session: str, make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer("2025-11-25")
    result = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "x", "version": "1"}}
    peer.on("initialize", lambda turn: turn.answer(result, Mcp_Session_Id=session))
    with pytest.raises(errors.StartFailed, match="session id"):
        make_client(peer).wait_ready()
    assert not any("mcp-session-id" in turn.headers for turn in peer.heard)


def test_notifications_to_a_server_that_does_not_answer_them_do_not_pile_up(
    make_peer: MakePeer, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_actors.transports.http.wire._NOTICE_SECONDS", 0.05)
    peer = make_peer("2025-11-25")
    ended = threading.Semaphore(0)

    def ignore(turn: Turn) -> None:
        turn.await_end()
        ended.release()

    peer.on("notifications/roots/list_changed", ignore)
    client = make_client(peer, roots=["file:///tmp"]).wait_ready()
    client.send_roots_changed()
    peer.await_turns("notifications/roots/list_changed")
    until(lambda: client.ping() is None and ended.acquire(blocking=False))


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

    peer.on("notifications/initialized", accept)
    client = make_client(peer).wait_ready()
    for _ in range(3):
        assert client.call_tool("echo", {}).text == "{}"


def test_the_name_of_a_server_that_does_not_exist_is_said(make_client: MakeClient) -> None:
    with pytest.raises(errors.StartFailed, match="its name has no address"):
        make_client("http://no-such-host.invalid/mcp").wait_ready()


def test_a_server_that_nobody_runs_is_tried_and_then_parked(make_client: MakeClient) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    client = make_client(f"http://127.0.0.1:{port}/mcp")
    with pytest.raises(errors.StartFailed, match="in 3 attempts.*refused the connection"):
        client.wait_ready()
