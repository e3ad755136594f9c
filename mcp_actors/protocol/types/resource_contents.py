"""What a resource holds: text, or bytes as base64."""

from __future__ import annotations

from binascii import a2b_base64
from typing import TYPE_CHECKING, Final, TypeAlias

from mcp_actors import errors
from mcp_actors.protocol.codec import Json
from mcp_actors.protocol.types.value import MetaValue

# A class with a property of that name needs another one for the type.
Bytes: TypeAlias = bytes

_URL_SAFE: Final = str.maketrans("-_", "+/", " \t\r\n")


def bytes_of(base64: str, what: str) -> Bytes:
    """Decode base64, be it wrapped into lines, URL-safe or without its padding.

    Raises:
        InvalidResponse: it is none; ``what`` names it. Nothing is guessed, so no wrong byte gets through.
    """
    text = base64.translate(_URL_SAFE).rstrip("=")
    try:
        return a2b_base64(text + "=" * (-len(text) % 4), strict_mode=True)
    except ValueError as error:
        raise errors.InvalidResponse(f"{what} holds no base64: {error}") from error


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

    @property
    def bytes(self) -> Bytes:
        """The text as UTF-8, so that text and binary parts can be saved alike."""
        # A lone surrogate is legal in JSON and has no UTF-8 form.
        return self.text.encode("utf-8", "replace")


class BlobResourceContents(MetaValue, Contents):
    """A resource, or a part of it, that is binary."""

    uri: str
    blob: str
    mime_type: str | None = None

    @property
    def data(self) -> Bytes:
        """The bytes themselves. Raises ``ValueError`` if the server sent no base64."""
        return a2b_base64(self.blob)

    @property
    def bytes(self) -> Bytes:
        """The bytes themselves. Raises `InvalidResponse` if the server sent no base64."""
        return bytes_of(self.blob, f"resource {self.uri!r}")


# msgspec cannot tell untagged structs apart; at run time the annotation names the class that can.
if TYPE_CHECKING:
    ResourceContents: TypeAlias = TextResourceContents | BlobResourceContents
else:
    ResourceContents = Contents
