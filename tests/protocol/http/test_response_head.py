"""Heads read in one step: the same as the standard library reads, or left to it."""

from __future__ import annotations

import io
from http.client import HTTPException, HTTPResponse
from itertools import product
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from mcp_actors.protocol.http.response_head import ResponseHead, usual_head

STATUS_LINES = [
    *(b"HTTP/1.1 %d Words of it" % status for status in (200, 202, 204, 304, 401, 404, 503, 100, 103, 600)),
    *(b"HTTP/1.1 200 ", b"HTTP/1.1 200  OK ", b"HTTP/1.1 200", b"HTTP/1.1 20 OK", b"HTTP/1.1 2000 OK"),
    *(b"HTTP/1.0 200 OK", b"HTTP/1.2 200 OK", b"HTTP/2 200 OK", b"http/1.1 200 OK", b"HTTP/1.1 200 \xe9"),
]
FRAMING = [
    *(b"Content-Length: 5", b"content-length:7", b"Content-Length: 5, 5", b"Content-Length: -1"),
    *(b"Content-Length: " + b"1" * 30, b"Content-Length:", b"CONTENT-LENGTH: +3", b"Content-Length: 1_0"),
    *(b"Transfer-Encoding: chunked", b"transfer-encoding:\tCHUNKED", b"Transfer-Encoding: gzip, chunked"),
    *(b"Connection: close", b"Connection: keep-alive", b"connection: Upgrade, Close", b"Connection:"),
]
OTHERS = [
    *(b"Content-Type: application/json", b"Mcp-Session-Id: abc", b"X: a: b"),
    *(b"Empty:", b"Tab:\ta\tb", b"X-!#$: 1"),
    *(b" folded", b"\tfolded", b"no colon", b": no name", b"a b: c"),
    *(b"X: \x00", b"X: \xff", b"X: a\rb", b"X: a\x0bb"),
]
ENDS = st.sampled_from([b"\r\n", b"\n", b""])
heads = st.builds(
    lambda status, lines, ends, rest: (
        b"".join(line + end for line, end in zip([status, *lines, b""], ends, strict=False)) + rest
    ),
    st.one_of(st.just(STATUS_LINES[0]), st.sampled_from(STATUS_LINES)),
    st.lists(st.one_of(st.sampled_from(OTHERS[:6]), st.sampled_from(FRAMING + OTHERS)), max_size=5),
    st.one_of(st.just([b"\r\n"] * 9), st.lists(ENDS, min_size=9, max_size=9)),
    st.sampled_from([b"", b"{}", b"HTTP/1.1 500 No\r\n\r\n", b"\r\n"]),
)


class Received:
    """What the standard library takes for a socket."""

    def __init__(self, data: bytes) -> None:
        self.file = io.BytesIO(data)

    def makefile(self, _mode: str) -> io.BytesIO:
        return self.file


def as_usual(data: bytes) -> ResponseHead | None:
    """What the standard library reads; None if it refuses."""
    received: Any = Received(data)
    response: Any = HTTPResponse(received, method="POST")
    try:
        response.begin()
    except HTTPException:
        return None
    size = received.file.tell()
    fields = [(name, value.strip(" \t")) for name, value in response.headers.items()]
    length = response.length
    return ResponseHead(
        size, response.status, response.reason, fields, length, response.chunked, response.will_close
    )


def test_any_two_fields_under_any_status_are_what_the_standard_library_reads() -> None:
    usual = 0
    for lines in product(STATUS_LINES, FRAMING + OTHERS, FRAMING + OTHERS):
        data = b"\r\n".join((*lines, b"", b"rest"))
        head = usual_head(data)
        if head is not None:
            usual += 1
            assert head == as_usual(data), data
    assert usual > 500


@given(heads)
def test_what_is_read_in_one_step_is_what_the_standard_library_reads(data: bytes) -> None:
    head = usual_head(data)
    event("usual" if head is not None else "not usual")
    if head is not None:
        assert head == as_usual(data)


@given(heads, st.integers(min_value=0))
def test_half_a_head_is_none(data: bytes, cut: int) -> None:
    head = usual_head(data)
    if head is not None:
        assert usual_head(data[: cut % head.size]) is None
        assert usual_head(data[: head.size]) == head


@pytest.mark.parametrize(
    ("data", "length", "chunked", "closes"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", 2, False, False),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n", None, True, False),
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", 0, False, True),
        (b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n", None, False, True),
        (b"HTTP/1.1 200 OK\r\n\r\n", None, False, True),
    ],
)
def test_what_servers_usually_write_is_read_in_one_step(
    data: bytes, length: int | None, chunked: bool, closes: bool
) -> None:
    head = usual_head(data)
    assert head is not None
    assert (head.length, head.chunked, head.closes) == (length, chunked, closes)


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX: folded\r\n here\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: " + b"1" * 5000 + b"\r\n\r\n",
        b"HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"",
    ],
)
def test_what_is_special_is_left_to_the_standard_library(data: bytes) -> None:
    assert usual_head(data) is None
