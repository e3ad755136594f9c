"""Signatures and entries for tests: as little as the registry needs to know of a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mcp_actors.protocol import types
from mcp_actors.protocol.codec import Json, JsonObject
from mcp_actors.server.registry import PromptEntry, ResourceEntry, TemplateEntry, ToolEntry


@dataclass(frozen=True)
class FakeTool:
    """What a tool's function could look like."""

    output_schema: JsonObject | None = None
    description: str | None = None
    context_parameter: str | None = None
    input_schema: JsonObject = field(default_factory=lambda: {"type": "object"})
    wrapped_output: bool = False

    def arguments(self, given: JsonObject) -> dict[str, Any]:
        return given

    def structured(self, value: Any) -> Json:
        return {"result": value} if self.wrapped_output else value


@dataclass(frozen=True)
class FakeText:
    """What the function of a prompt or template could look like."""

    declared: Sequence[types.PromptArgument] = ()
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    description: str | None = None
    context_parameter: str | None = None

    def arguments(self, given: JsonObject) -> dict[str, Any]:
        return given


def nothing() -> None:
    """A function that does nothing."""


def another() -> None:
    """Another one."""


def tool(name: str, function: Callable[..., Any] = nothing) -> ToolEntry:
    return ToolEntry.of(function, FakeTool(), name=name)


def prompt(name: str, *arguments: str, choices: Mapping[str, tuple[str, ...]] | None = None) -> PromptEntry:
    declared = [types.PromptArgument(name=argument) for argument in arguments]
    return PromptEntry.of(nothing, FakeText(declared, choices or {}), name=name)


def resource(uri: str) -> ResourceEntry:
    return ResourceEntry.of(uri, nothing)


def template(text: str, choices: Mapping[str, tuple[str, ...]] | None = None) -> TemplateEntry:
    return TemplateEntry.of(text, nothing, FakeText(choices=choices or {}))
