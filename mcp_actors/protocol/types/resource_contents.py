"""What a resource holds: text, or bytes as base64."""

from __future__ import annotations

from binascii import a2b_base64
from typing import TYPE_CHECKING, TypeAlias

from mcp_actors.protocol.codec import Json
from mcp_actors.protocol.types.value import MetaValue


class Contents:
    """Either of the two; the wire tells them apart by their fields alone."""

    __slots__ = ()

    @classmethod
    def from_wire(cls, value: Json) -> ResourceContents:
        """Make the one that fits a JSON object."""
        kind = BlobResourceContents if isinstance(value, dict) and "blob" in value else TextResourceContents
        return kind.from_wire(value)


class TextResourceContents(MetaValue, Contents):
    """A resource, or a part of it, that is text."""

    uri: str
    text: str
    mime_type: str | None = None


class BlobResourceContents(MetaValue, Contents):
    """A resource, or a part of it, that is binary."""

    uri: str
    blob: str
    mime_type: str | None = None

    @property
    def data(self) -> bytes:
        """The bytes themselves. Raises ``ValueError`` if the server sent no base64."""
        return a2b_base64(self.blob)


# msgspec cannot tell untagged structs apart; at run time the annotation names the class that can.
if TYPE_CHECKING:
    ResourceContents: TypeAlias = TextResourceContents | BlobResourceContents
else:
    ResourceContents = Contents
