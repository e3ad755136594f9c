"""Sampling: a server borrows the client's model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from mcp_actors.protocol.codec import Json, JsonObject
from mcp_actors.protocol.types.content import Content, ContentBlock, joined_text
from mcp_actors.protocol.types.prompts import Role
from mcp_actors.protocol.types.tasks import TaskMetadata
from mcp_actors.protocol.types.tools import Tool
from mcp_actors.protocol.types.value import MetaValue, Value

# One block, or since 2025-11-25 a list of them. msgspec has no word for that where the blocks are an open
# set, so that it passes JSON through and the value reads its blocks itself.
if TYPE_CHECKING:
    Blocks: TypeAlias = ContentBlock | list[ContentBlock]
else:
    Blocks = Any


def _read_blocks(value: Json) -> Json:
    return list(map(_read_block, value)) if isinstance(value, list) else _read_block(value)


def _read_block(value: Json) -> Json:
    return value if isinstance(value, Content) else Content.from_wire(value)


class Spoken(MetaValue):
    """Somebody's words in a conversation with a model."""

    nested = ("content",)

    role: Role
    content: Blocks

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "content", _read_blocks(self.content))

    @property
    def blocks(self) -> list[ContentBlock]:
        """The content as a list, however it was sent."""
        return self.content if isinstance(self.content, list) else [self.content]

    @property
    def text(self) -> str:
        """The text blocks, one below the other."""
        return joined_text(self.blocks)


class SamplingMessage(Spoken):
    """One message of the conversation so far."""


class ModelHint(Value):
    """A part of a model's name."""

    name: str | None = None


class ModelPreferences(Value):
    """What matters in the choice of the model; hints in order, weights from 0 to 1."""

    hints: list[ModelHint] | None = None
    cost_priority: float | None = None
    speed_priority: float | None = None
    intelligence_priority: float | None = None


class ToolChoice(Value):
    """Whether the model may, must or must not use tools."""

    mode: str = "auto"


class CreateMessageParams(MetaValue):
    """What the server asks of the model."""

    nested = ("messages", "tools")

    messages: list[SamplingMessage]
    max_tokens: int
    model_preferences: ModelPreferences | None = None
    system_prompt: str | None = None
    include_context: str | None = None
    temperature: float | None = None
    stop_sequences: list[str] | None = None
    metadata: JsonObject | None = None
    tools: list[Tool] | None = None
    tool_choice: ToolChoice | None = None
    task: TaskMetadata | None = None


class CreateMessageResult(Spoken):
    """What the model said."""

    model: str
    stop_reason: str | None = None
