"""The app under waitress, cheroot, gunicorn and werkzeug, bare and inside Flask and Django, in both eras."""

from __future__ import annotations

import http.client
import importlib.util
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from mcp_actors import Client
from mcp_actors.protocol.http.event_stream import EventStream, ServerEvent
from tests.client.waiting import BOUND, in_thread, until
from tests.server.http.driver import BOTH
from tests.server.http.fake_peer import NEWEST, described, initialize, notification, request

ROOT: Final = Path(__file__).parents[3]
SITE: Final = "tests.server.http.programs.site"
ERAS: Final = ("2026-07-28", "2025-11-25", "2025-03-26")

pytestmark = [pytest.mark.real, pytest.mark.requirement("transport:wsgi")]


class Serving(NamedTuple):
    """A WSGI server that runs, and where its endpoint is."""

    kind: str
    port: int
    path: str
    #: Whether it lets the app see that a client has gone before anything is written.
    sees_clients: bool

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}{self.path}"


def _gunicorn(log: Any) -> tuple[subprocess.Popen[str], int]:
    with socket.create_server(("127.0.0.1", 0)) as line:
        command = ["gunicorn", "--preload", "-k", "gthread", "--threads", "8", "-w", "1"]
        process = _start([*command, "-b", f"fd://{line.fileno()}", f"{SITE}:app"], log, line.fileno())
        return process, line.getsockname()[1]


def _own(kind: str, log: Any) -> tuple[subprocess.Popen[str], int]:
    process = _start(["tests.server.http.programs.serving", kind], log)
    assert process.stdout is not None
    return process, int(process.stdout.readline())


def _start(arguments: list[str], log: Any, *fds: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", *arguments],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=log,
        pass_fds=fds,
        text=True,
    )


_KINDS: Final = {
    "waitress": ("waitress", "/mcp", True),
    "cheroot": ("cheroot", "/mcp", False),
    "gunicorn": ("gunicorn", "/mcp", True),
    "dispatcher": ("werkzeug", "/tools/mcp", True),
    "flask-view": ("werkzeug", "/inside", True),
    "django-view": ("django", "/inside", True),
}


@pytest.fixture(scope="module", params=_KINDS)
def serving(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    kind, path, sees_clients = _KINDS[request.param]
    if importlib.util.find_spec(kind) is None:
        pytest.skip(f"{kind} is not installed")
    log_path = tmp_path_factory.mktemp("serving") / "log"
    with log_path.open("w") as log:
        process, port = _gunicorn(log) if kind == "gunicorn" else _own(kind, log)
        one = Serving(request.param, port, path, sees_clients)
        try:
            until(lambda: _answers(port), otherwise=log_path.read_text)
            yield one
        finally:
            process.terminate()
            try:
                process.wait(2 * BOUND)
            finally:
                process.kill()
                process.communicate()
    assert "Traceback" not in log_path.read_text()


def _answers(port: int) -> bool:
    with socket.socket() as line:
        return line.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def connect(serving: Serving) -> Iterator[Callable[..., Client]]:
    made: list[Client] = []

    def make(**options: Any) -> Client:
        made.append(Client.http(serving.url, proxies={}, **options))
        return made[-1].wait_ready()

    yield make
    for client in made:
        client.close()


class Wire:
    """One connection over which a test speaks HTTP itself."""

    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self._connection = http.client.HTTPConnection("127.0.0.1", serving.port, timeout=BOUND)
        self._stream = EventStream(10**6)
        self._events: list[ServerEvent] = []

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def send(self, method: str, message: Any = None, **headers: str) -> http.client.HTTPResponse:
        usual = {"Accept": BOTH} | ({} if message is None else {"Content-Type": "application/json"})
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        body = None if message is None else json.dumps(message)
        self._connection.request(method, self._serving.path, body, usual | given)
        self.response = self._connection.getresponse()
        return self.response

    def call(self, tool: str, **arguments: Any) -> http.client.HTTPResponse:
        """A call of 2026-07-28."""
        message, headers = described(
            "tools/call", params={"name": tool, "arguments": arguments, "_meta": _progress()}
        )
        return self.send("POST", message, **headers, Mcp_Name=tool)

    def begin(self, tool: str) -> None:
        """Send a call and do not wait for anything."""
        message, headers = described("tools/call", params={"name": tool})
        usual = {"Accept": BOTH, "Content-Type": "application/json"}
        self._connection.request(
            "POST", self._serving.path, json.dumps(message), usual | headers | {"Mcp-Name": tool}
        )

    def event(self) -> ServerEvent:
        while not self._events:
            piece = self.response.read1(65536)
            assert piece, "the stream ended"
            self._events = self._stream.feed(piece)
        return self._events.pop(0)

    def close(self) -> None:
        """Hang up."""
        if hasattr(self, "response"):
            self.response.close()
        self._connection.close()


def _progress() -> dict[str, Any]:
    meta = described("x")[0]["params"]["_meta"]
    return {**meta, "progressToken": "p"}


@pytest.fixture
def wire(serving: Serving) -> Iterator[Callable[[], Wire]]:
    made: list[Wire] = []

    def make() -> Wire:
        made.append(Wire(serving))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def seen(serving: Serving) -> Callable[[], dict[str, int]]:
    def look() -> dict[str, int]:
        with Wire(serving) as one:
            found: dict[str, int] = json.loads(one.call("tell").read())["result"]["structuredContent"]
            return found

    return look


@pytest.mark.requirement("transport:http")
@pytest.mark.parametrize("era", ERAS)
def test_our_client_and_our_server_understand_each_other(era: str, connect: Callable[..., Client]) -> None:
    client = connect(protocol=era)
    assert client.protocol_version == era
    assert {"add", "count", "wait"} <= {tool.name for tool in client.list_tools()}
    calls = [in_thread(lambda n=n: client.call_tool("add", {"a": n, "b": 1}).text) for n in range(12)]  # type: ignore[misc]
    assert [call.result(4 * BOUND) for call in calls] == [str(n + 1) for n in range(12)]
    heard: list[float] = []
    told = client.call_tool("count", {"to": 5}, on_progress=lambda one: heard.append(one.progress))
    assert (told.text, heard) == ("counted", [1, 2, 3, 4, 5])
    assert client.call_tool("place", {"region": " ä "}).text == " ä "
    client.ping()


@pytest.mark.parametrize("era", ["2026-07-28", "2025-11-25"])
def test_a_tool_can_ask_the_user(era: str, connect: Callable[..., Client]) -> None:
    client = connect(protocol=era, elicitation_handler=lambda _question: {"name": "Ada"})
    assert client.call_tool("ask").text == "hello Ada"


@pytest.mark.parametrize("era", ["2026-07-28", "2025-11-25"])
def test_changes_are_told_to_those_who_listen(era: str, connect: Callable[..., Client]) -> None:
    client = connect(protocol=era)
    heard: list[str] = []
    detach = client.on_notification(lambda one: heard.append(one.method))

    def told() -> bool:
        client.call_tool("grow")
        return "notifications/tools/list_changed" in heard

    until(told)
    detach()


def test_a_client_of_http_and_sse_is_served(serving: Serving) -> None:
    if serving.kind.endswith("-view"):
        pytest.skip("a view has one address")
    with Client.sse(serving.url.removesuffix("/mcp") + "/sse", proxies={}) as client:
        assert client.call_tool("add", {"a": 1, "b": 2}).text == "3"


def test_each_event_goes_out_when_it_is_written(
    wire: Callable[[], Wire], seen: Callable[[], dict[str, int]]
) -> None:
    one = wire()
    response = one.call("step")
    assert response.headers["Content-Type"] == "text/event-stream"
    assert json.loads(one.event().data)["params"]["progress"] == 1
    before = seen()["finished"]
    with wire() as other:
        other.call("release").read()
    assert json.loads(one.event().data)["result"]["content"][0]["text"] == "finished"
    assert response.read() == b""
    assert seen()["finished"] == before + 1


@pytest.mark.requirement("transport:http")
def test_hanging_up_during_a_stream_cancels_the_call(
    wire: Callable[[], Wire], seen: Callable[[], dict[str, int]]
) -> None:
    before = seen()["cancelled"]
    one = wire()
    one.call("step")
    one.event()
    one.close()
    until(lambda: seen()["cancelled"] == before + 1)


@pytest.mark.requirement("transport:http")
def test_hanging_up_before_anything_was_said_cancels_the_call(
    serving: Serving, wire: Callable[[], Wire], seen: Callable[[], dict[str, int]]
) -> None:
    before = seen()
    one = wire()
    one.begin("wait")
    until(lambda: seen()["begun"] == before["begun"] + 1)
    one.close()
    if serving.sees_clients:
        until(lambda: seen()["cancelled"] == before["cancelled"] + 1)
    else:
        with wire() as other:
            other.call("release").read()
        until(lambda: seen()["finished"] == before["finished"] + 1)


def _opened(wire: Callable[[], Wire]) -> dict[str, str]:
    with wire() as one:
        session = one.send("POST", initialize(NEWEST)).headers["Mcp-Session-Id"]
        one.response.read()
        headers = {"Mcp_Session_Id": session, "MCP_Protocol_Version": NEWEST}
        assert one.send("POST", notification("notifications/initialized"), **headers).status == 202
        one.response.read()
    return headers


@pytest.mark.requirement("transport:http")
def test_a_session_its_stream_and_its_end(wire: Callable[[], Wire]) -> None:
    headers = _opened(wire)
    stream = wire()
    assert stream.send("GET", **headers).status == 200
    first = stream.event()
    assert (first.id, first.data) == ("0-0", b"")
    with wire() as one:
        assert one.send("GET", **headers).status == 409
        one.response.read()
        assert one.send("DELETE", **headers).status == 204
        one.response.read()
        assert stream.response.read() == b""
        assert one.send("POST", request("ping"), **headers).status == 404
        one.response.read()


@pytest.mark.requirement("transport:http")
def test_a_call_that_closes_its_connection_is_fetched_later(wire: Callable[[], Wire]) -> None:
    headers = _opened(wire)
    with wire() as one:
        one.send("POST", request("tools/call", 5, {"name": "later"}), **headers)
        last = one.event().id
        assert last is not None
        one.response.read()
    with wire() as one:
        assert one.send("GET", **headers, Last_Event_ID=last).status == 200
        while not (event := one.event()).data:
            pass
        assert json.loads(event.data)["id"] == 5
        assert one.response.read() == b""
    with wire() as one:
        one.send("DELETE", **headers).read()


def test_a_body_in_chunks_needs_no_length(serving: Serving) -> None:
    message, headers = described("tools/list")
    body = json.dumps(message).encode()
    connection = http.client.HTTPConnection("127.0.0.1", serving.port, timeout=BOUND)
    try:
        connection.request(
            "POST",
            serving.path,
            iter([body[:10], body[10:]]),
            headers | {"Accept": BOTH, "Content-Type": "application/json"},
            encode_chunked=True,
        )
        response = connection.getresponse()
        assert response.status == 200, response.read()
        assert json.loads(response.read())["id"] == 1
    finally:
        connection.close()


@pytest.mark.requirement("security:limits")
def test_streams_never_take_the_last_threads(
    wire: Callable[[], Wire], seen: Callable[[], dict[str, int]]
) -> None:
    streams = []
    for _ in range(6):
        stream = wire()
        assert stream.send("GET", **_opened(wire)).status == 200
        streams.append(stream)
    with wire() as one:
        refused = one.send("GET", **_opened(wire))
        assert (refused.status, refused.headers["Retry-After"]) == (503, "5")
        refused.read()
    assert seen()["pid"]
    for stream in streams:
        stream.close()

    def freed() -> bool:
        with wire() as one:
            return one.send("GET", **_opened(wire)).status == 200

    until(freed)


def test_a_tool_sees_the_request_of_the_framework_that_it_runs_in(
    serving: Serving, connect: Callable[..., Client]
) -> None:
    told = connect().call_tool("where").text
    assert told == ("/inside" if serving.kind == "flask-view" else "no framework")


@pytest.mark.requirement("security:origin")
def test_a_page_from_elsewhere_is_refused(wire: Callable[[], Wire]) -> None:
    with wire() as one:
        assert one.send(
            "POST", initialize(), Host="evil.example.com", Origin="http://evil.example.com"
        ).status in (
            403,
            421,
        )
        one.response.read()
