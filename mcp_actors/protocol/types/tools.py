"""Tools: how they are described, called and answered."""

from __future__ import annotations

import json
from typing import Any, NoReturn

import msgspec

from mcp_actors.protocol.codec import Json, JsonObject
from mcp_actors.protocol.types.content import (
    AudioContent,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    joined_text,
)
from mcp_actors.protocol.types.icon import Icon
from mcp_actors.protocol.types.input_required import RetriedParams
from mcp_actors.protocol.types.resource_contents import ResourceContents
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
        return "stateless" if self._said_mode == "stateless" else "stateful"

    @property
    def declares_mode(self) -> bool:
        """Whether the server says anything about the tool's mode."""
        return self._said_mode in ("stateless", "stateful")

    @property
    def _said_mode(self) -> Json:
        return self.raw.get("mode", (self.meta or {}).get("mode"))


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

    @property
    def data(self) -> Json:
        """The answer as a value: the structured content if there is one, otherwise the text, read as JSON if
        it is JSON. None if there is neither."""
        if self.has_structured_content:
            return self.structured_content
        if not any(isinstance(block, TextContent) for block in self.content):
            return None
        return _json_or_text(self.text)

    @property
    def images(self) -> list[ImageContent]:
        """The images among the blocks."""
        return [block for block in self.content if isinstance(block, ImageContent)]

    @property
    def audio(self) -> list[AudioContent]:
        """The sounds among the blocks."""
        return [block for block in self.content if isinstance(block, AudioContent)]

    @property
    def resources(self) -> list[ResourceContents]:
        """The contents of the resources among the blocks."""
        return [block.resource for block in self.content if isinstance(block, EmbeddedResource)]

    @property
    def links(self) -> list[ResourceLink]:
        """The resources that can be read, but are not included."""
        return [block for block in self.content if isinstance(block, ResourceLink)]


def _json_or_text(text: str) -> Json:
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return text


def _refuse(constant: str) -> NoReturn:
    # The standard parser takes NaN and the infinities, which are words and no JSON.
    raise ValueError(f"{constant} is no JSON")
