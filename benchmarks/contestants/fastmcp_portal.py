"""fastmcp-portal: FastMCP's client, called from a synchronous thread."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from anyio.from_thread import start_blocking_portal

from benchmarks.contestants.blocking import Blocking
from benchmarks.contestants.contract import Contestant
from benchmarks.contestants.native import hear_in_loop
from benchmarks.handlers import Handler

# By name: type checks must not need a peer that only benchmarks use.
fastmcp: Any = importlib.import_module("fastmcp.client")


@contextmanager
def open_fastmcp_portal(server: Sequence[str], handler: Handler | None) -> Iterator[Contestant]:
    """Connect; the server ends with the connection, as everybody's does."""

    async def hear(_message: Any) -> None:
        if handler is not None:
            await hear_in_loop(handler)

    transport = fastmcp.StdioTransport(server[0], list(server[1:]), keep_alive=False)
    with _connected(fastmcp.Client(transport, log_handler=hear)) as contestant:
        yield contestant


@contextmanager
def open_fastmcp_portal_http(url: str) -> Iterator[Contestant]:
    """As `open_fastmcp_portal`, to a server behind a URL."""
    with _connected(fastmcp.Client(fastmcp.StreamableHttpTransport(url))) as contestant:
        yield contestant


@contextmanager
def _connected(client: Any) -> Iterator[Contestant]:
    async def call(tool: str, arguments: Mapping[str, Any]) -> str:
        text: str = (await client.call_tool(tool, dict(arguments))).content[0].text
        return text

    with start_blocking_portal() as portal, portal.wrap_async_context_manager(client):
        yield Blocking(lambda tool, arguments: portal.call(call, tool, arguments))
