"""Servers and clients that are closed after the test that made them, the clients first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

import pytest

from mcp_actors import Client
from mcp_actors.server.server import Server
from tests.client.waiting import BOUND
from tests.server.talk import ERAS, Talk

MakeServer: TypeAlias = Callable[..., Server]
Connect: TypeAlias = Callable[..., Client]
MakeTalk: TypeAlias = Callable[..., Talk]

_QUICK: Final[dict[str, Any]] = {
    "request_timeout": BOUND,
    "init_timeout": BOUND,
    "backoff_min": 0.01,
    "backoff_max": 0.05,
}


@pytest.fixture
def make_server() -> Iterator[MakeServer]:
    made: list[Server] = []

    def make(name: str = "demo", **options: Any) -> Server:
        made.append(Server(name, **options))
        return made[-1]

    yield make
    for server in made:
        server.close()


@pytest.fixture
def server(make_server: MakeServer) -> Server:
    return make_server()


@pytest.fixture
def connect(make_server: MakeServer) -> Iterator[Connect]:
    """Makes clients in memory that are ready."""
    del make_server  # servers are closed after their clients
    made: list[Client] = []

    def make(server: Server, version: str = "auto", **options: Any) -> Client:
        settings = {"protocol": version, **_QUICK, **options}
        made.append(Client.memory(server, **settings))
        return made[-1].wait_ready()

    yield make
    for client in made:
        client.close()


@pytest.fixture
def talk(make_server: MakeServer) -> Iterator[MakeTalk]:
    """Makes clients that write their frames by hand."""
    del make_server
    made: list[Talk] = []

    def make(server: Server, version: str | None = None, **options: Any) -> Talk:
        made.append(Talk(server, version, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    """A revision of each era."""
    version: str = request.param
    return version
