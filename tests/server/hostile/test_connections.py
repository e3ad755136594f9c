"""The connections of waitress: how many there may be, and which one makes room for another."""

from __future__ import annotations

import resource
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

from mcp_actors import Server
from mcp_actors.server import waitress_channels
from mcp_actors.server.waitress_channels import MOST_CONNECTIONS, FairChannel, limits

pytestmark = pytest.mark.requirement("security:limits")


class Adjustments:
    """What channels look at."""

    connection_limit = 18  # two more than the room that is kept
    outbuf_overflow = 1024
    outbuf_high_watermark = 100
    send_bytes = 1
    channel_request_lookahead = 1
    log_socket_errors = True


class Listener:
    """In the place of waitress's server."""

    def __init__(self) -> None:
        self.active_channels: dict[int, Any] = {}
        self.adj = Adjustments()
        self.map: dict[int, Any] = {}
        self.lines: list[socket.socket] = []

    def connect(self) -> FairChannel:
        ours, theirs = socket.socketpair()
        self.lines.append(theirs)
        return FairChannel(self, ours, ("there", 1), self.adj, map=self.map)

    def close(self) -> None:
        for channel in tuple(self.active_channels.values()):
            channel.handle_close()
        for line in self.lines:
            line.close()


@pytest.fixture
def listener() -> Iterator[Listener]:
    one = Listener()
    yield one
    one.close()


def test_the_connection_that_was_silent_for_the_longest_time_makes_room(listener: Listener) -> None:
    first, second = listener.connect(), listener.connect()
    first.last_activity = second.last_activity + 60
    assert (first.will_close, second.will_close) == (False, False)
    third = listener.connect()
    assert (first.will_close, second.will_close, third.will_close) == (False, True, False)
    # One that is closed already is not closed again.
    listener.connect()
    assert third.will_close


def test_a_connection_whose_request_is_served_makes_no_room(listener: Listener) -> None:
    for _ in range(2):
        busy: Any = listener.connect()
        busy.requests.append(object())
    # Nobody can be asked to go, least of all the one that comes.
    listener.connect()
    assert [one.will_close for one in listener.active_channels.values()] == [False, False, False]


def test_only_a_client_that_takes_nothing_for_long_is_hung_up_on(listener: Listener) -> None:
    channel = listener.connect()
    long_ago = time.time() - 2 * waitress_channels.STUCK_SECONDS
    channel.last_activity = long_ago
    assert (channel.writable(), channel.connected) == (False, True), "nothing waits for it"
    channel.total_outbufs_len = Adjustments.outbuf_high_watermark
    assert (channel.writable(), channel.connected) == (True, True), "nobody waits to write more"
    channel.total_outbufs_len += 1
    channel.last_activity = time.time()
    assert (channel.writable(), channel.connected) == (True, True), "it took something just now"
    channel.last_activity = long_ago
    assert (channel.writable(), channel.connected) == (False, False)


@pytest.mark.parametrize(
    ("allowed", "most"),
    [
        (resource.RLIM_INFINITY, MOST_CONNECTIONS),
        (1_000_000, MOST_CONNECTIONS),
        (1024, 1024 - 128),
        (64, 32),
    ],
)
def test_there_are_as_many_connections_as_the_system_allows(
    monkeypatch: pytest.MonkeyPatch, allowed: int, most: int
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _kind: (allowed, allowed))
    assert limits(1)["connection_limit"] == most


@pytest.mark.requirement("security:origin")
def test_a_server_at_an_address_of_ipv6_is_called_by_it_and_by_nothing_else(
    target: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    apps: list[Any] = []

    def create_server(app: Any, **_options: Any) -> Any:
        apps.append(app)
        raise SystemExit

    monkeypatch.setattr("waitress.server.create_server", create_server)
    with pytest.raises(SystemExit):
        target.run_http("2001:db8::1")
    allowed = apps[0].settings.allowed
    assert allowed.knows_host("[2001:db8::1]:8000")
    assert not allowed.knows_host("localhost:8000")
