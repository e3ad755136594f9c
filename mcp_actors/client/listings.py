"""What the last listing said about each tool: how it may be called, and what it promises to answer."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import Literal

from msgspec import Raw

from mcp_actors.protocol import types
from mcp_actors.protocol.codec import DecodeFailed


class Listings:
    """Replaced whole, so any thread may read. Nothing is listed behind the caller's back."""

    def __init__(self) -> None:
        self._tools: dict[str, types.Tool] = {}
        self.session_mode: Literal["optional", "required"] = "optional"
        self.version = 0
        """Grows with each listing."""

    def remember(self, tools: Iterable[types.Tool]) -> None:
        """A caller listed all tools."""
        self._keep({tool.name: tool for tool in tools})

    def remember_page(self, page: types.ListToolsResult) -> None:
        """A caller listed some tools."""
        self._keep(self._tools | {tool.name: tool for tool in page.tools})

    def relisted(self, method: str, result: Raw, first: bool) -> None:
        """The connection listed again after a loss: the first page, or a further one. On its thread."""
        if method == "tools/list":
            if first:
                self._keep({})
            with contextlib.suppress(DecodeFailed):
                self.remember_page(types.ListToolsResult.parse(result))

    def tool(self, name: str) -> types.Tool | None:
        """What is known of a tool."""
        return self._tools.get(name)

    @property
    def tools(self) -> list[types.Tool]:
        """All tools that are known, in the order of the listing."""
        return list(self._tools.values())

    def repeatable(self, name: str) -> bool:
        """Whether calling a tool twice is the same as once, as far as the server says."""
        tool = self._tools.get(name)
        hints = tool.annotations if tool is not None else None
        return hints is not None and (hints.read_only_hint or hints.idempotent_hint)

    def needs_task(self, name: str) -> bool:
        """Whether a tool can only be called as a task (2025-11-25)."""
        tool = self._tools.get(name)
        execution = tool.execution if tool is not None else None
        return execution is not None and execution.task_support == "required"

    def _keep(self, tools: dict[str, types.Tool]) -> None:
        self._tools = tools
        self.version += 1
        # A server that says nothing of modes has never heard of them, and of session ids neither.
        modes = any(tool.declares_mode for tool in tools.values())
        stateful = any(tool.mode == "stateful" for tool in tools.values())
        self.session_mode = "required" if modes and stateful else "optional"
