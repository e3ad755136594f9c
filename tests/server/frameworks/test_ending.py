"""gunicorn is told to end while streams are open: they end, calls are answered, and nothing is waited out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypeAlias

import psutil
import pytest

from mcp_actors import Client, errors
from tests.client.conftest import quick
from tests.client.waiting import BOUND, in_thread, until
from tests.server.hostile.messages import (
    INITIALIZE,
    INITIALIZED,
    described,
    encoded,
    request,
    stateless_headers,
)
from tests.server.hostile.raw_http import RawConnection
from tests.server.talk import ERAS
from tests.servers.serving import Served, gunicorn, serving

pytestmark = [
    pytest.mark.real,
    pytest.mark.requirement("transport:wsgi"),
    pytest.mark.requirement("quality:integrations"),
]

APP = "tests.server.frameworks.ending_site:app"
HELPER = ["-c", "python:mcp_actors.contrib.gunicorn"]
#: Longer than any test waits: who waits it out fails.
FOR_EVER = 3600

Serve: TypeAlias = Callable[..., AbstractContextManager[Served]]


@pytest.fixture
def serve(tmp_path: Path) -> Serve:
    def start(*words: str, graceful: int = FOR_EVER) -> AbstractContextManager[Served]:
        *usual, app = gunicorn(APP, threads=8)
        more = ["--graceful-timeout", str(graceful), "--keep-alive", "1", *words]
        return serving([*usual, *more, *HELPER, app], tmp_path / "log")

    return start


@pytest.fixture
def served(serve: Serve) -> Iterator[Served]:
    with serve() as one:
        yield one


def ends(served: Served) -> bool:
    served.process.terminate()
    return served.process.wait(4 * BOUND) == 0


def listen(line: RawConnection) -> None:
    """A stream of 2026-07-28 that lasts."""
    params = described({"notifications": {"toolsListChanged": True}})
    line.write(
        "POST", stateless_headers("subscriptions/listen"), encoded(request(1, "subscriptions/listen", params))
    )
    assert line.response().streams
    assert line.event()["method"] == "notifications/subscriptions/acknowledged"


def listen_in_session(line: RawConnection, served: Served) -> None:
    """The stream of a session's GET."""
    with RawConnection(served.port) as other:
        session = other.post(INITIALIZE).headers["mcp-session-id"]
        assert other.post(INITIALIZED, Mcp_Session_Id=session).status == 202
    line.write("GET", {"Mcp-Session-Id": session})
    assert line.response().streams


def test_streams_end_in_good_order_and_so_does_the_program(served: Served) -> None:
    with RawConnection(served.port) as new, RawConnection(served.port) as old:
        listen(new)
        listen_in_session(old, served)
        assert ends(served)
        assert new.event()["result"]["resultType"] == "complete"
        assert new.at_end()
        assert old.at_end()


@pytest.mark.parametrize("era", ERAS)
def test_a_call_that_is_under_way_is_answered_before_the_end(served: Served, era: str) -> None:
    began: list[Any] = []
    with Client.http(
        served.url(), proxies={}, **quick({"protocol": era, "request_timeout": 4 * BOUND})
    ) as client:
        call = in_thread(lambda: client.call_tool("work", on_progress=began.append))
        until(lambda: began)
        with RawConnection(served.port) as line:
            listen(line)
            assert ends(served)
        assert call.result(BOUND).text == "worked"


def test_a_call_that_does_not_end_is_broken_off_before_gunicorn_would(serve: Serve) -> None:
    began: list[Any] = []
    with serve(graceful=4) as served, Client.http(served.url(), proxies={}, **quick({})) as client:
        call = in_thread(lambda: client.call_tool("hang", on_progress=began.append, timeout=4 * BOUND))
        until(lambda: began)
        assert ends(served)
        with pytest.raises(errors.RemoteError, match="the server was stopped"):
            call.result(BOUND)


def test_a_worker_that_is_replaced_ends_its_streams(serve: Serve) -> None:
    """After the last of its requests: no signal tells of that."""
    with serve("--max-requests", "2") as served, RawConnection(served.port) as line:

        def workers() -> set[int]:
            return {child.pid for child in psutil.Process(served.process.pid).children()}

        before = workers()
        listen(line)
        with RawConnection(served.port) as last:
            last.write("GET")
            assert last.response().status >= 400
        assert line.event()["result"]["resultType"] == "complete"
        until(lambda: not workers() & before)
