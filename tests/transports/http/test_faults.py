"""What a bad server does to one call, and that nobody else notices."""

from __future__ import annotations

import gzip
import socket
import threading
import zlib
from collections.abc import Callable

import pytest

from mcp_actors import errors
from tests.client.waiting import BOUND, in_thread, opened_at_the_end, until
from tests.servers.http_peer import Turn, text
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


def nested_bomb(turn: Turn) -> None:
    bomb = gzip.compress(gzip.compress(b" " * 50_000_000))
    turn.status(200, bomb, "application/json", Content_Encoding="gzip, gzip")


def deflated_bomb(turn: Turn) -> None:
    turn.status(200, zlib.compress(b" " * 50_000_000), "application/json", Content_Encoding="deflate")


def bomb_in_the_stream(turn: Turn) -> None:
    bomb = gzip.compress(b"data: " + b" " * 50_000_000)
    turn.status(200, bomb, "text/event-stream", Content_Encoding="gzip")


def long_header(turn: Turn) -> None:
    turn.write(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 200_000 + b"\r\nContent-Length: 0\r\n\r\n")
    turn.drop()


def bad_chunk(turn: Turn) -> None:
    turn.write(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"
    )
    turn.drop()


def negative_chunk(turn: Turn) -> None:
    """Taken at its word it has no end."""
    turn.write(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n"
    )
    try:
        for _ in range(1000):
            turn.write(b" " * 65_536)
    except OSError:
        turn.over = True
    assert turn.over, "all of it was read"


def negative_chunk_in_the_stream(turn: Turn) -> None:
    turn.stream().write(b": hello\n\n")
    turn.write(b"-5\r\ndata: x\n\n")
    turn.await_end()


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
    "401": (body(401), errors.AuthorizationFailed, "HTTP 401: the server wants to know who asks"),
    "403": (body(403), errors.AuthorizationFailed, "HTTP 403: the server does not allow it"),
    "200 html": (body(200, b"<html>", "text/html"), errors.InvalidResponse, "HTTP 200 with '<html>'"),
    "no type": (body(200, b"{}"), errors.InvalidResponse, "no answer in HTTP 200"),
    "empty": (body(200, b"", "application/json"), errors.InvalidResponse, "HTTP 200 with nothing"),
    "202": (body(202), errors.InvalidResponse, "no answer in HTTP 202"),
    "cut json": (
        body(200, b'{"jsonrpc": "2.0", "id', "application/json"),
        errors.InvalidResponse,
        "no answer",
    ),
    "other id": (other_id, errors.InvalidResponse, "no answer"),
    "cut body": (
        raw(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"),
        errors.ConnectionLost,
        "in the middle of a response",
    ),
    "cut head": (raw(b"HTTP/1.1 200 OK\r\nContent-Le"), errors.ConnectionLost, "without an answer"),
    "bad chunk": (bad_chunk, errors.ConnectionLost, "broke"),
    "negative chunk": (negative_chunk, errors.ConnectionLost, "in the middle of a response"),
    "negative chunk in the stream": (
        negative_chunk_in_the_stream,
        errors.ConnectionLost,
        "before the answer",
    ),
    "not http": (raw(b"SSH-2.0-OpenSSH\r\n"), errors.ConnectionLost, "broke"),
    "many headers": (many_headers, errors.InvalidResponse, "more than 100 headers"),
    "long header": (long_header, errors.InvalidResponse, "a line of its headers is longer than 65536 bytes"),
    "nothing": (raw(b""), errors.ConnectionLost, "closed the connection without an answer"),
    "reset": (lambda turn: turn.reset(), errors.ConnectionLost, "reset the connection"),
    "half a stream": (half_a_stream, errors.ConnectionLost, "before the answer"),
    "reset in the stream": (reset_in_the_stream, errors.ConnectionLost, "before the answer"),
    "stream without answer": (stream_without_answer, errors.ConnectionLost, "before the answer"),
    "giant event": (giant_event, errors.FrameTooLarge, "above the limit of 10000"),
    "giant body": (giant_body, errors.FrameTooLarge, "limit of 100000 bytes"),
    "gzip bomb": (gzip_bomb, errors.FrameTooLarge, "limit of 100000 bytes"),
    "nested bomb": (nested_bomb, errors.FrameTooLarge, "limit of 100000 bytes"),
    "deflated bomb": (deflated_bomb, errors.FrameTooLarge, "limit of 100000 bytes"),
    "bomb in the stream": (bomb_in_the_stream, errors.FrameTooLarge, "above the limit of 10000"),
    "no gzip": (
        body(200, b"{}", "application/json", Content_Encoding="gzip"),
        errors.ConnectionLost,
        "broke: what it sent cannot be decompressed",
    ),
    "302": (body(302, Location="http://127.0.0.1:1/x"), errors.ConnectionLost, "HTTP 302.*127.0.0.1:1/x"),
    "307 away": (
        body(307, Location="http://127.0.0.1:1/x"),
        errors.ConnectionLost,
        "HTTP 307.*127.0.0.1:1/x",
    ),
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


CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
#: How a response begins, and what then comes without end.
DRIPS: dict[str, tuple[bytes, bytes]] = {
    "interim": (b"", b"HTTP/1.1 102 Processing\r\n\r\n"),
    "continue": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "reason": (b"HTTP/1.1 200 ", b"O"),
    "headers": (b"HTTP/1.1 200 OK\r\nX-Slow: ", b" "),
    "body": (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 999999\r\n\r\n", b" "),
    "size of a chunk": (CHUNKED, b"0"),
    "trailers": (CHUNKED + b"2\r\n{}\r\n0\r\n", b"X: y\r\n"),
    "stream": (b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: ", b" "),
    "comments": (b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n:", b":\n"),
    "nothing": (b"", b""),
}


@pytest.mark.parametrize("where", DRIPS)
@pytest.mark.parametrize("version", ERAS)
def test_a_call_ends_at_its_deadline_and_its_socket_is_cut(
    version: str, where: str, make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer(version)
    cut = threading.Event()

    def drip(turn: Turn) -> None:
        start, drop = DRIPS[where]
        turn.write(start)
        turn.over = True
        if not drop:
            turn.await_end()
            cut.set()
            return
        try:
            while True:
                turn.write(drop)
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


@pytest.mark.parametrize("session", ["a b", "a\tb", "ä", "x" * 1025])
def test_a_session_id_that_breaks_the_rules_is_never_sent_back(
    session: str, make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer("2025-11-25")
    result = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "serverInfo": {"name": "x", "version": "1"},
    }
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

    def gone() -> bool:
        client.ping()
        return ended.acquire(blocking=False)

    until(gone)


def test_the_name_of_a_server_that_does_not_exist_is_said(make_client: MakeClient) -> None:
    with pytest.raises(errors.StartFailed, match="its name has no address"):
        make_client("http://no-such-host.invalid/mcp").wait_ready()


def test_a_server_that_nobody_runs_is_tried_and_then_parked(make_client: MakeClient) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    client = make_client(f"http://127.0.0.1:{port}/mcp")
    with pytest.raises(errors.StartFailed, match="in 3 attempts.*refused the connection"):
        client.wait_ready()


@pytest.mark.requirement("request:lost")
@pytest.mark.parametrize("version", ERAS)
def test_a_call_that_may_be_replayed_is_not_repeated_in_a_storm(
    version: str, make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer(version)
    peer.tools.append(
        {"name": "read", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
    )
    peer.calls["read"] = body(500, b"oops")
    client = make_client(peer).wait_ready()
    client.list_tools(fresh=True)
    with pytest.raises(errors.McpError):
        client.call_tool("read", replay=True, timeout=0.5)
    # Pauses of 0.05 s at first, and twice as long each time: four tries or so, and not thousands.
    assert 2 <= len(peer.turns("tools/call")) <= 8
