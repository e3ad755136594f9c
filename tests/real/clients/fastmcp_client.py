"""FastMCP's client: ``fastmcp_client <mode> <url>`` or ``<mode> <command> <words>...``."""

from __future__ import annotations

import asyncio
import importlib
import os
import sys
from collections.abc import Callable
from typing import Any

from tests.real.clients.conversation import Json, converse, fill_in, muse, tell

# Named at run time only: where the tests are type-checked, the package need not be installed.
fastmcp: Any = importlib.import_module("fastmcp")
transports: Any = importlib.import_module("fastmcp.client.transports")

_SECONDS = 10.0


class FastmcpFace:
    """It follows pages by itself."""

    def __init__(self, client: Any) -> None:
        self.client = client

    async def tools(self) -> list[Any]:
        return list(await self.client.list_tools())

    async def call(
        self, name: str, arguments: Json | None = None, on_progress: Callable[..., Any] | None = None
    ) -> Any:
        return await self.client.call_tool_mcp(name, arguments or {}, progress_handler=on_progress)

    async def resources(self) -> list[Any]:
        return list(await self.client.list_resources())

    async def templates(self) -> list[Any]:
        return list(await self.client.list_resource_templates())

    async def read(self, uri: str) -> list[Any]:
        return list(await self.client.read_resource(uri))

    async def prompts(self) -> list[Any]:
        return list(await self.client.list_prompts())

    async def prompt(self, name: str, arguments: dict[str, str]) -> Any:
        return await self.client.get_prompt(name, arguments)

    async def complete(self, reference: Any, argument: dict[str, str]) -> list[str]:
        return list((await self.client.complete(reference, argument)).values)


async def _elicit(message: str, _kind: Any, _params: Any, _context: Any) -> Json:
    return fill_in(message)


async def _sample(_messages: Any, params: Any, _context: Any) -> Any:
    return muse(params)


def _target(words: list[str]) -> Any:
    if words[0].startswith("http"):
        return words[0]
    return transports.StdioTransport(words[0], words[1:], env=dict(os.environ), keep_alive=False)


async def _typed(client: Any) -> Json:
    """What this client makes of output schemas: objects with attributes."""
    report = (await client.call_tool("report", {"title": "sales"})).data
    total = (await client.call_tool("add", {"a": 40})).data
    return {"typed": [report.title, report.numbers, total.result]}


async def main() -> None:
    """Talk, and tell what came of it."""
    mode, *words = sys.argv[1:]
    logs: list[Any] = []

    async def hear(message: Any) -> None:
        logs.append([message.level, message.logger, message.data])

    client = fastmcp.Client(
        _target(words),
        mode=mode,
        timeout=_SECONDS,
        elicitation_handler=_elicit,
        sampling_handler=_sample,
        roots=["file:///tmp/place"],
        log_handler=hear,
    )
    async with client:
        report = {
            "protocol": client.protocol_version,
            "server": [client.server_info.name, client.server_info.version, client.instructions],
            **await converse(FastmcpFace(client)),
            **await _typed(client),
        }
        if mode == "legacy":
            # Since 2026-07-28 each request says what it wants to hear, and this client cannot say it.
            await client.set_logging_level("warning")
        await client.call_tool("chatter")
        report["logs"] = logs
    tell(report)


if __name__ == "__main__":
    asyncio.run(main())
