"""Hostile bytes over HTTP, to a real server: each refused in its own words, and the next client served."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.client.waiting import BOUND
from tests.server.hostile.conftest import ServeTarget
from tests.server.hostile.frames import ANSWERED, UNANSWERED
from tests.server.hostile.messages import (
    INITIALIZE,
    INITIALIZED,
    call,
    described,
    encoded,
    request,
    stateless_headers,
)
from tests.server.hostile.raw_http import RawConnection, Response
from tests.servers.serving import Served, serving

LIST = encoded(request(1, "tools/list", described({})))
MIB = 1024 * 1024

pytestmark = [pytest.mark.requirement("security:limits"), pytest.mark.requirement("transport:http")]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One program for all: whatever one test does to it, the next finds it well."""
    log: Path = tmp_path_factory.mktemp("target") / "log"
    with serving(["tests.server.hostile.programs.target", "http", "{port}"], log) as one:
        yield one


def post(port: int, body: bytes, **headers: str) -> Response:
    with RawConnection(port) as line:
        return line.post(body, **headers)


def check_well(served: Served) -> None:
    """The next client is served, in both eras."""
    spelled = {name.replace("-", "_"): value for name, value in stateless_headers("tools/list").items()}
    assert post(served.port, LIST, **spelled).json["result"]["tools"]
    with RawConnection(served.port) as line:
        session = line.post(INITIALIZE).headers["mcp-session-id"]
        assert line.post(INITIALIZED, Mcp_Session_Id=session).status == 202
        answer = line.post(call(2, "add", a=1, b=2), Mcp_Session_Id=session).json
        assert answer["result"]["content"][0]["text"] == "3"
        line.write("DELETE", {"Mcp-Session-Id": session})
        assert line.response().status == 204


@pytest.mark.parametrize("name", [*ANSWERED, *UNANSWERED])
def test_a_hostile_body_is_refused_and_the_next_client_served(served: Served, name: str) -> None:
    body = ANSWERED[name][0] if name in ANSWERED else UNANSWERED[name]
    answer = post(served.port, body)
    assert answer.status == 400, (answer.status, answer.body)
    assert answer.json["error"]["code"] in (-32700, -32600, -32602)
    check_well(served)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1.evil.example"}, 421),
        ({"Host": "localhost:80@evil.example"}, 421),
        ({"Host": ""}, 421),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost.evil.example"}, 403),
        ({"Origin": "file://"}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
        ({"Accept": "text/html"}, 406),
        ({"MCP-Protocol-Version": "1999-01-01"}, 400),
        ({"MCP-Protocol-Version": "2026-07-28, 2025-11-25"}, 400),
        ({"Mcp-Session-Id": "\xff\xfe"}, 404),
        ({"Mcp-Session-Id": "x" * 30_000}, 404),
    ],
)
@pytest.mark.requirement("security:origin")
def test_a_hostile_header_is_refused(served: Served, headers: dict[str, str], status: int) -> None:
    with RawConnection(served.port) as line:
        line.write("POST", headers, encoded(call(1, "add", a=1, b=2)))
        answer = line.response()
    assert answer.status == status, (answer.status, answer.body)
    assert answer.json["error"]["code"] in (-32600, -32602)
    check_well(served)


MANY = "".join(f"X-{number}: y\r\n" for number in range(20_000))
MALFORMED = {
    "20,000 headers": (f"POST /mcp HTTP/1.1\r\nHost: localhost\r\n{MANY}\r\n", 431),
    "a long header": (f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX: {'y' * 300_000}\r\n\r\n", 431),
    "a long address": (f"GET /{'a' * 300_000} HTTP/1.1\r\nHost: localhost\r\n\r\n", 431),
    "a carriage return": ("POST /mcp HTTP/1.1\r\nHost: localhost\r\nX: a\rSet-Cookie: b\r\n\r\n", 400),
    "a newline": ("POST /mcp HTTP/1.1\r\nHost: localhost\r\nX: a\nSet-Cookie: b\r\n\r\n", 400),
    "a delete character": ("POST /mcp HTTP/1.1\r\nHost: localhost\r\nX: a\x7fb\r\n\r\n", 400),
    "a null byte": ("POST /mcp HTTP/1.1\r\nHost: localhost\r\nX: a\0b\r\n\r\n", 400),
    "a header without a name": ("POST /mcp HTTP/1.1\r\nHost: localhost\r\n: a\r\n\r\n", 400),
    "no number as length": ("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: ten\r\n\r\n", 400),
    "a negative length": ("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n", 400),
    "two lengths": ("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5, 6\r\n\r\n", 400),
    "a huge length": (
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Content-Length: {'9' * 18}\r\n\r\n",
        413,
    ),
    "a strange coding": (
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        501,
    ),
    "a chunk of no size": (
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
        400,
    ),
    "an unknown method": ("BREW /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n", 405),
    "HEAD": ("HEAD /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n", 405),
    "TRACE": ("TRACE /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n", 405),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_http_is_refused(served: Served, name: str) -> None:
    data, status = MALFORMED[name]
    with RawConnection(served.port) as line:
        line.send(data.encode("latin-1"))
        head = line.until(b"\r\n\r\n").decode("latin-1")
    assert head.split()[1] == str(status), head
    assert "set-cookie" not in head.lower()
    check_well(served)


def test_a_body_without_end_is_cut_off_and_never_held(served: Served) -> None:
    before = psutil.Process(served.process.pid).memory_info().rss
    with RawConnection(served.port) as line:
        line.write("POST", {"Transfer-Encoding": "chunked", "Content-Type": "application/json"})
        status = _endless(line)
    assert status == 413
    assert psutil.Process(served.process.pid).memory_info().rss - before < 32 * MIB
    check_well(served)


def _endless(line: RawConnection) -> int:
    piece = b"10000\r\n" + b"x" * 65536 + b"\r\n"
    try:
        for _ in range(512):
            line.send(piece)
    except ConnectionError:
        # Cut off before it could even be told.
        return 413
    return line.response().status


def test_a_body_is_taken_up_to_the_limit_and_refused_above_it(served: Served) -> None:
    def sized(size: int) -> bytes:
        frame = encoded(request(1, "tools/list", described({"pad": ""})))
        return frame.replace(b'"pad": ""', b'"pad": "%s"' % (b"x" * (size - len(frame))))

    spelled = {name.replace("-", "_"): value for name, value in stateless_headers("tools/list").items()}
    assert post(served.port, sized(4 * MIB), **spelled).status == 200
    above = post(served.port, sized(4 * MIB + 1), **spelled)
    assert (above.status, above.json["error"]["code"]) == (413, -32600)


def test_slow_clients_cost_no_thread(served: Served) -> None:
    """Twice as many half requests as the server has threads, and none of them is in the way."""
    lines = [RawConnection(served.port) for _ in range(32)]
    try:
        for number, line in enumerate(lines):
            line.write("POST", {"Content-Length": "1000", "Content-Type": "application/json"})
            line.send(b"{" * (number + 1))
        check_well(served)
        for line in lines:
            line.send(b" ")
        check_well(served)
    finally:
        for line in lines:
            line.close()
    check_well(served)


def test_pipelined_requests_are_answered_in_order(served: Served) -> None:
    with RawConnection(served.port) as line:
        headers = stateless_headers("tools/list")
        for number in range(20):
            line.write("POST", headers, encoded(request(number, "tools/list", described({}))))
        assert [line.response().json["id"] for _ in range(20)] == list(range(20))


@pytest.mark.usefixtures("many_descriptors")
def test_a_thousand_idle_connections_are_in_nobodys_way(served: Served) -> None:
    lines: list[RawConnection] = []
    try:
        for _ in range(1000):
            lines.append(RawConnection(served.port))
        check_well(served)
    finally:
        for line in lines:
            line.close()


def test_where_descriptors_are_few_the_idlest_connections_make_room(tmp_path: Path) -> None:
    words = ["tests.server.hostile.programs.target", "http", "{port}", '{"descriptors": 256}']
    lines: list[RawConnection] = []
    with serving(words, tmp_path / "log") as served:
        try:
            for _ in range(300):
                lines.append(RawConnection(served.port))
            check_well(served)
            # The first to come had been silent for the longest time.
            assert lines[0].at_end()
        finally:
            for line in lines:
                line.close()
        check_well(served)


def test_a_stream_counts_and_the_one_too_many_is_told_so(serve_target: ServeTarget) -> None:
    """Sixteen threads, twelve streams: four threads are left for calls, and calls are served."""
    served = serve_target(threads=16)
    listening: Any = request("news", "subscriptions/listen", described({"notifications": {}}))
    headers = stateless_headers("subscriptions/listen")
    lines = [RawConnection(served.port) for _ in range(20)]
    try:
        answers = []
        for line in lines:
            line.write("POST", headers, encoded(listening))
            answers.append(line.response())
        assert [answer.status for answer in answers] == [200] * 12 + [503] * 8
        assert answers[-1].headers["retry-after"]
        check_well(served)
    finally:
        for line in lines:
            line.close()


@pytest.mark.requirement("security:limits")
def test_sessions_are_bounded_and_the_one_too_many_is_told_so(tmp_path: Path) -> None:
    words = ["tests.server.hostile.programs.target", "http", "{port}", '{"max_sessions": 10}']
    with serving(words, tmp_path / "log") as served, RawConnection(served.port) as line:
        answers = [line.post(INITIALIZE) for _ in range(11)]
        assert [answer.status for answer in answers] == [200] * 10 + [503]
        line.write("DELETE", {"Mcp-Session-Id": answers[0].headers["mcp-session-id"]})
        assert line.response().status == 204
        assert post(served.port, encoded(INITIALIZE)).status == 200


def test_headers_that_come_byte_by_byte_are_read_all_the_same(served: Served) -> None:
    with RawConnection(served.port, timeout=4 * BOUND) as line:
        for byte in b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n":
            line.send(bytes([byte]))
        assert line.response().json["status"] == "ok"
