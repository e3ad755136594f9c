"""A hundred clients call while two hundred streams are open: every call is answered, every stream lives."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any, Final

import psutil
import pytest

from mcp_actors import Client
from tests.client.waiting import BOUND
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
from tests.server.hostile.raw_http import RawConnection, Response
from tests.server.hostile.test_http_input import check_well
from tests.server.talk import HANDSHAKE, STATELESS
from tests.servers.serving import Served

CLIENTS: Final = 100
CALLS: Final = 50
STREAMS: Final = 200
#: One for each stream, one for each client, and some to spare.
THREADS: Final = STREAMS + CLIENTS + 20
WORKERS: Final = 32
MIB: Final = 1024 * 1024
#: Threads have stacks, and clients buffers. Answers that gather would need ten times as much.
GROWTH: Final = 200 * MIB
PATIENCE: Final = 12 * BOUND

LISTEN: Final = encoded(
    request("news", "subscriptions/listen", described({"notifications": {"toolsListChanged": True}}))
)
CHANGED: Final = "notifications/tools/list_changed"


def open_session(line: RawConnection) -> str:
    session = line.post(INITIALIZE).headers["mcp-session-id"]
    assert line.post(INITIALIZED, Mcp_Session_Id=session).status == 202
    return session


def listen(line: RawConnection, modern: bool) -> Response:
    """Open a stream of either era; the head of the response."""
    if modern:
        line.write("POST", stateless_headers("subscriptions/listen"), LISTEN)
    else:
        line.write("GET", {"Mcp-Session-Id": open_session(line)})
    return line.response()


@contextmanager
def streams(port: int) -> Iterator[list[RawConnection]]:
    """Half of them of each era, all of them open."""
    with ExitStack() as stack:
        lines = [stack.enter_context(RawConnection(port, timeout=PATIENCE)) for _ in range(STREAMS)]
        for number, line in enumerate(lines):
            assert listen(line, modern=number % 2 == 0).streams
            if number % 2 == 0:
                assert line.event()["method"] == "notifications/subscriptions/acknowledged"
        yield lines


def call_raw(port: int, modern: bool) -> int:
    """Calls over one connection; how many had the right answer."""
    right = 0
    with RawConnection(port, timeout=PATIENCE) as line:
        session = None if modern else open_session(line)
        for number in range(CALLS):
            message: Any = call(number, "add", a=number, b=number)
            headers = {"Mcp-Session-Id": session or ""}
            if modern:
                message["params"] = described(message["params"])
                headers = stateless_headers("tools/call", "add")
            line.write("POST", headers, encoded(message))
            answer = line.response().json
            right += answer["id"] == number and answer["result"]["content"][0]["text"] == str(2 * number)
    return right


def call_with_client(url: str, modern: bool) -> int:
    """The same with a client of ours."""
    with Client.http(
        url, protocol=STATELESS if modern else HANDSHAKE, request_timeout=PATIENCE, init_timeout=PATIENCE
    ) as client:
        texts = [client.call_tool("add", {"a": number, "b": number}).text for number in range(CALLS)]
    return sum(text == str(2 * number) for number, text in enumerate(texts))


def call_all(served: Served) -> list[int]:
    """All clients at once, of both kinds and both eras."""
    works: list[Callable[[], int]] = []
    for number in range(CLIENTS // 4):
        del number
        for modern in (True, False):
            works.append(lambda modern=modern: call_raw(served.port, modern))  # type: ignore[misc]
            works.append(lambda modern=modern: call_with_client(served.url(), modern))  # type: ignore[misc]
    with ThreadPoolExecutor(CLIENTS) as pool:
        return list(pool.map(lambda work: work(), works))


class Gauge:
    """What a server process takes."""

    def __init__(self, served: Served) -> None:
        self._process = psutil.Process(served.process.pid)

    @property
    def rss(self) -> int:
        size: int = self._process.memory_info().rss
        return size

    @property
    def threads(self) -> int:
        count: int = self._process.num_threads()
        return count


@pytest.mark.stress
@pytest.mark.requirement("transport:http")
@pytest.mark.requirement("security:limits")
@pytest.mark.usefixtures("many_descriptors")
def test_calls_are_answered_and_streams_live_under_load(
    serve_target: ServeTarget, capsys: pytest.CaptureFixture[str]
) -> None:
    served = serve_target(threads=THREADS, max_streams=STREAMS, legacy_sse=False)
    gauge = Gauge(served)
    check_well(served)
    idle = gauge.rss
    with streams(served.port) as lines:
        filled = gauge.rss
        begun = time.monotonic()
        assert call_all(served) == [CALLS] * CLIENTS
        took = time.monotonic() - begun
        loaded, threads = gauge.rss, gauge.threads
        for modern in (True, False):
            with RawConnection(served.port) as one_too_many:
                refused = listen(one_too_many, modern)
                assert (refused.status, "retry-after" in refused.headers) == (503, True)
        check_well(served)
        _tell_all(served, lines)
    with capsys.disabled():
        print(  # noqa: T201 - figures to quote
            f"\n{CLIENTS} clients x {CALLS} calls beside {STREAMS} streams: "
            f"{CLIENTS * CALLS / took:,.0f} calls/s, {threads} threads, "
            f"RSS {idle // MIB} MiB, with streams {filled // MIB}, after the calls {loaded // MIB}"
        )
    assert loaded - idle < GROWTH
    # Beside those that serve: workers, the event loop, two actors and their supervisor.
    assert threads <= THREADS + WORKERS + 8


def _tell_all(served: Served, lines: list[RawConnection]) -> None:
    """Something changes, and every stream hears of it."""
    with RawConnection(served.port) as line:
        answer = line.post(call(1, "grow", name="grown"), Mcp_Session_Id=open_session(line)).json
        assert answer["result"]["content"][0]["text"] == "grown"
    for line in lines:
        assert line.event()["method"] == CHANGED
