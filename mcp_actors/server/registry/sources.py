"""Resources that need no function: a text, or a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Unpack

from mcp_actors.server.registry.entries import ResourceEntry
from mcp_actors.server.registry.media_types import TEXT, as_text, media_type_of
from mcp_actors.server.registry.opening import MAX_BYTES, opened, read_regular
from mcp_actors.server.registry.options import ResourceOptions


class TextResource:
    """A text that does not change."""

    def __init__(self, uri: str, text: str, **options: Unpack[ResourceOptions]) -> None:
        """``name`` is the last part of the URI unless given; the media type is text/plain."""
        self._text = text
        options["name"] = options.get("name") or _last_step(uri)
        options["mime_type"] = options.get("mime_type") or TEXT
        options["size"] = len(text.encode("utf-8"))
        self._entry = ResourceEntry.of(uri, self.read, **options)

    def read(self) -> str:
        """The text."""
        return self._text

    def entries(self) -> tuple[ResourceEntry]:
        """What the registry takes."""
        return (self._entry,)


class FileResource:
    """A file, read anew each time. Who chose it is the author of the server: links are followed."""

    def __init__(
        self,
        uri: str,
        path: str | os.PathLike[str],
        *,
        max_bytes: int = MAX_BYTES,
        **options: Unpack[ResourceOptions],
    ) -> None:
        """``name`` and media type are those of the file unless given. It need not be there yet."""
        self._uri = uri
        self._path = Path(os.path.abspath(path))
        self._max_bytes = max_bytes
        self._mime_type = options.get("mime_type") or media_type_of(self._path.name)
        options["name"] = options.get("name") or self._path.name
        options["mime_type"] = self._mime_type
        self._entry = ResourceEntry.of(uri, self.read, **options)

    def read(self) -> str | bytes:
        """What the file holds now.

        Raises:
            ResourceMissing: there is no such file, or it cannot be read.
            ResourceTooLarge: it holds more than ``max_bytes``.
        """
        with opened(self._path, self._uri) as descriptor:
            data = read_regular(descriptor, self._uri, self._max_bytes)
        text = as_text(data, self._mime_type)
        return data if text is None else text

    def entries(self) -> tuple[ResourceEntry]:
        """What the registry takes."""
        return (self._entry,)


def _last_step(uri: str) -> str:
    return uri.rstrip("/").rsplit("/", 1)[-1] or uri
