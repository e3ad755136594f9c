"""What tests of features share: the server with every feature, wherever it runs, and one that brings news."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mcp_actors import Client
from tests.client.features.news_host import NewsHost
from tests.client.features.places import ALL, Place


@pytest.fixture(params=ALL, ids="-".join)
def place(
    request: pytest.FixtureRequest, make_client: Callable[..., Client], make_stdio: Callable[..., Client]
) -> Iterator[Place]:
    """The server with every feature: every revision in memory, and both eras over stdio."""
    kind, version = request.param
    one = Place(kind, version, make_client, make_stdio)
    yield one
    for host in one.hosts:
        host.shut_down()


@pytest.fixture
def make_news() -> Iterator[Callable[..., NewsHost]]:
    """Makes servers that keep the books of their subscribers."""
    made: list[NewsHost] = []

    def make(version: str, **settings: Any) -> NewsHost:
        made.append(NewsHost(version, **settings))
        return made[-1]

    yield make
    for one in made:
        one.shut_down()
