"""A server as a WSGI app, and the WSGI server that runs it."""

from __future__ import annotations

import builtins
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import pytest
from msgspec import Meta

from mcp_actors import Client, Server
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.server import web
from mcp_actors.server.waitress_threads import StreamingThreads
from mcp_actors.server.web import Peers, Rules
from tests.client.waiting import BOUND, in_thread, opened_at_the_end, until
from tests.server.conftest import MakeServer
from tests.server.http.driver import Driver
from tests.server.http.fake_peer import initialize

ROOT = Path(__file__).parents[2]


@pytest.fixture
def shop(server: Server) -> Server:
    @server.tool(structured_output=False, scopes=["read"])
    def find(region: Annotated[str, Meta(extra_json_schema={"x-mcp-header": "Region"})]) -> str:
        return region

    @server.tool(structured_output=False)
    def greet() -> str:
        return "hello"

    server.add_tool(
        lambda **_given: "",
        name="odd",
        input_schema={"type": "object", "properties": {"x": {"type": "string", "x-mcp-header": 7}}},
    )
    return server


@pytest.mark.requirement("transport:wsgi")
def test_a_session_is_opened_and_swept_when_nobody_uses_it(
    shop: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web, "_SWEEP_SECONDS", 0.01)
    app = shop.wsgi()
    swept = threading.Event()
    sweep = app.sweep

    def look(now: float) -> None:
        sweep(now)
        swept.set()

    monkeypatch.setattr(app, "sweep", look)
    driver = Driver(app)
    answer = driver.post(initialize())
    assert (answer.status, bool(answer.session)) == (200, True)
    assert swept.wait(BOUND)
    swept.clear()
    assert swept.wait(BOUND), "it is swept again and again"


@pytest.mark.requirement("transport:wsgi")
def test_sessions_end_with_the_server(make_server: MakeServer) -> None:
    server = make_server()
    server.add_tool(lambda: 1, name="one")
    app = server.wsgi()
    driver = Driver(app)
    session = driver.post(initialize()).session
    server.close()
    again = driver.post(
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}, headers={"Mcp-Session-Id": session}
    )
    assert again.status >= 400


def test_peers_without_an_app_have_nothing_to_end(server: Server) -> None:
    peers = Peers(server)
    peers.stop(Deadline.after(0.0))
    peers._sweep()
    assert peers.join(Deadline.after(0.0))


def test_what_is_known_of_a_tool_before_it_is_called(shop: Server, caplog: pytest.LogCaptureFixture) -> None:
    rules = Rules(shop)
    assert rules.param_headers("find") is not None
    assert rules.param_headers("greet") is None
    assert rules.param_headers("none") is None
    assert rules.param_headers("odd") is None
    assert "a tool's x-mcp-header is left out" in caplog.text


@pytest.mark.parametrize(
    ("method", "params", "scopes"),
    [
        ("tools/call", {"name": "find"}, {"read"}),
        ("tools/call", {"name": "greet"}, set()),
        ("tools/call", {"name": "none"}, set()),
        ("tools/call", {"name": 7}, set()),
        ("tools/list", {"name": "find"}, set()),
        ("prompts/get", {"name": "ask"}, {"write"}),
        ("resources/read", {"uri": "shop://one"}, {"look"}),
        ("resources/read", {"uri": "shop://none"}, set()),
        ("resources/read", {"uri": 7}, set()),
    ],
)
def test_what_a_token_must_allow_is_known_before(
    shop: Server, method: str, params: dict[str, Any], scopes: set[str]
) -> None:
    shop.add_prompt(lambda: "", name="ask", scopes=["write"])
    shop.add_resource("shop://one", lambda: "", scopes=["look"])
    assert Rules(shop).scopes(method, params) == scopes


# The WSGI server.


class Waitress:
    """In the place of waitress: is interrupted at once."""

    def __init__(self) -> None:
        self.options: dict[str, Any] = {}
        self.closed = False
        self.asyncore = self
        self.adj = SimpleNamespace(asyncore_loop_timeout=1, asyncore_use_poll=True)

    def create_server(self, app: Any, **options: Any) -> Waitress:
        self.options = {"app": app, **options}
        return self

    @property
    def task_dispatcher(self) -> Any:
        return self.options["_dispatcher"]

    def loop(self, *_options: Any) -> None:
        raise SystemExit

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def waitress(monkeypatch: pytest.MonkeyPatch) -> Waitress:
    one = Waitress()
    monkeypatch.setattr("waitress.server.create_server", one.create_server)
    return one


@pytest.mark.parametrize(
    ("host", "given", "hosts"),
    [
        ("127.0.0.1", {}, None),
        ("192.0.2.7", {}, ("192.0.2.7",)),
        ("0.0.0.0", {"hosts": ("mcp.example.com",)}, ("mcp.example.com",)),
    ],
)
def test_a_server_knows_the_names_it_may_be_called_by(
    make_server: MakeServer, waitress: Waitress, host: str, given: Any, hosts: Any
) -> None:
    server = make_server()
    server.run_http(host, 0, "/here", threads=3, **given)
    app = waitress.options["app"]
    assert (app.settings.path, app.settings.hosts) == ("/here", hosts)
    assert (waitress.options["host"], waitress.options["threads"]) == (host, 3)
    assert waitress.closed
    with pytest.raises(RuntimeError, match="was closed"):
        server.start()


@pytest.mark.requirement("security:origin")
@pytest.mark.parametrize("host", ["0.0.0.0", "::", ""])
def test_a_server_that_is_bound_everywhere_must_be_told_its_names(server: Server, host: str) -> None:
    with pytest.raises(ValueError, match="needs hosts="):
        server.run_http(host)


@pytest.mark.requirement("transport:wsgi")
@pytest.mark.parametrize("how", ["in a handler", "on another thread"])
def test_a_server_that_is_closed_answers_what_was_begun_and_serves_no_longer(
    make_server: MakeServer, port: int, how: str
) -> None:
    server, called, gate = make_server(), threading.Event(), threading.Event()

    @server.tool(structured_output=False)
    def leave() -> str:
        if how == "in a handler":
            server.close()
        else:
            called.set()
            gate.wait(BOUND)
        return "goodbye"

    serving = in_thread(lambda: server.run_http(port=port, threads=4))
    until(lambda: _listens(port))
    with Client.http(f"http://127.0.0.1:{port}/mcp", proxies={}) as client, opened_at_the_end(gate):
        answer = in_thread(lambda: client.call_tool("leave").text)
        if how == "on another thread":
            assert called.wait(BOUND)
            closing = in_thread(server.close)
            until(lambda: server.closed)
            gate.set()
            closing.result(BOUND)
        assert answer.result(BOUND) == "goodbye"
        serving.result(BOUND)
    assert not _listens(port)


def test_who_has_no_waitress_is_told_how_to_get_it(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *rest: Any, **more: Any) -> Any:
        if name.startswith("waitress"):
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ImportError, match=r"pip install 'mcp-actors\[http\]'"):
        server.run_http()


def test_the_threads_of_waitress_are_ended_after_the_streams() -> None:
    stopped = []
    threads = StreamingThreads(2, lambda: stopped.append(1))
    threads.shutdown()
    assert stopped == [1]
    assert not threads.threads


@pytest.fixture
def port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        number: int = one.getsockname()[1]
        return number


@pytest.fixture
def program(port: int) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.server.programs.serving", "http", str(port)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        until(lambda: _listens(port))
        yield process
    finally:
        process.kill()
        process.communicate()


def _listens(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.requirement("transport:wsgi")
def test_a_program_serves_over_http_until_it_is_interrupted(
    program: subprocess.Popen[bytes], port: int, era: str
) -> None:
    with Client.http(f"http://127.0.0.1:{port}/mcp", protocol=era, request_timeout=2 * BOUND) as client:
        assert client.call_tool("greet", {"name": "Ada"}).text.startswith("Hello, Ada")
        client.on_tools_changed(lambda: None)
        client.ping()
        program.send_signal(signal.SIGINT)
        assert program.wait(4 * BOUND) in (0, -signal.SIGINT)
    assert program.stderr is not None
    assert b"Traceback" not in program.stderr.read()
