"""Tools for Anthropic's messages."""

from __future__ import annotations

from collections.abc import Iterable

from mcp_actors.client.export.described import Described, description_of, with_names
from mcp_actors.client.export.names import ANTHROPIC_KEYS
from mcp_actors.client.export.renaming import with_legal_keys
from mcp_actors.client.export.schema import object_schema
from mcp_actors.protocol.codec import JsonObject


def to_anthropic(tools: Iterable[Described] | Described) -> list[JsonObject]:
    """The tools as Anthropic takes them: ``tools=to_anthropic(client.list_tools())``."""
    return [
        {
            "name": name,
            **description_of(tool),
            "input_schema": with_legal_keys(object_schema(tool.input_schema), ANTHROPIC_KEYS),
        }
        for name, tool in with_names(tools)
    ]
