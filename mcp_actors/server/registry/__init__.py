"""What a server offers: tools, resources, templates, prompts and completions."""

from __future__ import annotations

from mcp_actors.server.registry.completions import CompletionEntry
from mcp_actors.server.registry.directory import DirectoryResource
from mcp_actors.server.registry.entries import PromptEntry, ResourceEntry, TemplateEntry, ToolEntry
from mcp_actors.server.registry.listing import Listing
from mcp_actors.server.registry.opening import ResourceMissing, ResourceTooLarge
from mcp_actors.server.registry.pages import PAGE_SIZE, InvalidCursor, page
from mcp_actors.server.registry.registry import Registry
from mcp_actors.server.registry.sources import FileResource, TextResource

__all__ = [
    "PAGE_SIZE",
    "CompletionEntry",
    "DirectoryResource",
    "FileResource",
    "InvalidCursor",
    "Listing",
    "PromptEntry",
    "Registry",
    "ResourceEntry",
    "ResourceMissing",
    "ResourceTooLarge",
    "TemplateEntry",
    "TextResource",
    "ToolEntry",
    "page",
]
