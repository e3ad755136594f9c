"""Completion: suggestions for the argument of a prompt or resource template."""

from __future__ import annotations

from typing import TypeAlias

from mcp_actors.protocol.codec import JsonObject
from mcp_actors.protocol.types.results import Result
from mcp_actors.protocol.types.value import MetaValue, Value


class PromptReference(Value, tag_field="type", tag="ref/prompt"):
    """The prompt whose argument is being typed."""

    name: str
    title: str | None = None


class ResourceTemplateReference(Value, tag_field="type", tag="ref/resource"):
    """The resource template whose variable is being typed."""

    uri: str


Reference: TypeAlias = PromptReference | ResourceTemplateReference


class CompletionArgument(Value):
    """The argument that is being typed, and its text so far."""

    name: str
    value: str


class CompleteParams(MetaValue):
    """What to complete."""

    ref: Reference
    argument: CompletionArgument
    context: JsonObject | None = None


class Completion(Value):
    """At most a hundred suggestions, the best first."""

    values: list[str]
    total: int | None = None
    has_more: bool | None = None


class CompleteResult(Result):
    """The server's suggestions."""

    completion: Completion

    @property
    def values(self) -> list[str]:
        """The suggestions, the best first."""
        return self.completion.values
