"""What the tests of HTTP get: scripted servers, and clients that are closed afterwards with nothing left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mcp_actors import Client
from mcp_actors.transports.http.wire import HttpWire
from tests.client.conftest import _nothing_is_left_behind, quick
from tests.servers.http_peer import STATELESS, HttpPeer

__all__ = ["_nothing_is_left_behind"]

ERAS = (STATELESS, "2025-11-25")

MakePeer = Callable[..., HttpPeer]
MakeClient = Callable[..., Client]


def wire_of(client: Client) -> HttpWire:
    """The wire of a client that is ready."""
    tree = client._trees.value
    assert tree is not None
    link = tree.wiring.board.link
    assert link is not None
    wire: Any = getattr(link.send, "__self__", None)
    assert isinstance(wire, HttpWire)
    return wire


@pytest.fixture
def make_peer() -> Iterator[MakePeer]:
    made: list[HttpPeer] = []

    def make(version: str = STATELESS, **settings: Any) -> HttpPeer:
        made.append(HttpPeer(version, **settings))
        return made[-1]

    yield make
    for one in made:
        one.stop()
        assert one.failures == []


@pytest.fixture
def peer(make_peer: MakePeer) -> HttpPeer:
    """A good server of 2026-07-28."""
    return make_peer()


@pytest.fixture
def make_client(make_peer: MakePeer) -> Iterator[MakeClient]:
    """Makes clients of a URL or a peer, with quick timings unless told otherwise; closed before any peer."""
    del make_peer  # what is made first ends last
    made: list[Client] = []

    def make(where: HttpPeer | str, *, way: str = "http", **options: Any) -> Client:
        url = where if isinstance(where, str) else where.url
        made.append(getattr(Client, way)(url, **quick({"proxies": {}, **options})))
        return made[-1]

    yield make
    for client in made:
        client.close()


@pytest.fixture
def client(peer: HttpPeer, make_client: MakeClient) -> Client:
    """A ready client of ``peer``."""
    return make_client(peer).wait_ready()
