"""Content blocks: what tools return, prompts contain and models say."""

from __future__ import annotations

from binascii import a2b_base64
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeAlias

import msgspec

from mcp_actors.protocol.codec import Json, JsonObject
from mcp_actors.protocol.types.icon import Icon
from mcp_actors.protocol.types.resource_contents import Bytes, ResourceContents, bytes_of
from mcp_actors.protocol.types.value import MetaValue, Value


class Annotations(Value):
    """Hints about a block or resource: for whom, how important, how old."""

    audience: list[str] | None = None
    priority: float | None = None
    last_modified: str | None = None


class Content:
    """Any content block. Its ``type`` is an open set: a kind that is not known becomes ``UnknownContent``."""

    __slots__ = ()

    @classmethod
    def from_wire(cls, value: Json) -> ContentBlock:
        """Make the block that a JSON object describes."""
        kind = value.get("type") if isinstance(value, dict) else None
        known = _BLOCKS.get(kind, UnknownContent) if isinstance(kind, str) else UnknownContent
        return known.from_wire(value)


class TextContent(MetaValue, Content, tag_field="type", tag="text"):
    """Text."""

    type: ClassVar[Literal["text"]] = "text"
    text: str
    annotations: Annotations | None = None


class ImageContent(MetaValue, Content, tag_field="type", tag="image"):
    """An image, as base64 in ``data``."""

    type: ClassVar[Literal["image"]] = "image"
    data: str
    mime_type: str
    annotations: Annotations | None = None

    @property
    def binary(self) -> Bytes:
        """The bytes themselves. Raises ``ValueError`` if the peer sent no base64."""
        return a2b_base64(self.data)

    @property
    def bytes(self) -> Bytes:
        """The bytes themselves. Raises `InvalidResponse` if the peer sent no base64."""
        return bytes_of(self.data, "the image block")


class AudioContent(MetaValue, Content, tag_field="type", tag="audio"):
    """Sound, as base64 in ``data``."""

    type: ClassVar[Literal["audio"]] = "audio"
    data: str
    mime_type: str
    annotations: Annotations | None = None

    @property
    def binary(self) -> Bytes:
        """The bytes themselves. Raises ``ValueError`` if the peer sent no base64."""
        return a2b_base64(self.data)

    @property
    def bytes(self) -> Bytes:
        """The bytes themselves. Raises `InvalidResponse` if the peer sent no base64."""
        return bytes_of(self.data, "the audio block")


class ResourceLink(MetaValue, Content, tag_field="type", tag="resource_link"):
    """A resource that can be read, but is not included."""

    type: ClassVar[Literal["resource_link"]] = "resource_link"
    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    annotations: Annotations | None = None
    size: int | None = None
    icons: list[Icon] | None = None


class EmbeddedResource(MetaValue, Content, tag_field="type", tag="resource"):
    """A resource with its contents."""

    nested = ("resource",)

    type: ClassVar[Literal["resource"]] = "resource"
    resource: ResourceContents
    annotations: Annotations | None = None

    @property
    def uri(self) -> str:
        """Which resource it is."""
        return self.resource.uri

    @property
    def mime_type(self) -> str | None:
        """What kind of data it is, if the server says so."""
        return self.resource.mime_type

    @property
    def bytes(self) -> Bytes:
        """The contents; text as UTF-8. Raises `InvalidResponse` if the peer sent no base64."""
        return self.resource.bytes


class ToolUseContent(MetaValue, Content, tag_field="type", tag="tool_use"):
    """A model's wish to call a tool (sampling)."""

    type: ClassVar[Literal["tool_use"]] = "tool_use"
    id: str
    name: str
    input: JsonObject


class ToolResultContent(MetaValue, Content, tag_field="type", tag="tool_result"):
    """What the tool answered to the model (sampling)."""

    nested = ("content",)

    type: ClassVar[Literal["tool_result"]] = "tool_result"
    tool_use_id: str
    content: list[ContentBlock]
    structured: Any | msgspec.UnsetType = msgspec.field(default=msgspec.UNSET, name="structuredContent")
    is_error: bool = False

    @property
    def structured_content(self) -> Json:
        """The answer as JSON; None also if there is none."""
        return None if self.structured is msgspec.UNSET else self.structured


class UnknownContent(Value, Content):
    """A block of a kind that this package does not know; ``raw`` holds all of it."""

    type: str


_BLOCKS: Final[dict[str, type[Any]]] = {
    block.type: block
    for block in (
        TextContent,
        ImageContent,
        AudioContent,
        ResourceLink,
        EmbeddedResource,
        ToolUseContent,
        ToolResultContent,
    )
}

# A tagged union of msgspec refuses unknown tags; at run time the annotation names the class that does not.
if TYPE_CHECKING:
    ContentBlock: TypeAlias = (
        TextContent
        | ImageContent
        | AudioContent
        | ResourceLink
        | EmbeddedResource
        | ToolUseContent
        | ToolResultContent
        | UnknownContent
    )
else:
    ContentBlock = Content


def joined_text(blocks: list[ContentBlock]) -> str:
    """The text blocks, one below the other."""
    return "\n".join(block.text for block in blocks if isinstance(block, TextContent))
