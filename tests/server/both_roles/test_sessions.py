"""Sessions of the handshake era between our client and our server: kept, expired, refused, stopped."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, TypeAlias

import pytest

from mcp_actors import Client, Server, errors
from mcp_actors.server.http.app import WsgiApp
from tests.client.conftest import quick
from tests.client.waiting import until
from tests.server.both_roles.hosting import hosted
from tests.server.talk import HANDSHAKE
from tests.servers.serving import free_port

pytestmark = [pytest.mark.real, pytest.mark.requirement("transport:http")]

Host: TypeAlias = Callable[..., WsgiApp]
Connect: TypeAlias = Callable[..., Client]

A_DAY = 86400.0


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def host(port: int) -> Iterator[Host]:
    """Serves a server with one tool, with these settings."""
    server = Server("sessions", version="1.0")
    server.add_tool(lambda: "here", name="where", description="Says where it is.")
    with ExitStack() as running:
        yield lambda **settings: running.enter_context(hosted(server, port, **settings))


@pytest.fixture
def connect(port: int, host: Host) -> Iterator[Connect]:
    """Makes clients of the handshake era, closed before the server."""
    del host
    made: list[Client] = []

    def connect(**options: Any) -> Client:
        url = f"http://127.0.0.1:{port}/mcp"
        made.append(Client.http(url, protocol=HANDSHAKE, proxies={}, **quick(options)))
        return made[-1]

    yield connect
    for client in made:
        client.close()


@pytest.mark.requirement("connection:recover")
def test_a_session_that_nobody_uses_expires_and_is_replaced_when_it_is_used(
    host: Host, connect: Connect
) -> None:
    # The second client gets no stream, and so it is idle between its calls.
    app = host(max_streams=1)
    first, second = connect().wait_ready(), connect()
    until(lambda: app.desk.places.streams == 1)
    assert second.call_tool("where").text == "here"
    assert len(app.desk.sessions) == 2
    app.sweep(time.monotonic() + A_DAY)
    assert len(app.desk.sessions) == 1
    assert second.call_tool("where", wait=True).text == "here"
    assert first.call_tool("where").text == "here"
    assert (first.stats().reconnects, second.stats().reconnects) == (0, 1)


@pytest.mark.requirement("security:limits")
def test_a_client_too_many_is_told_to_come_back_later(host: Host, connect: Connect) -> None:
    app = host(max_sessions=1)
    first = connect().wait_ready()
    with pytest.raises(errors.McpError, match="sessions are open"):
        connect(max_failed_starts=1).wait_ready()
    first.close()
    until(lambda: len(app.desk.sessions) == 0)
    assert connect().call_tool("where").text == "here"


def test_a_server_without_sessions_serves_clients_that_expect_one(host: Host, connect: Connect) -> None:
    app = host(stateless=True)
    client = connect()
    assert client.call_tool("where").text == "here"
    assert [tool.name for tool in client.list_tools()] == ["where"]
    client.ping()
    assert (len(app.desk.sessions), app.desk.places.streams) == (0, 0)


def test_a_server_that_is_stopped_refuses_and_says_so(host: Host, connect: Connect) -> None:
    app = host()
    client = connect().wait_ready()
    app.stop()
    with pytest.raises(errors.McpError):
        client.call_tool("where")
    until(lambda: app.desk.places.streams == 0)
