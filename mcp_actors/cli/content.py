"""Content blocks as text, and those that are none in a few words."""

from __future__ import annotations

from typing import TypeGuard

from mcp_actors import errors
from mcp_actors.cli.output import json_text
from mcp_actors.protocol import types

Binary = types.ImageContent | types.AudioContent | types.EmbeddedResource


def is_binary(block: types.ContentBlock) -> TypeGuard[Binary]:
    """Whether a block holds what cannot be printed."""
    match block:
        case types.ImageContent() | types.AudioContent():
            return True
        case types.EmbeddedResource(resource=types.BlobResourceContents()):
            return True
        case _:
            return False


def text_of(block: types.ContentBlock) -> str:
    """A block that is not binary, as text."""
    match block:
        case types.TextContent():
            return block.text
        case types.EmbeddedResource(resource=types.TextResourceContents(text=text)):
            return text
        case types.ResourceLink():
            return f"{block.title or block.name}: {block.uri}"
        case _:
            return json_text(block.raw)


def described(part: Binary | types.BlobResourceContents) -> str:
    """What cannot be printed: what it is, and how large."""
    match part:
        case types.ImageContent():
            what = "an image"
        case types.AudioContent():
            what = "a sound"
        case types.EmbeddedResource():
            what = part.resource.uri
        case _:
            what = part.uri
    return f"{what} ({part.mime_type or 'binary'}, {_size(part)})"


def _size(part: Binary | types.BlobResourceContents) -> str:
    try:
        return f"{len(part.bytes):,} bytes"
    except errors.InvalidResponse:
        return "damaged on the way"
