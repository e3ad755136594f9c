"""Image, Audio, File: what a function may return to send data, from bytes or from a file."""

from __future__ import annotations

import os
from binascii import b2a_base64
from pathlib import Path
from typing import ClassVar, TypeAlias

from mcp_actors.protocol import types
from mcp_actors.protocol.codec import JsonObject
from mcp_actors.protocol.uri_template import percent
from mcp_actors.server.registry.media_types import BINARY, TEXT, as_text, media_type_of

Place: TypeAlias = str | os.PathLike[str]


class Media:
    """Data of some kind. The file is read at once, so that its author hears of one that is not there."""

    #: What it is if neither the name of a file nor its author says.
    fallback: ClassVar[str] = BINARY

    def __init__(
        self,
        data: bytes | None = None,
        *,
        path: Place | None = None,
        mime_type: str | None = None,
        format: str | None = None,
        annotations: types.Annotations | None = None,
    ) -> None:
        """Either ``data`` or ``path``. ``format`` is short for a media type: ``png``, ``wav``.

        Raises:
            TypeError: neither of the two was given, or both, or data that is not bytes.
            OSError: the file cannot be read.
        """
        self.data: bytes = _data(type(self).__name__, data, path)
        name = f"x.{format.lstrip('.')}" if format else Path(path).name if path is not None else ""
        self.mime_type: str = mime_type or media_type_of(name) or self.fallback
        self.annotations = annotations

    def block(self) -> JsonObject:
        """The content block that it becomes."""
        raise NotImplementedError

    def contents(self, uri: str) -> JsonObject:
        """What it becomes as the contents of a resource."""
        return {"uri": uri, "mimeType": self.mime_type, "blob": self._base64()}

    def _base64(self) -> str:
        return b2a_base64(self.data, newline=False).decode("ascii")

    def _annotated(self, block: JsonObject) -> JsonObject:
        return block if self.annotations is None else block | {"annotations": self.annotations.to_wire()}


class Image(Media):
    """An image: ``Image(data, format="png")`` or ``Image(path="plot.png")``."""

    fallback = "image/png"

    def block(self) -> JsonObject:
        """An image block."""
        return self._annotated({"type": "image", "data": self._base64(), "mimeType": self.mime_type})


class Audio(Media):
    """Sound: ``Audio(data, format="wav")`` or ``Audio(path="hello.mp3")``."""

    fallback = "audio/wav"

    def block(self) -> JsonObject:
        """An audio block."""
        return self._annotated({"type": "audio", "data": self._base64(), "mimeType": self.mime_type})


class File(Media):
    """A file of any kind, as an embedded resource: as text if it is text, otherwise as bytes."""

    def __init__(
        self,
        data: bytes | None = None,
        *,
        path: Place | None = None,
        name: str | None = None,
        uri: str | None = None,
        mime_type: str | None = None,
        annotations: types.Annotations | None = None,
    ) -> None:
        """Either ``data`` or ``path``. ``uri`` is made of the name; the path stays private.

        Raises:
            TypeError: neither of the two was given, or both, or data that is not bytes.
            OSError: the file cannot be read.
        """
        self.name = name or (Path(path).name if path is not None else "file")
        self.uri = uri or f"file:///{percent.encode(self.name)}"
        super().__init__(
            data, path=path, mime_type=mime_type or media_type_of(self.name), annotations=annotations
        )
        # Without a name that tells, the data itself may.
        self._text = as_text(self.data, mime_type or media_type_of(self.name))
        if self._text is not None and self.mime_type == BINARY:
            self.mime_type = TEXT

    def block(self) -> JsonObject:
        """An embedded resource."""
        return self._annotated({"type": "resource", "resource": self.contents(self.uri)})

    def contents(self, uri: str) -> JsonObject:
        """Text or bytes."""
        if self._text is None:
            return super().contents(uri)
        return {"uri": uri, "mimeType": self.mime_type, "text": self._text}


def _data(kind: str, data: bytes | None, path: Place | None) -> bytes:
    if (data is None) == (path is None):
        raise TypeError(f"{kind} takes either data or path")
    if path is not None:
        return Path(path).read_bytes()
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TypeError(f"the data of {kind} is bytes, not {type(data).__name__}")
    return bytes(data)
