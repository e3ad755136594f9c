"""Heads of responses: what they mean does not depend on how they come."""

from __future__ import annotations

import http.client
import io
import json
import socket
from itertools import pairwise
from typing import Any, Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcp_actors import Client, errors
from mcp_actors.transports.http.connections import Response
from tests.protocol.http.test_response_head import heads
from tests.servers.http_peer import HttpPeer, Turn, text
from tests.transports.http.conftest import MakeClient, MakePeer

pytestmark = pytest.mark.requirement("transport:http")

OK: Final = b"HTTP/1.1 200 OK\r\n"


class Pieces(io.RawIOBase):
    """A socket that gives what was received piece by piece."""

    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces = [piece for piece in pieces if piece]
        self.socket = socket.socket()
        self.socket.close()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self.pieces:
            return 0
        piece = self.pieces.pop(0)
        size = min(len(buffer), len(piece))
        buffer[:size] = piece[:size]
        if piece[size:]:
            self.pieces.insert(0, piece[size:])
        return size

    def gettimeout(self) -> None: ...

    def settimeout(self, _seconds: float | None) -> None: ...

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(self)


def read(*pieces: bytes) -> Any:
    """Everything that a response says, or the kind of error that it is."""
    received: Any = Pieces(list(pieces))
    response: Any = Response(received, method="POST")
    try:
        response.begin()
        framing = (response.length, response.chunked, response.will_close)
        said = (response.status, response.reason, response.fields, response.headers.items(), framing)
        return *said, response.read()
    except http.client.IncompleteRead as error:
        return *said, error.partial
    except (http.client.HTTPException, ValueError) as error:
        return type(error)


@given(heads, st.lists(st.integers(min_value=0), max_size=3))
@example(OK + b"Transfer-Encoding: chunked \r\n\r\n2\r\n{}\r\n0\r\n\r\n", [20])
@example(OK + b"Mcp-Session-Id: abc\t \r\nContent-Length: 2 \r\n\r\n{}", [20])
@example(OK + b"A: b\r\n" * 100 + b"\r\n", [20])
def test_a_head_means_the_same_however_tcp_cuts_it(data: bytes, cuts: list[int]) -> None:
    places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    whole = read(data)
    assert read(*(data[start:end] for start, end in pairwise(places))) == whole
    assert read(*(bytes([byte]) for byte in data)) == whole


@pytest.mark.parametrize("cut", [b"HTTP/1.1 200", OK, OK + b"Content-Le", OK + b"Content-Length: 2\r\n"])
def test_a_head_without_its_end_is_none(cut: bytes) -> None:
    assert read(cut) is http.client.RemoteDisconnected
    assert read(b"HTTP/1.1 103 Early Hints\r\n\r\n" + cut) is http.client.RemoteDisconnected


@pytest.mark.parametrize("status", [101, 204, 304])
def test_what_never_has_a_body_has_none_in_chunks_either(status: int) -> None:
    head = b"HTTP/1.1 %d Words\r\nTransfer-Encoding: chunked\r\n\r\n" % status
    *_, framing, body = read(head, b"5\r\nhello\r\n0\r\n\r\n")
    assert (framing, body) == ((0, False, True), b"")


def test_a_lone_return_begins_no_field_and_space_alone_ends_no_head() -> None:
    fields = read(OK + b"X: a\rContent-Length: 1\r\n \t\r\nContent-Length: 2\r\n\r\n{}")[2]
    assert [name for name, _ in fields] == ["X", "Content-Length"]
    assert fields[1][1] == "2"


def test_space_behind_a_value_is_no_part_of_it_in_an_unusual_head(
    make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer("2025-11-25")
    peer.open_sessions.add("of-a-test")
    about = {"capabilities": {"tools": {}}, "serverInfo": {"name": "x", "version": "1"}}

    def initialize(turn: Turn) -> None:
        answer = json.dumps(turn.result({"protocolVersion": "2025-11-25", **about})).encode()
        turn.write(OK + b"X: is\r\n folded\r\nMcp-Session-Id: of-a-test \t\r\n")
        turn.write(b"Content-Type: application/json\r\nTransfer-Encoding: chunked \r\n\r\n")
        turn.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(answer), answer))

    peer.on("initialize", initialize)
    assert make_client(peer).wait_ready().call_tool("echo", {}).text == "{}"
    assert peer.turns("tools/call")[0].headers["mcp-session-id"] == "of-a-test"


# Whether the connection is used again.


@pytest.mark.parametrize("size", [0, 100_000])
@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
def test_what_comes_after_an_answer_does_not_begin_the_next(
    kind: str, chunked: bool, size: int, peer: HttpPeer, client: Client
) -> None:
    more = b"HTTP/1.1 200 OK\r\nContent-Le"

    def chatty(turn: Turn) -> None:
        body = json.dumps(turn.result(text("x" * size))).encode()
        body = b"data: %s\n\n" % body if kind == "text/event-stream" else body
        head = b"Transfer-Encoding: chunked" if chunked else b"Content-Length: %d" % len(body)
        framed = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body) if chunked else body
        turn.write(OK + b"Content-Type: %s\r\n%s\r\n\r\n%s" % (kind.encode(), head, framed + more))
        chatty_one.append(turn.connection)

    def echo(turn: Turn) -> None:
        if turn.connection in chatty_one:
            turn.write(b"ngth: 0\r\n\r\n")
        turn.answer(text("ok"))

    chatty_one: list[int] = []
    peer.calls |= {"chatty": chatty, "echo": echo}
    for _ in range(2):
        assert client.call_tool("chatty").text == "x" * size
        assert client.call_tool("echo").text == "ok"


AMBIGUOUS = {
    "two lengths": b"Content-Length: %(size)d, %(size)d",
    "length and coding": b"Content-Length: 1\r\nTransfer-Encoding: chunked",
    "unknown coding": b"Transfer-Encoding: identity\r\nContent-Length: %(size)d",
    "two connections": b"Connection: keep-alive\r\nConnection: close\r\nContent-Length: %(size)d",
}


@pytest.mark.parametrize("framing", AMBIGUOUS)
def test_a_connection_whose_response_ends_where_each_likes_is_not_used_again(
    framing: str, peer: HttpPeer, client: Client
) -> None:
    def ambiguous(turn: Turn) -> None:
        body = json.dumps(turn.result(text("ok"))).encode()
        lines = AMBIGUOUS[framing] % {b"size": len(body)}
        if b"chunked" in lines:
            body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        turn.write(OK + b"Content-Type: application/json\r\n" + lines + b"\r\n\r\n" + body)

    peer.calls["echo"] = ambiguous
    for _ in range(3):
        assert client.call_tool("echo").text == "ok"
    assert len({turn.connection for turn in peer.turns("tools/call")}) == 3


def test_a_connection_that_speaks_something_else_from_now_on_is_not_used_again(
    peer: HttpPeer, client: Client
) -> None:
    peer.calls["other"] = lambda turn: turn.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n")
    with pytest.raises(errors.InvalidResponse, match="no HTTP status: 101"):
        client.call_tool("other")
    client.call_tool("echo", {})
    assert len({turn.connection for turn in peer.turns("tools/call")}) == 2


def test_what_comes_over_an_idle_connection_answers_nothing(peer: HttpPeer, client: Client) -> None:
    client.call_tool("echo", {})
    before = peer.turns("tools/call")[0]
    guessed = {"jsonrpc": "2.0", "id": before.message["id"] + 1, "result": text("not asked for")}
    before.json(guessed)
    assert client.call_tool("echo", {}).text == "{}"
    assert peer.turns("tools/call")[1].connection != before.connection
