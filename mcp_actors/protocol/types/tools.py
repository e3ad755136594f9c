"""Tools: how they are described, called and answered."""

from __future__ import annotations

from typing import Any

import msgspec

from mcp_actors.protocol.codec import Json, JsonObject
from mcp_actors.protocol.types.content import ContentBlock, joined_text
from mcp_actors.protocol.types.icon import Icon
from mcp_actors.protocol.types.input_required import RetriedParams
from mcp_actors.protocol.types.results import ListResult, Result
from mcp_actors.protocol.types.tasks import TaskMetadata
from mcp_actors.protocol.types.value import MetaValue, Value


class ToolAnnotations(Value):
    """Hints about a tool's behaviour, with the protocol's defaults. Untrusted."""

    title: str | None = None
    read_only_hint: bool = False
    destructive_hint: bool = True
    idempotent_hint: bool = False
    open_world_hint: bool = True


class ToolExecution(Value):
    """How a tool may run (2025-11-25)."""

    task_support: str = "forbidden"


class Tool(MetaValue):
    """A tool that a server offers. Schemas are plain JSON, exactly as they came."""

    name: str
    input_schema: JsonObject
    title: str | None = None
    description: str | None = None
    output_schema: JsonObject | None = None
    annotations: ToolAnnotations | None = None
    icons: list[Icon] | None = None
    execution: ToolExecution | None = None

    @property
    def display_name(self) -> str:
        """The name to show to people."""
        return self.title or (self.annotations and self.annotations.title) or self.name

    @property
    def mode(self) -> str:
        """``stateless`` if the server says so in ``mode`` or ``_meta``, otherwise ``stateful``."""
        said = self.raw.get("mode", (self.meta or {}).get("mode"))
        return "stateless" if said == "stateless" else "stateful"


class ListToolsResult(ListResult):
    """One page of a server's tools."""

    nested = ("tools",)

    tools: list[Tool]


class CallToolParams(RetriedParams):
    """Which tool to call, and with what."""

    name: str
    arguments: JsonObject | None = None
    task: TaskMetadata | None = None


class CallToolResult(Result):
    """What a tool answered. ``is_error``: the tool ran and failed; ``content`` says how."""

    nested = ("content",)

    content: list[ContentBlock]
    # Since 2026-07-28 null is an answer, too, so that it differs from nothing.
    structured: Any | msgspec.UnsetType = msgspec.field(default=msgspec.UNSET, name="structuredContent")
    is_error: bool = False

    @property
    def structured_content(self) -> Json:
        """The answer as JSON; None also if there is none: see ``has_structured_content``."""
        return None if self.structured is msgspec.UNSET else self.structured

    @property
    def has_structured_content(self) -> bool:
        """Whether the tool answered with JSON, be it null."""
        return self.structured is not msgspec.UNSET

    @property
    def text(self) -> str:
        """The text blocks, one below the other."""
        return joined_text(self.content)
