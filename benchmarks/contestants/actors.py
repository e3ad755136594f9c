"""mcp_actors: this library, used as anybody would."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from benchmarks.contestants.blocking import Blocking
from benchmarks.contestants.contract import Contestant
from benchmarks.handlers import Handler
from mcp_actors import Client


@contextmanager
def open_actors(server: Sequence[str], handler: Handler | None) -> Iterator[Contestant]:
    """Connect with the defaults."""
    with Client.stdio(server) as client:
        if handler is not None and handler.kind != "none":
            client.on_notification(lambda _heard: handler.hear(), "notifications/message")
        yield _calling(client)


@contextmanager
def open_actors_http(url: str) -> Iterator[Contestant]:
    """Connect with the defaults."""
    with Client.http(url) as client:
        yield _calling(client)


def _calling(client: Client) -> Blocking:
    def call(tool: str, arguments: Mapping[str, Any]) -> str:
        return client.call_tool(tool, arguments).text

    return Blocking(call, lambda: lost_by(client))


def lost_by(client: Client) -> int:
    """Notifications that reached no handler although there was one."""
    lane = client.stats().lane
    return lane.dropped + lane.merged
