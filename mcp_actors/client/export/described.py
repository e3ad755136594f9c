"""What every export needs of a tool: a name that is legal, a description, its arguments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar

from mcp_actors.client.export.names import legal_names, listed, tool_rule
from mcp_actors.protocol.codec import JsonObject


class Described(Protocol):
    """A tool, as far as a model has to know it."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str | None: ...
    @property
    def description(self) -> str | None: ...
    @property
    def input_schema(self) -> JsonObject: ...


T = TypeVar("T", bound=Described)


def with_names(tools: Iterable[T] | T) -> Iterator[tuple[str, T]]:
    """Each tool, behind the name under which it is exported."""
    several = listed(tools)
    names = legal_names([tool.name for tool in several], tool_rule())
    return zip(names, several, strict=True)


def description_of(tool: Described) -> JsonObject:
    """The description as a member of an object, which is missing where there is none."""
    said = tool.description or tool.title
    return {"description": said} if said else {}
