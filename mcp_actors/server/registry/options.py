"""What may be said about a tool, resource or prompt beside its function. None is the same as nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias, TypedDict

from mcp_actors.protocol import types
from mcp_actors.protocol.codec import JsonObject

TaskSupport: TypeAlias = Literal["forbidden", "optional", "required"]
Mode: TypeAlias = Literal["stateless", "stateful"]


class Options(TypedDict, total=False):
    """Of all kinds. ``scopes``: what the caller's token must grant; ``required_capability``: what the client
    must have declared; ``timeout``: seconds that the function may take; then its client is answered."""

    name: str | None
    title: str | None
    description: str | None
    icons: Sequence[types.Icon] | None
    meta: JsonObject | None
    scopes: Iterable[str] | None
    required_capability: JsonObject | None
    timeout: float | None


class ToolOptions(Options, total=False):
    """Of tools. ``mode`` is written into ``_meta``."""

    annotations: types.ToolAnnotations | None
    task_support: TaskSupport | None
    mode: Mode | None


class ResourceOptions(Options, total=False):
    """Of resources and their templates."""

    annotations: types.Annotations | None
    mime_type: str | None
    size: int | None
