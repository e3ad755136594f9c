"""The client of the official package: ``official_client <mode> <url>`` or ``<mode> <command> <words>...``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import anyio
import mcp_types as wire
from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client

from tests.real.clients.conversation import Json, converse, fill_in, muse, tell

_SECONDS = 10.0


class OfficialFace:
    """Follows pages, which this client leaves to its user."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def tools(self) -> list[Any]:
        return await self._pages(self.client.list_tools, "tools")

    async def call(
        self, name: str, arguments: Json | None = None, on_progress: Callable[..., Any] | None = None
    ) -> Any:
        return await self.client.call_tool(name, arguments, progress_callback=on_progress)

    async def resources(self) -> list[Any]:
        return await self._pages(self.client.list_resources, "resources")

    async def templates(self) -> list[Any]:
        return await self._pages(self.client.list_resource_templates, "resource_templates")

    async def read(self, uri: str) -> list[Any]:
        return list((await self.client.read_resource(uri)).contents)

    async def prompts(self) -> list[Any]:
        return await self._pages(self.client.list_prompts, "prompts")

    async def prompt(self, name: str, arguments: dict[str, str]) -> Any:
        return await self.client.get_prompt(name, arguments)

    async def complete(self, reference: Any, argument: dict[str, str]) -> list[str]:
        return (await self.client.complete(reference, argument)).completion.values

    async def _pages(self, listing: Callable[..., Any], member: str) -> list[Any]:
        found: list[Any] = []
        cursor = None
        while True:
            page = await listing(cursor=cursor)
            found += getattr(page, member)
            cursor = page.next_cursor
            if cursor is None:
                return found


class News:
    """What the server told without having been asked."""

    def __init__(self) -> None:
        self.logs: list[Any] = []
        self.changed = anyio.Event()
        self.updated = anyio.Event()

    async def log(self, params: wire.LoggingMessageNotificationParams) -> None:
        self.logs.append([params.level, params.logger, params.data])

    async def message(self, message: Any) -> None:
        if isinstance(message, wire.ToolListChangedNotification):
            self.changed.set()
        if isinstance(message, wire.ResourceUpdatedNotification) and message.params.uri == "note://one":
            self.updated.set()


async def _elicit(context: Any, params: Any) -> wire.ElicitResult:  # noqa: ARG001 - named by the package
    return wire.ElicitResult(action="accept", content=fill_in(params.message))


async def _sample(context: Any, params: Any) -> Any:  # noqa: ARG001 - named by the package
    return muse(params)


async def _roots(context: Any) -> wire.ListRootsResult:  # noqa: ARG001 - named by the package
    return wire.ListRootsResult(roots=[wire.Root(uri="file:///tmp/place")])  # type: ignore[arg-type]


async def _hear(client: Client, news: News) -> Json:
    """Logs and changes, as the era has them."""
    if client.protocol_version >= "2026":
        async with client.listen(tools_list_changed=True, resource_subscriptions=["note://one"]):
            return await _stir(client, news)
    await client.set_logging_level("warning")
    await client.subscribe_resource("note://one")
    return await _stir(client, news)


async def _stir(client: Client, news: News) -> Json:
    await client.call_tool("chatter")
    await client.call_tool("learn", {"name": "fly"})
    await client.call_tool("write_note", {"name": "one", "text": "changed"})
    with anyio.fail_after(_SECONDS):
        await news.changed.wait()
        await news.updated.wait()
    (learned,) = (await client.call_tool("fly")).content
    return {"logs": news.logs, "learned": learned.text if isinstance(learned, wire.TextContent) else None}


async def _give_up(client: Client) -> Json:
    """Cancel a call that has begun."""
    with anyio.CancelScope() as scope:

        async def begun(progress: float, total: float | None, message: str | None) -> None:
            del progress, total, message
            scope.cancel()

        await client.call_tool("wait", progress_callback=begun)
    return {"was_cancelled": (await client.call_tool("was_cancelled")).structured_content}


def _target(words: list[str]) -> Any:
    if words[0].endswith("/sse"):
        return sse_client(words[0])
    if words[0].startswith("http"):
        return words[0]
    return StdioServerParameters(command=words[0], args=words[1:], env=dict(os.environ))


async def main() -> None:
    """Talk, and tell what came of it."""
    mode, *words = sys.argv[1:]
    news = News()
    client = Client(
        _target(words),
        mode=mode,
        read_timeout_seconds=_SECONDS,
        elicitation_callback=_elicit,
        sampling_callback=_sample,
        list_roots_callback=_roots,
        logging_callback=news.log,
        log_level="warning",
        message_handler=news.message,
    )
    async with client:
        assert client.server_info is not None
        report = {
            "protocol": client.protocol_version,
            "server": [client.server_info.name, client.server_info.version, client.instructions],
            **await converse(OfficialFace(client)),
            **await _hear(client, news),
            **await _give_up(client),
        }
    tell(report)


if __name__ == "__main__":
    anyio.run(main)
