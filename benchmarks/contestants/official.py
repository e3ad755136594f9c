"""official-async, official-portal: the official SDK in its event loop, and from a thread outside of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp.types import LoggingMessageNotificationParams, TextContent

from benchmarks.contestants.blocking import Blocking
from benchmarks.contestants.contract import Contestant
from benchmarks.contestants.native import Native, NativeCall, hear_in_loop
from benchmarks.handlers import Handler


@contextmanager
def open_official_async(server: Sequence[str], handler: Handler | None) -> Iterator[Contestant]:
    """Every call is awaited in the loop: the best case of this SDK."""
    with _connected(_program(server), handler) as (portal, call):
        yield Native(portal, call)


@contextmanager
def open_official_portal(server: Sequence[str], handler: Handler | None) -> Iterator[Contestant]:
    """Every call comes from a synchronous thread: what a Flask program must do."""
    with _connected(_program(server), handler) as (portal, call):
        yield Blocking(lambda tool, arguments: portal.call(call, tool, arguments))


@contextmanager
def open_official_async_http(url: str) -> Iterator[Contestant]:
    """As `open_official_async`, to a server behind a URL."""
    with _connected(url) as (portal, call):
        yield Native(portal, call)


@contextmanager
def open_official_portal_http(url: str) -> Iterator[Contestant]:
    """As `open_official_portal`, to a server behind a URL."""
    with _connected(url) as (portal, call):
        yield Blocking(lambda tool, arguments: portal.call(call, tool, arguments))


def _program(server: Sequence[str]) -> StdioServerParameters:
    return StdioServerParameters(command=server[0], args=list(server[1:]))


@contextmanager
def _connected(
    server: StdioServerParameters | str, handler: Handler | None = None
) -> Iterator[tuple[BlockingPortal, NativeCall]]:
    async def hear(params: LoggingMessageNotificationParams) -> None:
        del params
        if handler is not None:
            await hear_in_loop(handler)

    client = Client(server, logging_callback=None if handler is None else hear)

    async def call(tool: str, arguments: Mapping[str, Any]) -> str:
        content = (await client.call_tool(tool, dict(arguments))).content[0]
        assert isinstance(content, TextContent)
        return content.text

    with start_blocking_portal() as portal, portal.wrap_async_context_manager(client):
        yield portal, call
