"""Prompts: how they are described and filled in."""

from __future__ import annotations

from typing import Literal, TypeAlias

from mcp_actors.protocol.types.content import ContentBlock, joined_text
from mcp_actors.protocol.types.icon import Icon
from mcp_actors.protocol.types.input_required import RetriedParams
from mcp_actors.protocol.types.results import ListResult, Result
from mcp_actors.protocol.types.value import MetaValue, Value

Role: TypeAlias = Literal["user", "assistant"]


class PromptArgument(Value):
    """A blank in a prompt. Its value is text."""

    name: str
    title: str | None = None
    description: str | None = None
    required: bool = False


class Prompt(MetaValue):
    """A prompt that a server offers."""

    name: str
    title: str | None = None
    description: str | None = None
    arguments: list[PromptArgument] | None = None
    icons: list[Icon] | None = None

    @property
    def display_name(self) -> str:
        """The name to show to people."""
        return self.title or self.name


class ListPromptsResult(ListResult):
    """One page of a server's prompts."""

    nested = ("prompts",)

    prompts: list[Prompt]


class GetPromptParams(RetriedParams):
    """Which prompt, filled in with what."""

    name: str
    arguments: dict[str, str] | None = None


class PromptMessage(Value):
    """One message of a prompt."""

    nested = ("content",)

    role: Role
    content: ContentBlock


class GetPromptResult(Result):
    """A prompt, filled in."""

    nested = ("messages",)

    messages: list[PromptMessage]
    description: str | None = None

    @property
    def text(self) -> str:
        """The text of all messages, one below the other."""
        return joined_text([message.content for message in self.messages])
