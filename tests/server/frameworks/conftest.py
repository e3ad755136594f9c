"""Clients of programs that listen, closed before these end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import pytest

from mcp_actors import Client
from tests.client.conftest import quick
from tests.client.waiting import BOUND
from tests.servers.serving import Served

Connect: TypeAlias = Callable[..., Client]


@pytest.fixture
def connect(served: Served) -> Iterator[Connect]:
    """Makes ready clients of the program that the test's module serves."""
    made: list[Client] = []

    def connect(path: str = "/mcp", **options: Any) -> Client:
        chosen = quick({"request_timeout": 4 * BOUND, **options})
        made.append(Client.http(served.url(path), proxies={}, **chosen))
        return made[-1].wait_ready()

    yield connect
    for client in made:
        client.close()
